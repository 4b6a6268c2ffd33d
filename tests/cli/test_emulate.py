"""`gemmlab emulate`: launches as they are typed, what is told of them, the exit status, and what is refused."""

import json
from pathlib import Path

import numpy as np
import pytest

KERNELS = """
import numpy as np
from numba import cuda, float32, int32

WIDTH = 8

@cuda.jit("void(float32[:,:], float32[:,:], float32[:,:])")
def product(a, b, c):
    x, y = cuda.grid(2)
    if y < c.shape[0] and x < c.shape[1]:
        s = float32(0)
        for i in range(a.shape[1]):
            s += a[y, i] * b[i, x]
        c[y, x] = s

@cuda.jit
def flat(M, N, K, alpha, A, B, beta, C):
    x, y = cuda.grid(2)
    if y < M and x < N:
        s = float32(0)
        for i in range(K):
            s += A[y * K + i] * B[i * N + x]
        C[y * N + x] = alpha * s + beta * C[y * N + x]

@cuda.jit
def off_by_one(a, b, c):
    x, y = cuda.grid(2)
    if y < c.shape[0] and x < c.shape[1]:
        s = float32(0)
        for i in range(a.shape[1] - 1):
            s += a[y, i] * b[i, x]
        c[y, x] = s

@cuda.jit
def in_halves(a, b, c):
    x, y = cuda.grid(2)
    s = a[0, 0] - a[0, 0]
    for i in range(a.shape[1]):
        s += a[y, i] * b[i, x]
    c[y, x] = s

@cuda.jit
def nudged(a, b, c):
    x, y = cuda.grid(2)
    s = float32(0)
    for i in range(a.shape[1]):
        s += a[y, i] * b[i, x]
    c[y, x] = s * float32(1.0000001)

@cuda.jit
def biased(a, b, bias, c):
    x, y = cuda.grid(2)
    s = float32(0)
    for i in range(a.shape[1]):
        s += a[y, i] * b[i, x]
    c[y, x] = s + bias[x]

@cuda.jit
def scale(x, factor, n):
    i = cuda.grid(1)
    if i < n:
        x[i] = x[i] * factor

@cuda.jit
def racing(x):
    s = cuda.shared.array(32, float32)
    s[cuda.threadIdx.x] = x[cuda.threadIdx.x]
    x[cuda.threadIdx.x] = s[31 - cuda.threadIdx.x]

@cuda.jit
def agreeing(x):
    x[0] = 1.0

@cuda.jit
def endless(x):
    while x[0] < 1:
        x[1] += 1

@cuda.jit
def greedy(x):
    s = cuda.shared.array(40000, float32)
    s[cuda.threadIdx.x] = x[0]

@cuda.jit
def dynamic(x):
    s = cuda.shared.array(0, float32)
    s[cuda.threadIdx.x] = x[cuda.threadIdx.x]
    x[cuda.threadIdx.x] = s[cuda.threadIdx.x]

@cuda.jit
def outside_the_dialect(x):
    print(x[0])

@cuda.jit(device=True)
def helper(x):
    return x
"""
FILES = {
    "kernels.py": KERNELS,
    "broken.py": "import numba\nx = undefined\n",
    "syntax.py": "def f(:\n",
    "leaving.py": "import sys\nsys.exit(3)\n",
    "running.py": KERNELS + "\nscale[1000, 32](np.zeros(32), 1.0, 32)\n",
    "nothing.py": "x = 1\n",
    "noise.py": "print('imported')\n" + KERNELS,
    "text.npy": "no array",
}


@pytest.fixture
def emulate(run):
    """Run `gemmlab emulate WORDS` beside the kernels, by the interpreter, which compiles nothing."""
    for name, text in FILES.items():
        Path(name).write_text(text)

    def command(words, *more):
        return run("emulate", *words.split(), "--engine", "reference", *more)

    return command


def emulation(result):
    assert result.status in (0, 1), result.err
    return result.records[0].emulation


