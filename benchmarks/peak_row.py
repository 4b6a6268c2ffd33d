"""One multiplication on the GPU: its operands as they are asked to lie, who multiplies them, and how right each is."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, NamedTuple

L2_BYTES = 60e6  # of an H200
SAMPLED = 256  # rows of D that are compared with float64, spread over all of it
#: of the largest result: what roundings alone may put two results apart by; `sums` are float32 of 16-bit operands,
#: whose accumulator cuts
DIGITS = {"float32": 2e-6, "tfloat32": 5e-3, "float16": 2.0**-10, "bfloat16": 2.0**-7, "sums": 1e-4}
LAYOUT = re.compile(r"((?P<batch>\d+)\*)?(?P<a>[nt])(?P<b>[nt])(\+(?P<past>\d+))?(/(?P<ld>\d+))?")


class Lying(NamedTuple):
    """How A and B lie: whose rows run along m and k (turned), elements past an aligned address, and between rows.

    `batch` is how many multiplications there are, each of matrices of its own, one behind another.
    """

    a_turned: bool
    b_turned: bool
    past: int
    ld: int
    batch: int = 1


class Errors(NamedTuple):
    """Of the sampled rows against float64: by norm, and the largest beside |A||B|."""

    norm: float
    component: float


def lying(layout: str) -> Lying:
    """What a layout says; a distance of 0 is that of contiguous rows. Raises ValueError for what is none."""
    found = LAYOUT.fullmatch(layout)
    if found is None:
        raise ValueError(f"{layout!r} is no layout: nt, nn, tn, tt, nt+1, nt/4097, nt+1/4104, 96*nt")
    numbers = (int(found[name] or least) for name, least in (("past", 0), ("ld", 0), ("batch", 1)))
    return Lying(found["a"] == "t", found["b"] == "t", *numbers)


class Row:
    """One multiplication's operands, results and contenders; a batch's where the layout says so.

    `form` may end with the accuracy that is asked for, as in `float8_e4m3fn fast`; `out` is the result's format where
    it is not the operands' (bfloat16 of float8). `numbers` draws so many float32, random normal ones where it is not
    given; `sets` of operands are drawn, as many as three times the L2 holds for 0.
    """

    def __init__(
        self,
        torch: Any,
        m: int,
        n: int,
        k: int,
        form: str,
        layout: str = "nt",
        *,
        out: str = "",
        numbers: Callable[[int], Any] | None = None,
        sets: int = 0,
        device: str = "cuda",
    ) -> None:
        self.torch, self.sides, self.lying, self.device = torch, (m, n, k), lying(layout), device
        self.numbers = numbers or (lambda count: torch.randn(count, device=device))
        self.form, _, accuracy = form.partition(" ")
        self.eight, self.accuracy = self.form.startswith("float8"), accuracy or "vendor"
        self.type = getattr(torch, self.form)
        self.out_type = getattr(torch, out or ("bfloat16" if self.eight else self.form))
        self.bytes = self.lying.batch * ((m * k + k * n) * self.type.itemsize + m * n * self.out_type.itemsize)
        self.operands = [self.drawn() for _ in range(sets or max(1, math.ceil(3 * L2_BYTES / self.bytes)))]
        self.one = torch.ones((), device=device)
        self.contenders: dict[str, Callable[[Any, Any, Any], Any]] = {}
        self.results: dict[str, list[Any]] = {}
        self.add("ours", self.ours)
        self.add("torch", self.torchs)

    def drawn(self) -> tuple[Any, Any]:
        """A (m, k) and B (k, n), a batch of each where one is asked for."""
        m, n, k = self.sides
        return self.matrix(m, k, self.lying.a_turned), self.matrix(k, n, self.lying.b_turned)

    def matrix(self, rows: int, columns: int, turned: bool) -> Any:
        """One operand as it is asked to lie."""
        tall, wide = (columns, rows) if turned else (rows, columns)
        step = self.lying.ld or wide
        batch = self.lying.batch
        memory = self.numbers(self.lying.past + batch * tall * step).to(self.type)
        stored = memory.as_strided((batch, tall, wide), (tall * step, step, 1), self.lying.past)
        stored = stored if batch > 1 else stored[0]
        return stored.mT if turned else stored

    def add(self, name: str, multiply: Callable[[Any, Any, Any], Any]) -> None:
        """One more contender, with results of its own."""
        m, n, _ = self.sides
        shape = (self.lying.batch, m, n) if self.lying.batch > 1 else (m, n)
        self.contenders[name] = multiply
        self.results[name] = [self.torch.empty(shape, dtype=self.out_type, device=self.device) for _ in self.operands]

    def calls(self, name: str) -> list[Callable[[], Any]]:
        """What a contender does for each set of operands."""
        multiply, results = self.contenders[name], self.results[name]
        return [
            lambda a=a, b=b, d=d: multiply(a, b, d) for (a, b), d in zip(self.operands, results, strict=True)
        ]  # fmt: skip

    def poison(self) -> None:
        """Fill every result with NaN, so that what nobody writes is seen."""
        for results in self.results.values():
            for each in results:
                each.fill_(math.nan)

    def ours(self, a: Any, b: Any, d: Any) -> None:
        """gemmlab's, by the plan that it chooses."""
        from gemmlab import matmul

        matmul(a, b, out=d, accuracy=self.accuracy)

    def torchs(self, a: Any, b: Any, d: Any) -> None:
        """What torch's dispatcher picks, in the mode that adds as ours does."""
        torch = self.torch
        if self.eight:
            torch._scaled_mm(
                a, b, self.one, self.one, out_dtype=self.out_type, use_fast_accum=self.accuracy == "fast", out=d
            )
            return
        if self.out_type != self.type:
            d.copy_(torch.mm(a, b, out_dtype=self.out_type))
            return
        allowed = torch.backends.cuda.matmul.allow_tf32
        torch.backends.cuda.matmul.allow_tf32 = self.form == "float32" and self.accuracy == "fast"
        (torch.mm if a.dim() == 2 else torch.bmm)(a, b, out=d)
        torch.backends.cuda.matmul.allow_tf32 = allowed

    def plan(self, *, tuned: bool = True) -> Any:
        """The plan of ours, or the model's alone."""
        from gemmlab import plan

        (a, b), d = self.operands[0], self.results["ours"][0]
        return plan(a, b, accuracy=self.accuracy, out=d, tuned=tuned)

    def sample(self) -> Any:
        """Rows of D, or of each D, one drawn from each of as many equal stretches of it."""
        m = self.sides[0]
        count = min(m, SAMPLED)
        spread = self.torch.rand(count, device=self.device, dtype=self.torch.float64)
        at = (self.torch.arange(count, device=self.device) + spread) * (m / count)
        return at.long().clamp_(max=m - 1)

    def errors(self) -> tuple[dict[str, Errors], bool]:
        """Each contender's errors in the last set, and whether ours is right in all elements of all sets.

        Sampled rows are compared with float64, and every element of every set with torch's: none may be NaN, nor
        further away than four times as far as torch's sampled ones are from float64, or a digit of the largest.
        """
        torch, rows = self.torch, self.sample()
        a, b = self.operands[-1]
        left, right = a.double()[..., rows, :], b.double()
        exact, scale = left @ right, left.abs() @ right.abs()
        found, furthest = {}, {}
        for name, results in self.results.items():
            off = (results[-1][..., rows, :].double() - exact).abs()
            part = off / scale.clamp_min(torch.finfo(torch.float64).tiny)
            furthest[name] = float(off.max())
            found[name] = Errors(float(off.norm() / exact.norm()), float(part.max()))
        pairs = zip(self.results["ours"], self.results["torch"], strict=True)
        return found, all(self.near(d, t, 4 * furthest["torch"]) for d, t in pairs)

    def near(self, d: Any, t: Any, far: float) -> bool:
        """Whether every element of ours is no further from torch's than that, or than a digit of the largest."""
        apart = (d.float() - t.float()).abs()
        if not bool(apart.isfinite().all()):
            return False
        form = "bfloat16" if self.eight else str(self.out_type).removeprefix("torch.")
        if form == "float32" and (self.form != "float32" or self.accuracy == "fast"):
            form = "tfloat32" if self.form == "float32" else "sums"
        return float(apart.max()) <= max(far, DIGITS[form] * float(t.float().abs().max()))
