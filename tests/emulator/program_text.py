"""Text of random kernels of the dialect: fragments of one kernel, each a small program of its own.

Threads store only to elements of their own, read shared memory only behind barriers, and use atomics whose results do
not depend on order, so that every schedule gives the same values; a racy fragment breaks that on purpose.
"""

import re

from emulator.program_expressions import WHOLE, Expressions

SLOTS = 128  # of shared arrays: more than threads of a block

HEADER = '''\
"""Generated: random program {seed}."""
import math

import numpy as np
from numba import cuda
from numba.core.types import {types}

SLOTS = {slots}
STEP = {step}
BIG = 6364136223846793005


@cuda.jit(device=True)
def clipped(x):
    if x > 50:
        return 50
    if x < -50:
        return -50
    return x


@cuda.jit(device=True)
def blend(x, y, share=0.5):
    return x * share + y


@cuda.jit(device=True)
def picked(a, i):
    total = a[0]
    for j in range(i % 3):
        if a[j] == 3:
            continue
        total += a[j + 1]
    return total


@cuda.jit(device=True)
def both(x, y):
    return x + y, x - y


@cuda.jit
def kernel({parameters}):
    nt = cuda.blockDim.x * cuda.blockDim.y * cuda.blockDim.z
    tid = cuda.threadIdx.x + cuda.blockDim.x * (cuda.threadIdx.y + cuda.blockDim.y * cuda.threadIdx.z)
    t = tid + nt * (cuda.blockIdx.x + cuda.gridDim.x * (cuda.blockIdx.y + cuda.gridDim.y * cuda.blockIdx.z))
'''


