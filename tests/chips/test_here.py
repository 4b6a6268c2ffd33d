"""This machine: what its system says, what is measured, and GPUs from a driver's answers."""

import os
import shutil
import struct
import subprocess
import sys

import pytest

from gemmlab.chips import cpu, get, here, local, machine, names, nvidia, probe, self_check

INTEL_FLAGS = "fpu fma avx2 avx512f avx512_vnni avx512_bf16 avx512_fp16 amx_bf16 amx_int8"
ZEN_FLAGS = "fpu fma avx2"


def tree(root, flags=INTEL_FLAGS, cores=4, siblings=2, l3_share=4, quota=""):
    """A /proc and /sys of `cores` cores with `siblings` threads each; `l3_share` cores share an L3."""

    def put(path, text):
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")

    put(
        "proc/cpuinfo",
        f"processor : 0\nvendor_id : GenuineIntel\nmodel name : Some Xeon\ncpu MHz : 2000.5\nflags : {flags}",
    )
    put("proc/meminfo", "MemTotal:       67108864 kB\nMemFree: 1 kB")
    if quota:
        put("sys/fs/cgroup/cpu.max", quota)
    for n in range(cores * siblings):
        core = n % cores
        base = f"sys/devices/system/cpu/cpu{n}"
        put(f"{base}/topology/core_id", str(core))
        put(f"{base}/topology/physical_package_id", "0")
        mates = f"{core},{core + cores}"
        caches = ((0, 1, "Data", "48K", mates), (1, 1, "Instruction", "32K", mates), (2, 2, "Unified", "2048K", mates))
        group = core // l3_share
        for index, level, kind, size, shared in (*caches, (3, 3, "Unified", "105M", f"group{group}")):
            put(f"{base}/cache/index{index}/level", str(level))
            put(f"{base}/cache/index{index}/type", kind)
            put(f"{base}/cache/index{index}/size", size)
            put(f"{base}/cache/index{index}/shared_cpu_list", shared)
    return str(root)


def test_threads_of_one_core_count_once(tmp_path):
    told = machine.describe(tree(tmp_path))
    assert (told.cores, told.threads) == (4, 8)
    assert told.l2_bytes == 4 * 2048 * 1024
    assert told.l3_bytes == 105 * 1024**2
    assert told.memory_bytes == 64 * 1024**3
    assert told.nominal_hz == 2000.5e6
    assert told.model == "Some Xeon"


def test_each_instance_of_a_cache_counts_once(tmp_path):
    assert machine.describe(tree(tmp_path, cores=8, l3_share=2)).l3_bytes == 4 * 105 * 1024**2


@pytest.mark.parametrize(("quota", "cores"), [("200000 100000", 2), ("50000 100000", 1), ("max 100000", 4), ("", 4)])
def test_a_quota_takes_cores_away(tmp_path, quota, cores):
    told = machine.describe(tree(tmp_path, quota=quota))
    assert told.cores == cores
    assert bool(told.limit) == (cores < 4)


def test_an_empty_system_tells_little_and_breaks_nothing(tmp_path):
    told = machine.describe(str(tmp_path))
    assert told.l2_bytes == told.l3_bytes == told.memory_bytes == 0
    assert told.cores >= 0


@pytest.mark.parametrize(
    ("text", "size"), [("512K", 512 << 10), ("105M", 105 << 20), ("1G", 1 << 30), ("", 0), ("x", 0)]
)
def test_cache_sizes_as_the_kernel_writes_them(text, size):
    assert machine.size_of(text) == size


def test_a_chip_of_measured_figures(tmp_path):
    told = machine.describe(tree(tmp_path))
    measured = cpu.Measured(
        clock_hz=3e9,
        clock_agrees=True,
        flop_per_s=0.98 * 64 * 3e9,
        dram_bytes_per_s=1e11,
        dram_low_bytes_per_s=4e10,
        l3_bytes_per_s=3e11,
        l2_bytes_per_s=1e12,
    )
    chip = cpu.chip_of(told, measured)
    assert [finding for finding in self_check(chip) if not finding.ok] == []
    assert chip.clock_hz.sure
    assert chip.peaks["float32"].flop_per_s == 4 * 3e9 * 64
    assert chip.peaks["float64"].flop_per_s == 4 * 3e9 * 32
    assert chip.peaks["bfloat16"].flop_per_clock_per_sm == 1024
    assert chip.peaks["bfloat16"].unit == "tensor"
    assert chip.peaks["int8"].flop_per_clock_per_sm == 2048
    assert chip.peaks["float16"].flop_per_clock_per_sm == 128
    assert [level.name for level in chip.levels] == ["dram", "l2", "shared", "register"]
    assert not chip.level("dram").bandwidth_bytes_per_s.sure
    assert "40.0 GB/s to 100 GB/s" in chip.level("dram").bandwidth_bytes_per_s.note
    assert chip.level("l2").capacity_bytes.note == "the L3"
    assert chip.peaks["float32"].flop_per_s.note == "measured here: 2 vector FMAs of 16 float32 lanes a clock"
    assert chip.peaks["float64"].flop_per_s.note.startswith("half of float32's rate")