def test_a_multiplication_is_counted_and_checked(emulate):
    result = emulate("kernels.py:product --shape 10 9 7 --block 4x4 --json")
    told = emulation(result)
    assert result.status == 0
    assert (told.grid, told.block) == ((3, 3, 1), (4, 4, 1))
    assert told.global_load.elements == 2 * 10 * 9 * 7
    assert told.fma == 10 * 9 * 7
    assert told.arrays["c"].store.elements == 90
    record = result.records[0]
    assert (record.problem.m, record.problem.n, record.problem.k) == (10, 9, 7)
    assert record.verdict.ok
    assert record.verdict.informative
    assert record.verdict.elements == 90


def test_the_report_fits_the_terminal(emulate):
    result = emulate("kernels.py:product --shape 10 9 7 --block 4x4")
    assert result.status == 0
    assert result.out.startswith("product of kernels.py, 10 x 9 x 7\n")
    assert "No fault found; result right: 90 elements" in result.out
    assert max(map(len, result.out.splitlines())) <= 80


def test_a_wrong_result_is_status_1(emulate):
    result = emulate("kernels.py:off_by_one --shape 8 8 8 --block 8x8 --json")
    assert result.status == 1
    assert result.records[0].verdict.wrong_elements == 64


def test_flat_arrays_sizes_and_factors_go_by_name(emulate):
    result = emulate("kernels.py:flat --shape 6 5 7 --block 8x8 --alpha 0.5 --beta 2 --json")
    assert result.status == 0
    told = emulation(result)
    assert [(each.name, each.type, each.shape) for each in told.arguments] == [
        ("M", "int64", None), ("N", "int64", None), ("K", "int64", None), ("alpha", "float32", None),
        ("A", "float32", (42,)), ("B", "float32", (35,)), ("beta", "float32", None), ("C", "float32", (30,)),
    ]  # fmt: skip
    assert result.records[0].problem.beta == 2


def test_layouts_and_gaps_reach_the_arrays(emulate):
    told = emulation(emulate("kernels.py:product --shape 6 5 7 --block 8x8 --layout nt --json"))
    assert [each.shape for each in told.arguments] == [(6, 7), (5, 7), (6, 5)]
    wide = emulation(emulate("kernels.py:product --shape 6 8 7 --block 8x8 --ldb 20 --json"))
    assert wide.arrays["b"].load.elements == 6 * 8 * 7


def test_integers_and_halves(emulate):
    for form in ("int8", "float16", "float64"):
        result = emulate(f"kernels.py:product --shape 4 4 6 --block 4x4 --format {form} --json")
        assert result.status == 0, result.err
        assert result.records[0].problem.a_format == form


def test_further_arguments_go_by_name(emulate):
    result = emulate("kernels.py:biased --shape 8 8 8 --block 8x8 --arg bias=float32[n]:zeros --json")
    assert result.status == 0, result.err


def test_any_kernel_takes_its_arguments_in_order_or_by_name(emulate):
    words = "kernels.py:scale --grid 2 --block 32 --json"
    first = emulate(words, "--arg", "float32[40]:iota", "--arg", "float32:0.5", "--arg", "40")
    second = emulate(words, "--arg", "n=40", "--arg", "x=float32[40]:iota", "--arg", "float32:0.5")
    assert first.status == second.status == 0
    assert emulation(first) == emulation(second)
    assert emulation(first).global_load.elements == 40
    assert first.records[0].problem is None


def test_an_array_comes_out_of_a_file(emulate):
    np.save("x.npy", np.ones((5,), np.float64))
    told = emulation(emulate("kernels.py:scale --grid 1 --block 32 --arg x.npy --arg 2.0 --arg 5 --json"))
    assert told.arguments[0].type == "float64"
    assert np.load("x.npy").tolist() == [1.0] * 5


def test_a_race_is_status_1_and_told_in_words(emulate):
    result = emulate("kernels.py:racing --grid 1 --block 32 --arg float32[32]")
    assert result.status == 1
    assert "race in shared memory on s[" in result.out
    assert "no barrier between" in " ".join(result.out.split())
    assert "Refuted" in result.out


def test_writes_of_equal_values_are_no_failure(emulate):
    result = emulate("kernels.py:agreeing --grid 1 --block 32 --arg float32[1] --json")
    assert result.status == 0
    assert [fault.kind for fault in emulation(result).faults] == ["same_value_write"]