class Fragment(Expressions):
    """Writes one fragment: statements over growing lists of whole and float variables."""

    # statements that any thread may run alone

    def block(self, count, depth):
        """Some statements in a body of their own, whose new variables end with it."""
        kept = list(self.whole), list(self.signed), list(self.floats)
        self.indent += 1
        before = len(self.lines)
        for _ in range(count):
            self.statement(depth)
        while len(self.lines) == before:
            self.statement(depth)
        self.indent -= 1
        self.whole, self.signed, self.floats = kept

    def statement(self, depth):
        choices = [self.assign] * 4 + [self.augment] * 3 + [self.atomic, self.unpack, self.private_store]
        if depth:
            choices += [self.if_, self.if_, self.for_, self.for_, self.while_, self.local_array, self.view]
        self.rng.choice(choices)(depth)

    def assign(self, _):
        if self.chance(0.5):
            # variables that change stay signed: numba lets int64 and uint64 meet in float64
            if self.chance(0.3):
                target = self.fresh("i")
                self.line(f"{target} = {self.int_()}")
            else:
                target = self.rng.choice(self.signed) if self.signed and self.chance(0.4) else self.fresh("i")
                self.line(f"{target} = {self.pick('int64', 'int64', 'int32')}({self.int_()})")
                self.signed += [target] * (target not in self.signed)
            self.whole += [target] * (target not in self.whole)
        else:
            target = self.rng.choice(self.floats) if self.floats and self.chance(0.3) else self.fresh("f")
            # a float variable may begin as a whole number
            self.line(f"{target} = {self.int_(1) if self.chance(0.15) else self.float_()}")
            if target not in self.floats:
                self.floats.append(target)

    def augment(self, _):
        if self.signed and self.chance(0.4):
            self.line(f"{self.rng.choice(self.signed)} {self.pick('+=', '-=', '*=', '^=')} {self.int_(1)}")
        elif self.floats:
            self.line(f"{self.rng.choice(self.floats)} {self.pick('+=', '-=', '*=', '+=')} {self.float_()}")

    def unpack(self, _):
        a, b = self.fresh("i"), self.fresh("i")
        value = self.pick(
            "b2.shape", f"both({self.int_(1)}, {self.int_(0)})", f"{self.int_(0)}, {self.int_(1)}", "cuda.grid(2)"
        )
        self.line(f"{a}, {b} = {value}")
        if self.chance(0.3):
            self.line(f"{a}, {b} = {b}, {a}")
        self.whole += [a, b]

    def private_store(self, _):
        """An element of this thread's own, read again or changed in place."""
        choice = self.rng.randrange(4)
        if choice == 0:
            self.line(f"oi[t] {self.pick('=', '+=', '-=')} {self.int_()}")
        elif choice == 1:
            self.line(f"of[t] {self.pick('=', '+=', '*=')} {self.float_()}")
        elif choice == 2:
            self.line(f"oh[t] {self.pick('=', '+=')} {self.float_(1)}")
        else:
            self.line(f"os[t] = {self.int_()}")

    def atomic(self, _):
        slot = f"{self.int_(1)} % 8"
        if self.chance(0.3):
            self.line(f"cuda.atomic.{self.pick('add', 'sub')}(af, {slot}, {self.int_(0)} % 8)")
        elif self.chance(0.2):
            self.line(f"cuda.atomic.{self.pick('max', 'min')}(af, 8 + {slot}, {self.int_(0)} % 100)")
        elif self.chance(0.2):  # one value from all, so that the last to come does not matter
            self.line(self.pick(f"cuda.atomic.exch(ai, 48 + {slot}, 5)", f"cuda.atomic.cas(ai, 56 + {slot}, 1, 9)"))
        else:
            place, op = self.pick((0, "add"), (8, "max"), (16, "min"), (24, "and_"), (32, "or_"), (40, "xor"))
            self.line(f"cuda.atomic.{op}(ai, {place} + {slot}, {self.int_(1)})")

    def if_(self, depth):
        self.line(f"if {self.bool_()}:")
        self.block(1, depth - 1)
        if self.chance(0.3):
            self.line(f"elif {self.bool_()}:")
            self.block(1, 0)
        if self.chance(0.4):
            self.line("else:")
            self.block(1, depth - 1)

    def leave(self, depth):
        """Perhaps a `break` or `continue` under a condition."""
        if self.chance(0.4):
            self.line(f"    if {self.bool_()}:")
            if depth and self.chance(0.3):
                self.indent += 1
                self.block(1, 0)
                self.indent -= 1
            self.line(f"        {self.pick('break', 'continue')}")

    def for_(self, depth):
        name = self.fresh("j")
        bounds = self.pick("3", "tid % 4", "1, 4", "4, 0, -2", "k % 3, 5, 2", f"{self.int_(0)} % 3")
        self.line(f"for {name} in range({bounds}):")
        self.whole.append(name)
        self.signed.append(name)
        self.leave(depth)
        self.block(self.rng.randrange(1, 3), depth - 1)
        self.whole.remove(name)
        self.signed.remove(name)

    def while_(self, depth):
        name = self.fresh("w")
        self.line(f"{name} = {self.int_(1)} % 4")
        self.line(f"while {name} > 0{self.pick('', f' and {self.bool_(0)}')}:")
        self.line(f"    {name} -= 1")
        self.leave(depth)
        self.block(self.rng.randrange(1, 3), depth - 1)

    def local_array(self, depth):
        name, index, kind = self.fresh("l"), self.fresh("j"), self.pick("float32", "int32", "float64", "float16")
        self.line(f"{name} = cuda.local.array(4, {kind})")
        filled = self.pick("4", "4", "4", "3")  # seldom one element stays unwritten
        self.line(f"for {index} in range({filled}):")
        self.line(f"    {name}[{index}] = {self.int_(1)} % 50 + {index}")
        into, target = (self.floats, self.fresh("f")) if kind.startswith("f") else (self.whole, self.fresh("i"))
        self.line(f"{target} = {name}[{self.int_(1)} % 4] + {name}[{self.pick('0', '1', '-1')}]")
        into.append(target)

    def called(self, _):
        """Device functions of scalars and of an array."""
        a, b, c = self.fresh("i"), self.fresh("i"), self.fresh("f")
        self.line(f"{a} = picked(ia, {self.int_(0)})")
        self.line(f"{b}, _ = both({a}, clipped({self.int_(1)}))")
        self.line(f"{c} = {self.float_(0)} + blend({self.float_(0)}, {self.float_(0)})")
        self.whole += [a, b]
        self.floats.append(c)

    def view(self, _):
        name, target = self.fresh("v"), self.fresh("f")
        low, high = self.pick(("1", "n"), ("n // 2", ""), ("", "-2"), ("k % 3", "k % 3 + 4"))
        self.line(f"{name} = {self.pick('fa', 'ga')}[{low}:{high}]")
        self.line(f"{target} = {name}[0] + {name}[{self.int_(0)} % 2]")
        self.floats.append(target)

    # statements that all threads of a block run together

    def shared(self, kind=None, shape="SLOTS"):
        name, kind = self.fresh("s"), kind or self.pick("float32", "float64", "int32", "int64", "float16", "int8")
        self.line(f"{name} = cuda.shared.array({shape}, {kind})")
        return name, "f" if kind.startswith("float") else "i"

    def taken(self, letter, value):
        target = self.fresh(letter)
        self.line(f"{target} = {value}")
        (self.floats if letter == "f" else self.whole).append(target)

    def barrier(self):
        """A barrier; a racy fragment leaves its first one out, and others."""
        if not self.racy or (self.raced and self.chance(0.5)):
            self.line("cuda.syncthreads()")
        self.raced = True

    def clash(self, _):
        """Threads of one block, or of two, store to one element: other values, or the same."""
        stored = self.pick(f"{self.int_(0)} % 3", "7", "t", "cuda.blockIdx.x")
        self.line(
            self.pick(f"os[t // 2] = {stored}", f"oi[tid] = {stored}", f"if tid < 2:\n            os[0] = {stored}")
        )
        if self.chance(0.3):
            self.taken("i", "os[(t + 1) % 4]")

    def exchange(self, _):
        name, letter = self.shared()
        stride = self.pick("tid", "tid", "SLOTS - 1 - tid", "(tid * 3) % SLOTS")
        self.line(f"{name}[{stride}] = {self.float_(1) if letter == 'f' else self.int_(1)}")
        self.barrier()
        at = f"(tid + {self.rng.randrange(4)}) % nt"
        where = {"tid": at, "SLOTS - 1 - tid": f"SLOTS - 1 - {at}", "(tid * 3) % SLOTS": f"({at} * 3) % SLOTS"}[stride]
        self.taken(letter, f"{name}[{where}]")
        if self.chance(0.1):
            self.taken(letter, f"{name}[{self.int_(0)} % SLOTS]")  # perhaps never written
        self.barrier()

    def square(self, _):
        name, letter = self.shared(shape="(16, 8)")
        self.line(f"{name}[tid // 8, tid % 8] = {self.float_(1) if letter == 'f' else self.int_(1)}")
        self.barrier()
        self.taken(letter, f"{name}[0, {self.int_(0)} % min(nt, 8)] + {name}[(nt - 1) // 8, 0]")
        self.barrier()

    def reduction(self, _):
        name, letter = self.shared(self.pick("float32", "int32", "int64"))
        step = self.fresh("p")
        self.line(f"{name}[tid] = {self.float_(1) if letter == 'f' else self.int_(1)}")
        self.line(f"{step} = 64")
        self.line(f"while {step} > 0:")
        self.line("    cuda.syncthreads()")
        self.line(f"    if tid < {step} and tid + {step} < nt:")
        self.line(f"        {name}[tid] += {name}[tid + {step}]")
        self.line(f"    {step} //= 2")
        self.barrier()
        self.taken(letter, f"{name}[0]")
        self.barrier()

    def histogram(self, _):
        name, _ = self.shared(self.pick("int32", "uint32", "int64"), "8")
        self.line("if tid < 8:")
        self.line(f"    {name}[tid] = 0")
        if self.chance(0.5):
            self.line("cuda.syncthreads()")
        else:
            self.line("if nt > 0:")
            self.line("    cuda.syncthreads()")
        self.line(f"cuda.atomic.{self.pick('add', 'max', 'or_')}({name}, {self.int_(1)} % min(nt, 8), {self.int_(0)})")
        self.line("cuda.syncthreads()")
        self.taken("i", f"{name}[tid % min(nt, 8)]")
        self.line("cuda.syncthreads()")

    def rounds(self, _):
        name, letter = self.shared()
        total, index = self.fresh("f"), self.fresh("j")
        self.line(f"{total} = {self.pick('0', '0.0', 'float32(0)')}")
        self.line(f"for {index} in range({self.pick('2', '3', 'k % 3')}):")
        self.indent += 1
        self.line(f"{name}[tid] = {'fa' if letter == 'f' else 'ia'}[(t + {index}) % n]")
        self.barrier()
        self.line(f"{total} += {name}[(tid + {index}) % nt] * {self.pick('2', '0.5', 'u')}")
        self.barrier()
        self.indent -= 1
        self.floats.append(total)

    def counted(self, _):
        self.taken("i", f"cuda.syncthreads_{self.pick('count', 'and', 'or')}(int32({self.bool_(1)}))")

    def votes(self, _):
        mask = self.fresh("m")
        self.line(f"{mask} = cuda.activemask()")
        kind = self.pick("ballot", "any", "all", "eq")
        self.taken("i", f"int64(cuda.{kind}_sync({mask}, {self.bool_(0)}))")

    def shuffles(self, _):
        self.full_warps = True
        letter = self.pick("i", "f")
        value = f"int32({self.int_(1)})" if letter == "i" else f"float32({self.float_(1)})"
        kind, lane = self.pick(("", "tid % 5"), ("_up", "2"), ("_down", "1"), ("_xor", "4"))
        self.taken(letter, f"cuda.shfl{kind}_sync(0xFFFFFFFF, {value}, {lane})")
        if self.chance(0.4):
            self.warp_exchange(0)

    def warp_exchange(self, _):
        self.full_warps = True
        name, letter = self.shared("int32")
        self.line(f"{name}[tid] = {self.int_(1)}")
        self.line("cuda.syncwarp()")
        self.taken(letter, f"{name}[tid ^ 1]")
        self.line("cuda.syncwarp()")

    def divergent_warp(self, _):
        """Lanes of a branch among themselves, asked for the lowest of them."""
        mask, target = self.fresh("m"), self.fresh("i")
        self.line(f"{target} = {self.int_(0)}")
        self.line(f"if {self.bool_(1)}:")
        self.line(f"    {mask} = cuda.activemask()")
        self.line(f"    {target} = cuda.shfl_sync({mask}, int32({target}), cuda.ffs({mask}) - 1)")
        self.line(f"    {target} += cuda.popc(cuda.ballot_sync({mask}, {self.bool_(0)}))")
        self.whole.append(target)

    # the whole

    def write(self, theme):
        self.assign(0)
        if self.chance(0.5):
            self.assign(0)
        for step in theme:
            getattr(self, step)(2 if step in ("for_", "while_") else 1)
        if self.chance(0.5):
            self.augment(0)
        if self.chance(0.15):
            self.line(f"if {self.bool_(0)}:")
            self.line("    return")
        self.line(f"oi[t] = {' + '.join(self.whole) or 'tid'}")
        if self.floats:
            self.line(f"of[t] = {' + '.join(self.floats)}")
        return self.lines


