"""Translated functions say what Python says: each construct on random numbers, and all of them in whole launches."""

import ctypes
import random
import sys

import llvmlite.binding as llvm
import numpy as np
import pytest
from numba import cuda, float32, int32, types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target

from emulator.lockstep.compared import same_values
from gemmlab.emulator.launch import launch_of
from gemmlab.emulator.lockstep import running, runtime
from gemmlab.emulator.lockstep.runtime.pointers import octets, pairs, quads, words
from gemmlab.emulator.lockstep.runtime.symbols import FUNCTIONS, PLAIN, function_of, ready, signature
from gemmlab.emulator.lockstep.runtime.translating import Translation, TranslationError
from gemmlab.emulator.lower import program_of

FIVE = 5


def arithmetic(x, y, z):
    bits = (x & y) | (z ^ -x)
    bits -= ~y
    return (x * 3 + y - z) * (bits << (z & 7)) + (y >> (x & 31)) + FIVE


def division(x, y, z):
    return x // (1 + (y & 15)) * 100 + z % (1 + (x & 7))


def comparisons(x, y, z):
    chain = 0 <= x < y <= z
    return (x == y) + 2 * (x != z) + 4 * (x > y) + 8 * (y >= z) + 16 * chain + 32 * (not x)


def choices(x, y, z):
    one = x if y < z else z - y
    either = (x and y) or z
    return one + 3 * either + 5 * min(x, y) + 7 * max(y, z)


def loops(x, y, z):
    total = 0
    step = 1 + (z & 3)
    for i in range(x & 31, y & 63, step):
        if i & 7 == 3:
            continue
        if total > 900:
            break
        total += i
    for i in range(z & 7):
        total += 2 * i
    left = y & 15
    while left > 0 and total != 77:
        left -= 1
        total, left = total + left, left - (total & 1)
    if total > 50:
        return total + i_of(total)
    elif total < 10:
        total += 1
    return total


def i_of(x):
    if x & 1:
        return 0
    else:
        return x


def late_only_if_needed(x, y, z):
    room = words(x)
    return (y == 0 or room[0] == y) and (z != 0 and room[1] == z)


def untouched(x):
    room = words(x)
    if room[0] > 0:
        return
    room[0] = 7


def memory(x, y, z):
    untouched(x)
    wide = words(x)
    halves = quads(x + 8)
    wide[3] = halves[1] + octets(x)[z & 7] - pairs(x)[y & 3]
    halves[0] = y
    octets(x + 40)[z & 7] = z
    pairs(x if y > z else x + 16)[2] += y
    wide[2], wide[1] = wide[1], wide[2]
    put(wide, y & 3, z)
    return wide[y & 3]


def put(room, i, value):
    room[i] ^= value
    return 0


def refused(x):
    return x**2


def mixed(x):
    y = x
    y = words(x)
    return y[0]


def compiled(function):
    """A function as machine code, and what keeps it there."""
    with global_compiler_lock:
        library = cpu_target.target_context.codegen().create_library(function.__name__)
        module = library.create_ir_module(function.__name__)
        Translation(module).exported(function, f"tested_{function.__name__}")
        library.add_ir_module(module)
        library.finalize()
    count = function.__code__.co_argcount
    address = library.get_pointer_to_function(f"tested_{function.__name__}")
    return ctypes.CFUNCTYPE(ctypes.c_int64, *(ctypes.c_int64,) * count)(address), library


def drawn(rng):
    return rng.choice([0, 1, -1, rng.randint(-9, 9), rng.randint(-(10**6), 10**6)])


@pytest.mark.parametrize("function", [arithmetic, division, comparisons, choices, loops], ids=lambda f: f.__name__)
def test_numbers(function):
    rng = random.Random(function.__name__)
    translated, _kept = compiled(function)
    for _ in range(2000):
        x, y, z = (drawn(rng) for _ in range(3))
        if function is division:
            x, z = abs(x), abs(z)
        assert translated(x, y, z) == function(x, y, z), (x, y, z)


def test_numbers_wrap():
    rng = random.Random(0)
    translated, _kept = compiled(arithmetic)
    for _ in range(1000):
        x, y, z = (rng.randint(-(1 << 63), (1 << 63) - 1) for _ in range(3))
        assert translated(x, y, z) == (arithmetic(x, y, z) + (1 << 63)) % (1 << 64) - (1 << 63), (x, y, z)