def test_elements_of_outputs_must_be_written(emulate):
    result = emulate("kernels.py:scale --grid 1 --block 32 --arg float32[40] --arg 1.0 --arg 40 --outputs x --json")
    assert result.status == 1
    (fault,) = emulation(result).faults
    assert (fault.kind, fault.array, fault.index, fault.count) == ("unwritten_output", "x", (32,), 8)


@pytest.mark.parametrize("outputs", [",", "x,", "x,,n"])
def test_outputs_without_a_name(emulate, outputs):
    result = emulate(f"kernels.py:scale --grid 1 --block 32 --arg float32[40] --arg 1.0 --arg 40 --outputs {outputs}")
    assert result.status == 2
    assert f"--outputs `{outputs}` lacks a name" in result.err


def test_dynamic_shared_memory(emulate):
    result = emulate("kernels.py:dynamic --grid 1 --block 32 --arg float32[32] --dynamic-shared 128 --json")
    assert result.status == 0, result.err
    assert emulation(result).shared_bytes == 128


def test_a_rung_of_the_ladder_knows_its_launch(run):
    result = run("emulate", "uncoalesced", "--shape", 20, 17, 3, "--engine", "reference", "--json")
    assert result.status == 0, result.err
    told = emulation(result)
    assert told.kernel == "uncoalesced"
    assert told.file == "gemmlab/kernels/ladder/uncoalesced.py"
    assert (told.grid, told.block) == ((2, 2, 1), (16, 16, 1))
    assert told.global_load.elements == 2 * 20 * 17 * 3


def test_what_a_file_prints_when_imported_stays_off_standard_output(emulate):
    result = emulate("noise.py:product --shape 4 4 4 --block 4x4 --json")
    assert len(result.out.splitlines()) == 1
    assert json.loads(result.out)["emulation"]["kernel"] == "product"
    assert "imported" in result.err


def test_the_same_seed_is_the_same_run(emulate):
    words = "kernels.py:off_by_one --shape 4 4 4 --block 4x4 --json"
    assert emulate(words).out == emulate(words).out
    assert emulate(words).out != emulate(words, "--seed", "1").out


