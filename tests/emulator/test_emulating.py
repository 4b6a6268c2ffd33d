"""emulate(): arguments, outputs, names, engines; here by the plain interpreter, which compiles nothing."""

import math

import numpy as np
import pytest
from numba import cuda, float32

import gemmlab
from gemmlab.emulator.counted import scaled, times, together
from gemmlab.emulator.tallies import OUT_OF_BOUNDS, Fault, Key, Outcome, Place, Tally
from gemmlab.record import GemmlabError


@cuda.jit
def reverse(x, y):
    s = cuda.shared.array(32, float32)
    mine = cuda.local.array(2, float32)
    i = cuda.threadIdx.x
    s[i] = x[cuda.grid(1)]
    cuda.syncthreads()
    mine[0] = s[31 - i]
    y[cuda.grid(1)] = mine[0] + float32(1)


def launch(**options):
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    return gemmlab.emulate(reverse, 2, 32, x, y, **{"engine": "reference", **options}), x, y


def test_arrays_are_written_in_place():
    _, x, y = launch()
    assert y.tolist() == [*(x[31::-1] + 1), *(x[63:31:-1] + 1)]


def test_counts_stand_where_they_are_told_to():
    r, _, _ = launch()
    assert (r.global_load.elements, r.global_load.sectors, r.global_store.requests) == (64, 8, 2)
    assert (r.shared_load.wavefronts, r.shared_store.elements, r.shared_load.bank_conflicts) == (2, 64, 0)
    assert (r.local_load.elements, r.local_store.bytes) == (64, 256)
    assert (r.flop, r.fma, r.barrier_waits) == (64, 0, 2)
    assert r.arrays["s"].space == "shared"
    assert r.ok


def test_lines_have_their_text_and_a_short_file():
    r, _, _ = launch()
    line = next(line for line in r.lines if line.barrier_waits)
    assert line.text == "cuda.syncthreads()"
    assert line.file == "tests/emulator/test_emulating.py" or line.file.endswith("test_emulating.py")
    assert r.line(line.line, line.file) == line


def test_the_record_tells_the_launch():
    r, _, _ = launch()
    told = r.to_record().emulation
    assert (told.kernel, told.grid, told.block, told.shared_bytes) == ("reverse", (2, 1, 1), (32, 1, 1), 128)
    assert [(each.name, each.shape) for each in told.arguments] == [("x", (64,)), ("y", (64,))]
    assert (told.blocks.total, told.blocks.run) == (2, 2)


def test_outputs_are_arrays_or_names():
    x, y = np.zeros(64, np.float32), np.zeros(70, np.float32)
    for given in ("y", y):
        r = gemmlab.emulate(reverse, 2, 32, x, y, outputs=[given], engine="reference")
        (fault,) = r.faults
        assert (fault.kind, fault.index, fault.count) == ("unwritten_output", (64,), 6)
        assert not r.ok


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"outputs": ["z"]}, "output `z` is no array of reverse"),
        ({"outputs": [np.zeros(3)]}, "an array that is no argument"),
        ({"engine": "fast"}, "unknown engine `fast`"),
        ({"values": False}, "computes values"),
        ({"fill": "one"}, "cannot be filled"),
        ({"schedule": "wrst"}, "unknown schedule `wrst`"),
        ({"chip": "h100"}, "unknown chip `h100`"),
    ],
)
def test_is_refused(options, named):
    with pytest.raises(GemmlabError, match=named):
        launch(**options)


def test_what_is_no_kernel_or_has_other_arguments_is_refused():
    with pytest.raises(GemmlabError, match="no kernel"):
        gemmlab.emulate(math.sqrt, 1, 1, 2.0)
    with pytest.raises(GemmlabError, match="takes 2 arguments"):
        gemmlab.emulate(reverse, 1, 32, np.zeros(32))


def test_one_block_stands_for_its_class():
    key = Key(Place("k.py", 3), "load", "a")
    fault = Fault(OUT_OF_BOUNDS, "a", (9,), Place("k.py", 3), count=2)
    once = Outcome({key: Tally(1, 2, 3, 4, 5, 6)}, (fault,), 1)
    assert scaled(Tally(1, 2, 3, 4, 5, 6), 3) == Tally(3, 6, 9, 12, 15, 18)
    both = together([times(once, 3), times(once, 2)])
    assert both.tallies == {key: Tally(5, 10, 15, 20, 25, 30)}
    assert (both.faults[0].count, both.blocks) == (10, 5)