def test_what_a_cpu_cannot_do_has_no_peak(tmp_path):
    chip = cpu.chip_of(machine.describe(tree(tmp_path, flags=ZEN_FLAGS)), cpu.Measured())
    assert set(chip.peaks) == {"float64", "float32"}


def test_without_a_measurement_the_nominal_clock_is_unsure(tmp_path):
    chip = cpu.chip_of(machine.describe(tree(tmp_path)), cpu.Measured())
    assert chip.clock_hz == 2000.5e6
    assert not chip.clock_hz.sure
    assert "nominal" in chip.clock_hz.note
    assert not chip.peaks["float32"].flop_per_s.sure


def test_chains_that_disagree_make_the_clock_unsure(tmp_path):
    chip = cpu.chip_of(machine.describe(tree(tmp_path)), cpu.Measured(clock_hz=3e9, clock_agrees=False))
    assert not chip.clock_hz.sure
    assert "disagree" in chip.clock_hz.note


def test_a_probe_that_dies_costs_only_the_measurement(monkeypatch):
    calls = []

    def die(command, **options):
        calls.append(command[-1])
        raise subprocess.CalledProcessError(-4, command)

    monkeypatch.setattr(cpu.subprocess, "run", die)
    assert cpu.probe(512) == {}
    assert calls == ["512", "0"]  # without the vector loop the clock may still be had


@pytest.mark.skipif(not probe.clock_chains(), reason="no machine code for this processor")
@pytest.mark.skipif(sys.platform == "win32", reason="the FMA loop needs registers that Windows keeps for the caller")
def test_two_chains_of_different_latency_give_one_clock():
    rates = cpu.probe(cpu.vector_bits(machine.describe()))
    clocks = [rates["clock_hz_0"], rates["clock_hz_1"]]
    assert 0.4e9 < min(clocks) < max(clocks) < 8e9
    assert min(clocks) > 0.85 * max(clocks)
    lanes = cpu.vector_bits(machine.describe()) / 32
    assert 0.7 < rates["flop_per_s"] / max(clocks) / (2 * lanes) < 4.3


def test_the_processor_at_hand_is_a_chip():
    chips = here()
    chip = chips[-1]
    assert chip.kind == "cpu"
    assert [finding for finding in self_check(chip) if finding.kind in ("peak", "positive") and not finding.ok] == []
    if sys.platform.startswith("linux") and probe.clock_chains():
        assert chip.clock_hz.source == "measured here"
        assert chip.level("dram").bandwidth_bytes_per_s > 1e9
    assert all(other.kind == "gpu" for other in chips[:-1])


def test_copies_are_counted_both_ways():
    """Against one plain copy, timed: the best of a few may be faster, never an order of magnitude off.

    Other work on the machine takes turns of either, so a busy moment must not decide.
    """
    import time

    import numpy as np

    source, target = np.ones(1 << 21), np.zeros(1 << 21)
    best, rate = np.inf, 0.0
    for _ in range(20):  # each the best of all turns so far
        best = min(best, *(timed(time.perf_counter, np.copyto, target, source) for _ in range(10)))
        rate = max(rate, *(cpu.copy_rate(1 << 24, 1) for _ in range(5)))
        if 0.1 < rate / (2 * source.nbytes / best) < 1.75:
            break
    else:
        pytest.fail(f"{rate:.3g} B/s, a plain copy {2 * source.nbytes / best:.3g}")


def timed(clock, function, *arguments):
    start = clock()
    function(*arguments)
    return clock() - start