#: the words behind `emulate`, what the error names, what the hint does
CASES = [
    ("", "no kernel is named", "FILE.py:KERNEL"),
    ("kernels.py:product kernels.py:scale", "2 kernels", ""),
    ("kernels.py --shape 4 4 4 --block 4x4", "names no kernel", "product, flat, off_by_one"),
    ("kernels.py:prodct --shape 4 4 4 --block 4x4", "`prodct`", "product"),
    ("kernels.py:WIDTH --shape 4 4 4 --block 4x4", "`WIDTH` of kernels.py is no kernel, but of type int", "product"),
    ("nothing.py:f --shape 4 4 4 --block 4x4", "nothing.py has no `f`", "@cuda.jit"),
    ("nope.py:f --shape 4 4 4 --block 4x4", "no file `nope.py`", "FILE.py:KERNEL"),
    ("tild --shape 4 4 4", "unknown kernel `tild`", "tiled"),
    ("broken.py:f --shape 4 4 4 --block 4x4", "broken.py fails to import: line 2: NameError", "python broken.py"),
    ("syntax.py:f --shape 4 4 4 --block 4x4", "syntax.py fails to import: line 1: SyntaxError", ""),
    ("leaving.py:f --shape 4 4 4 --block 4x4", "leaving.py fails to import: line 2: SystemExit", "__main__"),
    ("running.py:scale --shape 4 4 4 --block 4x4", "running.py fails to import: line", "__main__"),
    ("kernels.py:product --shape 4 4 --block 4x4", "--shape has no value, but `--block`", "M N K"),
    ("kernels.py:product --shape 4 0 4 --block 4x4", "--shape: 0 is not a size", "at least 1"),
    ("kernels.py:product --shape 4 -4 4 --block 4x4", "--shape: -4 is not a size", "at least 1"),
    ("kernels.py:product --shape 4 four 4 --block 4x4", "--shape: `four`", ""),
    ("kernels.py:product --shape 400000 400000 400000 --block 4x4", "of memory are free", "--no-values"),
    ("kernels.py:product --shape 4 4 4 --block 4y4", "--block: `4y4`", "16x16"),
    ("kernels.py:product --shape 4 4 4 --block 0x4", "--block: 0 is not a size", ""),
    ("kernels.py:product --shape 4 4 4 --block 4x4x4x4", "--block: `4x4x4x4`", "X x Y x Z"),
    ("kernels.py:product --shape 4 4 4 --block 64x64", "4096 threads", "smaller block"),
    ("kernels.py:product --shape 4 4 4 --block 4x4 --grid 1x70000", "grid.y is 70000", "65535"),
    ("kernels.py:product --shape 4 4 4 --block 4x4 --format bfloat16", "no bfloat16", "float16"),
    ("kernels.py:product --shape 4 4 4 --block 4x4 --format flaot32", "`flaot32`", "float32"),
    ("kernels.py:product --shape 4 4 4 --block 4x4 --alpha 2", "no parameter `alpha`", ""),
    ("kernels.py:product --shape 4 4 4 --block 4x4 --beta 2", "no parameter `beta`", "--beta 0"),
    ("kernels.py:product --shape 4 4 4 --block 4x4 --chip h100", "`h100`", "h100-sxm"),
    ("kernels.py:product --shape 4 4 4 --block 4x4 --chip tpu-v4", "tpu-v4", ""),
    ("kernels.py:product --shape 4 4 4 --block 4x4 --schedule wrst", "schedule `wrst`", "worst"),
    ("kernels.py:product --shape 4 4 4 --block 4x4 --schedule random:sed=1", "`sed`", "seed"),
    ("kernels.py:product --shape 4 4 4 --block 4x4 --schedule witness:no.json", "no.json", ""),
    ("kernels.py:product --shape 4 4 4 --block 4x4 --fill one", "`one`", "zero"),
    ("kernels.py:product --shape 4 4 4 --block 4x4 --arg 3", "`3` has no name", "NAME=3"),
    ("kernels.py:product --shape 4 4 4 --block 4x4 --arg d=3", "no parameter `d`", "a, b, c"),
    ("kernels.py:product --shape 4 4 4 --block 4x4 --outputs d", "output `d`", "a, b, c"),
    ("kernels.py:product --shape 4 4 4 --block 4x4 --step-limit 0", "--step-limit: 0", ""),
    ("kernels.py:product --shape 4 4 4 --block 4x4 --witness w.json", "--witness", "--schedule worst"),
    ("kernels.py:product --shape 4 4 4 --block 4x4 --no-values --schedule serial", "--schedule needs values", ""),
    ("kernels.py:product --shape 4 4 4 --block 4x4 --no-proof --all-shapes", "--all-shapes asks for a proof", "one"),
    ("kernels.py:product --shape 4 4 4 --block 4x4 --seed -1", "--seed: -1", "from 0 to 4294967294"),
    ("kernels.py:product --shape 4 4 4 --block 4x4 --seed 4294967295", "--seed: 4294967295", "from 0 to 4294967294"),
    ("kernels.py:scale --grid 1 --block 32 --arg float32[4] --arg float16:1e9 --arg 4", "largest float16", "wider"),
    ("kernels.py:product --shape 4 4 4 --block 4x4 --trace nowhere/t.json", "nowhere", "create"),
    ("kernels.py:product --layout nt --grid 1 --block 4", "--layout is about a multiplication", "--shape"),
    ("kernels.py:scale --shape 4 4 4 --block 4x4", "1 arrays of its own", "--arg"),
    ("kernels.py:biased --shape 4 4 4 --block 4x4", "4 arrays of its own", "--arg"),
    ("kernels.py:scale --block 32 --arg float32[4] --arg 1.0 --arg 4", "a grid and a block", "--grid"),
    ("kernels.py:scale --grid 1 --block 32 --arg float32[4]", "takes 3 arguments (x, factor, n), 1 are", "--arg"),
    ("kernels.py:scale --grid 1 --block 32 --arg x=1 --arg x=2 --arg n=3", "x is given twice", "once"),
    ("kernels.py:scale --grid 1 --block 32 --arg y=1 --arg 2 --arg 3", "no parameter `y`", "x, factor, n"),
    ("kernels.py:scale --grid 1 --block 32 --arg float31[4] --arg 1.0 --arg 4", "`float31`", "float32"),
    ("kernels.py:scale --grid 1 --block 32 --arg float32[4,x] --arg 1.0 --arg 4", "`x` is no side", "float32[64,64]"),
    ("kernels.py:scale --grid 1 --block 32 --arg float32[4]:one --arg 1.0 --arg 4", "`one`", "ones"),
    ("kernels.py:scale --grid 1 --block 32 --arg float32[0] --arg 1.0 --arg 4", "a side of 0", "at least 1"),
    ("kernels.py:scale --grid 1 --block 32 --arg text.npy --arg 1.0 --arg 4", "text.npy", "numpy.save"),
    ("kernels.py:scale --grid 1 --block 32 --arg no.npy --arg 1.0 --arg 4", "no.npy", "numpy.save"),
    ("kernels.py:scale --grid 1 --block 32 --arg float32[9,9] --arg 1.0 --arg 4", "kernels.py:", ""),
    ("kernels.py:scale --grid 1 --block 32 --arg uint8:300 --arg 1.0 --arg 4", "300 is no uint8", "0 to 255"),
    ("kernels.py:scale --grid 1 --block 32 --arg int32[8]:nan --arg 1.0 --arg 4", "int32 has no NaN", "float"),
    ("kernels.py:scale --grid 1 --block 32 --arg float32[999999,999999] --arg 1. --arg 4", "are free", "--no-values"),
    ("kernels.py:endless --grid 1 --block 1 --arg float32[2]:zeros --step-limit 1000", "1000", "step"),
    ("kernels.py:greedy --grid 1 --block 32 --arg float32[32]", "160000 bytes", "dynamic"),
    ("kernels.py:dynamic --grid 1 --block 32 --arg float32[32] --dynamic-shared 999999", "999999", "smaller"),
    ("kernels.py:dynamic --grid 1 --block 32 --arg float32[32] --dynamic-shared -1", "-1 bytes", ""),
    ("kernels.py:dynamic --grid 1 --block 32 --arg float32[32] --dynamic-shared 90000 --chip t4", "t4 has", "smaller"),
    ("kernels.py:outside_the_dialect --grid 1 --block 32 --arg float32[32]", "kernels.py:", ""),
]  # fmt: skip


