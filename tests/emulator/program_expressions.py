"""Text of random expressions: whole numbers, floats and conditions, well defined for whatever values.

No shift goes past the width, no divisor is zero, and no float out of range is made a whole number.
"""

WHOLE = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


class Expressions:
    """Writes random expressions of the variables there are."""

    def __init__(self, rng, number, racy):
        self.rng, self.number, self.racy = rng, number, racy
        self.whole, self.signed, self.floats = [], [], []
        self.lines, self.indent, self.names = [], 2, 0
        self.full_warps = False
        self.raced = False

    def pick(self, *choices):
        return self.rng.choice(choices)

    def chance(self, share):
        return self.rng.random() < share

    def line(self, text):
        self.lines.append("    " * self.indent + text)

    def fresh(self, letter):
        self.names += 1
        return f"{letter}{self.number}_{self.names}"

    def int_(self, depth=1):
        if depth == 0 or self.chance(0.2):
            return self.int_leaf()
        a, b = self.int_(depth - 1), self.int_(depth - 1)
        choice = self.rng.randrange(16)
        if choice < 5:
            return f"({a} {self.pick('+', '-', '*', '+', '-')} {b})"
        if choice == 5:
            return f"({a} {self.pick('//', '%')} ({b} % 7 + 1))"
        if choice == 6:
            return f"({a} {self.pick('&', '|', '^')} {b})"
        if choice == 7:
            return f"({a} {self.pick('<<', '>>')} {self.rng.randrange(6)})"
        if choice == 8:
            return f"{self.pick('min', 'max')}({a}, {b})"
        if choice == 9:
            return f"({a} if {self.bool_(depth - 1)} else {b})"
        if choice == 10:
            return f"{self.pick(*WHOLE)}({a})"
        if choice == 11:
            return f"({self.pick('-', '~')}{a})"
        if choice == 12:
            return f"abs({a})"
        if choice == 13:
            return f"cuda.{self.pick('popc', 'clz', 'ffs')}(int32({a}))"
        if choice == 14:
            return self.pick(
                f"clipped({a})", f"cuda.selp({self.bool_(0)}, int64({a}), int64({b}))", f"cuda.brev(uint32({a}))"
            )
        return self.load_int(depth)

    def int_leaf(self):
        if self.whole and self.chance(0.5):
            return self.rng.choice(self.whole)
        return self.pick(
            "tid", "t", "n", "k", "cuda.threadIdx.x", "cuda.blockIdx.y", "cuda.laneid", "STEP", "len(fa)",
            "b2.shape[1]", "1", "2", "3", "5", "cuda.blockDim.x", "BIG",
        )  # fmt: skip

    def index(self, extent, depth=1):
        """An index in range, sometimes counted from the end, seldom out of range."""
        e = self.int_(depth)
        if self.chance(0.06):
            return f"{e} % ({extent} + 2)"
        if self.chance(0.2):
            return f"-1 - {e} % {extent}"
        return f"{e} % {extent}"

    def load_int(self, depth):
        if self.chance(0.3):
            return f"c3[{self.index(3, 0)}, {self.index(4, 0)}, {self.index(5, 0)}]"
        return f"{self.pick('ia', 'ua')}[{self.index('n', min(depth - 1, 1))}]"

    def float_(self, depth=1):
        if depth == 0 or self.chance(0.15):
            return self.float_leaf()
        a, b = self.float_(depth - 1), self.float_(depth - 1)
        choice = self.rng.randrange(14)
        if choice < 6:
            return f"({a} {self.pick('+', '-', '*', '*', '+', '-')} {b})"
        if choice == 6:
            return f"({a} * {self.float_leaf()} {self.pick('+', '-')} {b})"
        if choice == 7:
            return f"({a} / ({self.int_(0)} % 5 + 1))"
        if choice == 8:
            return f"{self.pick('float32', 'float64', 'float16')}({a})"
        if choice == 9:
            return f"math.{self.pick('floor', 'ceil', 'fabs', 'trunc')}({a})"
        if choice == 10:
            return f"math.sqrt(math.fabs({a}))"
        if choice == 11:
            return f"cuda.fma(float32({a}), float32({b}), float32({self.float_leaf()}))"
        if choice == 12:
            return f"({a} if {self.bool_(depth - 1)} else {b})"
        return self.pick(f"blend({a}, {b})", f"(-{a})", f"({a} + {self.int_(depth - 1)})")

    def float_leaf(self):
        if self.floats and self.chance(0.5):
            return self.rng.choice(self.floats)
        return self.pick(
            "u", "d", "0.5", "1.25", "float32(3)", f"fa[{self.index('n', 0)}]", f"ha[{self.index('n', 0)}]",
            f"ga[{self.index('n', 0)}]", f"b2[{self.index(5, 0)}, {self.index(7, 0)}]",
        )  # fmt: skip

    def bool_(self, depth=1):
        choice = self.rng.randrange(8)
        if choice == 0 and depth:
            return f"({self.bool_(0)} {self.pick('and', 'or')} {self.bool_(0)})"
        if choice == 1 and depth:
            return f"(not {self.bool_(0)})"
        if choice == 2:
            return f"({self.rng.randrange(4)} <= {self.int_(0)} < {self.rng.randrange(4, 40)})"
        if choice == 3:
            return f"({self.float_(1)} {self.pick('<', '>=')} {self.float_(0)})"
        return f"({self.int_(1)} % {self.rng.randrange(2, 5)} {self.pick('==', '!=', '<', '>', '<=', '>=')} 1)"