#: what each fragment is about; those that begin with "clash" or "race" are racy
THEMES = (
    ("exchange",),
    ("if_", "atomic"),
    ("for_",),
    ("square",),
    ("shuffles",),
    ("while_", "private_store"),
    ("rounds",),
    ("local_array", "unpack"),
    ("reduction",),
    ("votes", "divergent_warp"),
    ("race", "rounds"),
    ("view", "if_"),
    ("histogram",),
    ("called", "private_store"),
    ("counted", "for_"),
    ("warp_exchange",),
    ("clash",),
    ("unpack", "while_"),
    ("race", "exchange"),
)


def module_text(rng, seed, fragments, names):
    """A module's text, the arguments its kernel takes, and which fragments are racy or need full warps."""
    written, racy, full = [], [], []
    for number in range(fragments):
        theme = THEMES[(seed * fragments + number) % len(THEMES)]
        racy.append(theme[0] in ("race", "clash"))
        fragment = Fragment(rng, number, racy[-1])
        written.append(f"    {'el' if number else ''}if which == {number}:")
        written += fragment.write(tuple(step for step in theme if step != "race"))
        full.append(fragment.full_warps)
    body = "\n".join(written) + "\n"
    words = set(re.findall(r"\w+", body))
    used = [name for name in names if name in words]
    types = ", ".join(sorted({*WHOLE, "float16", "float32", "float64"}))
    parameters = ", ".join(used)
    head = HEADER.format(seed=seed, types=types, slots=SLOTS, step=rng.randrange(1, 9), parameters=parameters)
    return head + body, used, racy, full
