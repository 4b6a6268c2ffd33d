"""Write the fitted constants into the H200's chip file.

    python benchmarks/calibrate.py

Takes `results/fit_time_h200.json` and `results/fit_traffic_h200.json` and replaces the `[calibration]` table, the last
of `src/gemmlab/chips/data/h200-sxm.toml`. Values are rounded to three digits: the readings know no more.
"""

import json
from pathlib import Path

HERE = Path(__file__).parent
CHIP = HERE.parent / "src" / "gemmlab" / "chips" / "data" / "h200-sxm.toml"
HEAD = "\n[calibration]\n"
TIME = ("dram_share", "dram_per_sm_share", "l2_share", "clock_gain", "tensor_fill_bytes", "vector_fill_k", "launch_s",
        "reduce_s", "dirty_share", "feed_norm", "step_cycles", "overlap_norm",
        "sustained", "burst")  # fmt: skip
TRAFFIC = ("jitter", "crowding", "l2_ways")


def table() -> str:
    """The calibration as TOML."""
    time = json.loads((HERE / "results" / "fit_time_h200.json").read_text())
    traffic = json.loads((HERE / "results" / "fit_traffic_h200.json").read_text())
    held, shown = time["held_out"]["model"], traffic["held_out_half"]
    lines = [
        HEAD.strip(),
        "validated = true",
        f'source = "measured: NVIDIA H200, {time["date"]}; benchmarks/fit_time.py and fit_traffic.py. '
        f"Of shapes left out of a fit: times {held['median_error']:.1%} off in the median, "
        f'DRAM reads {shown["reads_median_error"]:.1%}"',
        "",
        "[calibration.constants]",
    ]
    for names, values, script in (
        (TIME, time["constants"], "fit_time"),
        (TRAFFIC, traffic["constants"], "fit_traffic"),
    ):
        for name in names:
            entries = values[name].items() if isinstance(values[name], dict) else [("", values[name])]
            for key, fitted in entries:
                # a short run never holds less than a long one; the fit cannot tell where both were long
                value = max(fitted, values["sustained"][key]) if name == "burst" else fitted
                field = f'"{name}.{key}"' if key else name
                lines.append(
                    f'{field} = {{ value = {float(f"{value:.3g}")}, source = "benchmarks/{script}.py", sure = true }}'
                )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Replace the table in the chip's file."""
    text = CHIP.read_text().split(HEAD)[0]
    CHIP.write_text(text.rstrip("\n") + "\n\n" + table())
    print(table())


if __name__ == "__main__":
    main()