@pytest.mark.skipif(shutil.which("objdump") is None, reason="objdump is not installed")
@pytest.mark.parametrize("bits", [256, 512])
def test_the_fma_loop_disassembles_to_what_it_says(tmp_path, bits):
    code = tmp_path / "code"
    code.write_bytes(probe.fma_loop(bits)[0])
    command = ["objdump", "-D", "-b", "binary", "-m", "i386:x86-64", str(code)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("this objdump reads no x86-64")
    lines = [line.split("\t")[-1].strip() for line in done.stdout.splitlines() if line.count("\t") == 2]
    kind = {256: "y", 512: "z"}[bits]
    step = [f"vfmadd231ps %{kind}mm14,%{kind}mm15,%{kind}mm{r}" for r in range(12)]
    zeroed = [f"vpxor  %xmm{r},%xmm{r},%xmm{r}" for r in (*range(12), 14, 15)]
    start = 0 if sys.platform == "win32" else 1
    assert lines[start : start + 14] == zeroed
    assert lines[start + 14 : start + 62] == step * 4
    assert [line.split()[0] for line in lines[start + 62 :]] == ["sub", "jne", "vzeroupper", "ret"]
    target = int(lines[start + 63].split()[1], 16)
    assert target == (0 if sys.platform == "win32" else 3) + len(b"".join(map(probe.x86_zero, (*range(12), 14, 15))))


def test_the_aarch64_words_are_the_assembler_s():
    """Bytes as llvm-mc prints them: add x1,x1,x2; subs x0,x0,#1; b.ne; ret; movi v0.2d,#0; fmla v23.4s, v30, v31."""
    loop = probe.arm_loop(struct.pack("<I", 0x8B020021) * 1)
    assert loop.hex() == "2100028b" + "000400f1" + "c1ffff54" + "c0035fd6"
    code = probe.fma_loop(128)[0]
    assert code[:4].hex() == "00e4006f"
    assert bytes.fromhex("d7cf3f4e") in code
    words = struct.unpack(f"<{len(code) // 4}I", code)
    assert sum(word >> 5 == 0x4E3FCFC0 >> 5 for word in words) == 64


# nvidia-smi's line and the driver's answers as one H200 gave them
H200_LINE = "NVIDIA H200, 143771, 1980, 700.00, 9.0\n"
H200_TOLD = {
    "warp_size": 32,
    "clock_khz": 1_980_000,
    "sm_count": 132,
    "memory_clock_khz": 3_201_000,
    "bus_bits": 6016,
    "l2_bytes": 62_914_560,
    "threads_per_sm": 2048,
    "shared_per_sm": 233_472,
    "registers_per_sm": 65_536,
    "shared_per_program": 232_448,
    "programs_per_sm": 32,
}


def answer(monkeypatch, text):
    monkeypatch.setattr(
        nvidia.subprocess, "run", lambda command, **options: subprocess.CompletedProcess(command, 0, stdout=text)
    )


def test_a_known_gpu_is_its_built_in_chip(monkeypatch):
    answer(monkeypatch, H200_LINE + "Tesla V100-SXM2-16GB, 16384, 1530, [N/A], 7.0\n")
    assert nvidia.gpus() == [get("h200-sxm"), get("v100-sxm2-16gb")]


def test_no_driver_no_gpu(monkeypatch):
    def missing(command, **options):
        raise FileNotFoundError(command[0])

    monkeypatch.setattr(nvidia.subprocess, "run", missing)
    assert nvidia.gpus() == []


def test_an_unknown_gpu_says_what_the_driver_says():
    reading = nvidia.parse(H200_LINE.replace("H200", "H999"))[0]
    chip = nvidia.unknown(reading, H200_TOLD)
    known = get("h200-sxm")
    assert [finding for finding in self_check(chip) if not finding.ok] == []
    assert (chip.full_name, chip.sm_count, chip.power_w) == ("NVIDIA H999", 132, 700)
    assert chip.limits.shared_bytes_per_program == known.limits.shared_bytes_per_program
    assert chip.limits.warps_per_sm == known.limits.warps_per_sm
    assert chip.level("dram").bandwidth_bytes_per_s == pytest.approx(4.8e12, rel=0.01)
    assert chip.level("shared").bandwidth_bytes_per_s == known.level("shared").bandwidth_bytes_per_s
    assert chip.peaks["float32"].flop_per_s == pytest.approx(66.9e12, rel=1e-3)
    assert not chip.peaks["float16"].flop_per_s.sure


def test_an_unknown_gpu_without_the_driver_s_library_invents_nothing():
    chip = nvidia.unknown(nvidia.parse("NVIDIA GeForce RTX 4080, 16376, 3105, [N/A], 8.9\n")[0], {})
    assert chip.levels == ()
    assert chip.peaks == {}
    assert chip.limits is None
    assert not chip.sm_count.sure


@pytest.mark.parametrize("text", ["", "garbage\n", "a, b\n", "No devices were found\n"])
def test_answers_that_are_none(text):
    assert nvidia.parse(text) == []


def test_no_two_chips_claim_one_name():
    claimed = [name for chip in map(get, names()) for name in chip.reported_as]
    assert len(claimed) == len(set(claimed))


def test_an_apple_processor_brings_its_gpu(monkeypatch):
    assert local.apple("Apple M1") == [] or sys.platform == "darwin"
    monkeypatch.setattr(local.sys, "platform", "darwin")
    assert local.apple("Apple M1") == [get("m1")]
    assert local.apple("Apple M9 Ultra") == []


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system has no affinities")
def test_threads_are_those_that_the_process_may_run_on():
    own = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(own)})
        assert machine.usable_threads() == 1
    finally:
        os.sched_setaffinity(0, own)
    assert machine.usable_threads() == len(own)
