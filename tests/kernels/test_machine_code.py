"""The readers of compilers' words, on words that were seen: a spill must not be overlooked."""

from kernels.machine_code import Usage, having, instructions, listed, told

PTXAS = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'kernel' for 'sm_90a'
ptxas info    : Function properties for kernel
    88 bytes stack frame, 96 bytes spill stores, 132 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 88 bytes cumulative stack size, 8192 bytes smem
"""
CUOBJDUMP = """
Resource usage:
 Common:
  GLOBAL:0
 Function kernel:
  REG:108 STACK:16 SHARED:1024 LOCAL:8 CONSTANT[0]:592 TEXTURE:0 SURFACE:0 SAMPLER:0
"""
PTX = """
.visible .entry kernel(
	.param .u64 kernel_param_0
)
{
	.reg .pred 	%p<3>;
	.shared .align 4 .b8 tile[1024];
	ld.param.u64 	%rd1, [kernel_param_0];
	@%p1 bra 	$L__BB0_2;
	@!%p2 ld.global.nc.v4.f32 	{%f1, %f2, %f3, %f4}, [%rd1];
	wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {%f5}, %rd2, %rd3, 0, 1, 1;
	cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd4, {%r2, %r3}], [%r4];
	ret;
}
"""


def test_the_assemblers_words():
    assert told(PTXAS) == Usage(registers=255, stack=88, spilled=228, local=0, shared=8192)


def test_the_disassemblers_words():
    assert listed(CUOBJDUMP) == Usage(registers=108, stack=16, spilled=0, local=8, shared=1024)


def test_instructions_of_ptx():
    found = instructions(PTX)
    assert found[0] == "ld.param.u64"
    assert having(found, "ld", "global", "v4") == 1
    assert having(found, "wgmma", "bf16") == 1
    assert having(found, "cp", "bulk", "tensor") == 1
    assert having(found, "st") == having(found, "reg") == having(found, "shared") == 0
    assert found[-1] == "ret"