@pytest.mark.parametrize("function", [memory, late_only_if_needed], ids=lambda f: f.__name__)
def test_memory(function):
    rng = random.Random(function.__name__)
    translated, _kept = compiled(function)
    for _ in range(1000):
        room = np.array([drawn(rng) for _ in range(8)])
        other = room.copy()
        y, z = drawn(rng), drawn(rng)
        assert translated(room.ctypes.data, y, z) == function(other.ctypes.data, y, z)
        assert np.array_equal(room, other), (y, z)


def test_what_is_not_come_to_is_not_read():
    translated, _kept = compiled(late_only_if_needed)
    assert translated(0, 0, 0) == 0


@pytest.mark.parametrize(("function", "what"), [(refused, r"x \*\* 2"), (mixed, "`y` holds a number and an address")])
def test_what_has_no_translation_is_refused(function, what):
    with pytest.raises(TranslationError, match=what):
        compiled(function)


@cuda.jit
def everything(which, far, x, y, counts):
    s = cuda.shared.array(64, float32)
    bins = cuda.shared.array(8, int32)
    mine = cuda.local.array(3, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    if i >= x.shape[0] * 2:
        return
    s[t] = x[i * far % x.shape[0], t % x.shape[1]]
    if which == 0 or (which == 1 and t < 40):
        cuda.syncthreads()
    for k in range(t % 4):
        mine[k] = s[(t + k) % 48]
        if which == 2 and k == 2:
            break
    if t < 8:
        bins[t] = which
    cuda.syncwarp(0xFFFF if t % 32 < 16 else 0xFFFF0000)
    if which == 3:
        cuda.atomic.add(bins, t % 5, 1)
        y[i // 2, 0] = s[0]
    everybody = cuda.syncthreads_count(t % 3)
    if which < 5:
        told = cuda.shfl_xor_sync(0xFFFFFFFF, t, 3) + cuda.shfl_down_sync(0xFFFFFFFF, t, far)
        if cuda.all_sync(0xFFFFFFFF, t < 40) or cuda.eq_sync(0xFFFFFFFF, t // 33):
            told += cuda.ballot_sync(0xFFFF if which == 4 else 0xFFFFFFFF, t % 2)
        cuda.atomic.max(counts, told % 7, t)
    y[i * far, t % 2] = mine[which % 3] + bins[t % 8] + everybody


TEXT = "from gemmlab.emulator.lockstep.runtime.symbols import EXTERNAL"
CALLED, ERRORS = set(), []


def as_python(name):
    """A helper as compiled code calls it under another name: plain Python."""
    function = function_of(name)
    kind = ctypes.CFUNCTYPE(ctypes.c_int64, *(ctypes.c_int64,) * FUNCTIONS[name].arity)

    @kind
    def call(*numbers):
        CALLED.add(name)
        try:
            return function(*numbers) or 0
        except BaseException as error:  # compiled code hears none
            ERRORS.append(error)
            return 0

    llvm.add_symbol(f"python_{name}", ctypes.cast(call, ctypes.c_void_p).value)
    return call


IN_PYTHON = {name: types.ExternalFunction(f"python_{name}", signature(name)) for name in FUNCTIONS}


def found_in(which, far, block, rows):
    """What one worker finds in a launch, and its arrays."""
    x = np.arange(2 * rows, dtype=np.float32).reshape(rows, 2)
    args = (which, far, x, np.zeros((rows, 2), np.float32), np.zeros(7, np.int64))
    program = program_of(everything, *args)
    launch = launch_of(program, 2, block, args)
    outcome = running.run(program, launch, threads=1)
    return outcome.tallies, outcome.faults, launch.args


def test_whole_launches(monkeypatch):
    ready()
    kept = [as_python(name) for name in FUNCTIONS.keys() - PLAIN]
    for home in [module for name, module in sys.modules.items() if name.startswith(runtime.__name__)]:
        for name in FUNCTIONS:  # those that call others by their symbols
            if isinstance(getattr(home, name, None), types.ExternalFunction):
                monkeypatch.setattr(home, name, function_of(name).kept if name in PLAIN else function_of(name))
    make = running.compiled
    here = f"from {__name__} import IN_PYTHON as EXTERNAL"
    for which in range(6):
        for far, block, rows in ((1, 64, 128), (1, 40, 80), (3, 33, 50)):
            expected, faults, arrays = found_in(which, far, block, rows)
            with monkeypatch.context() as patched:
                patched.setattr(running, "compiled", lambda text, name: make(text.replace(TEXT, here), name))
                found, others, same = found_in(which, far, block, rows)
            assert not ERRORS
            assert (found, others) == (expected, faults), (which, far, block)
            assert same_values(same, arrays), (which, far, block)
    assert set(FUNCTIONS) - PLAIN - {"note", "fault"} == CALLED  # which only others of them call
    del kept
