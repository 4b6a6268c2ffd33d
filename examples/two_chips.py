"""Which shapes gain on a chip of one's own: half the SMs of an H100, twice its DRAM bandwidth."""

from pathlib import Path

from gemmlab import explain
from gemmlab.chips import load
from gemmlab.problem import read_source

here = Path(__file__).parent
chips = load("h100-sxm"), load(str(here / "wide-h100.toml"))
for shape in read_source([str(here / "shapes.csv")]):
    now, then = (explain(shape.problem, chip, advice=False).prediction for chip in chips)
    print(f"{shape.name:19}  {now.bound:>9} -> {then.bound:9}  {now.time_s / then.time_s:5.2f}x as fast")