@pytest.mark.parametrize(("words", "named", "hinted"), CASES, ids=[case[0] or "nothing" for case in CASES])
def test_is_refused(emulate, words, named, hinted):
    before = sorted(path.name for path in Path().iterdir())
    result = emulate(words)
    assert result.status == 2, result.out
    assert result.out == ""
    error, _, hint = result.err.rstrip("\n").rpartition("error: ")[2].partition("\n\n")
    assert "\n" not in error
    assert named in error
    assert "Traceback" not in result.err
    assert not hinted or (hint.startswith("hint: ") and hinted in hint)
    assert sorted(path.name for path in Path().iterdir() if path.name != "__pycache__") == before


def test_a_small_multiplication_is_run_on_integers_too(emulate):
    right = emulate("kernels.py:product --shape 8 8 8 --block 8x8 --json").records[0]
    assert right.verdict.reference.endswith("a second run, on integers, equal bit for bit")
    wrong = emulate("kernels.py:off_by_one --shape 8 8 8 --block 8x8 --json").records[0]
    assert "integers" not in wrong.verdict.reference
    nudged = emulate("kernels.py:nudged --shape 8 8 8 --block 8x8 --json")
    assert nudged.status == 1
    assert nudged.records[0].verdict.bound == 0
    assert nudged.records[0].verdict.wrong_elements > 0


def test_a_trace_is_written(emulate):
    result = emulate("kernels.py:product --shape 4 4 2 --block 4x4 --trace t.json --json")
    assert result.status == 0
    assert result.err == "wrote t.json\n"
    told = json.loads(Path("t.json").read_text())
    assert [(step["kind"], step["array"]) for step in told["steps"]] == [("load", "a"), ("load", "b")] * 2 + [
        ("store", "c")
    ]
    assert told["texts"][str(told["steps"][0]["line"])] == "s += a[y, i] * b[i, x]"


@pytest.mark.parametrize("kernel", ["in_halves", "product"])
def test_the_bound_is_that_of_the_type_which_the_kernel_computes_in(emulate, kernel):
    result = emulate(f"kernels.py:{kernel} --shape 8 8 64 --block 8x8 --format float16 --json")
    assert result.status == 0
    assert result.records[0].problem.accumulate == "float16"  # product multiplies halves, though it adds in float32
