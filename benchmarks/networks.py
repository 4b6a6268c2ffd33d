"""gemmlab's answers about five networks beside what an H200 measured of them: times, shares, and advice that was taken.

    python benchmarks/networks.py --steps steps.json --traces FOLDER [--out benchmarks/results/networks.json]

Reads what `networks_steps.py` measured on the GPU; runs on any machine with torch and transformers. Of each network, as
given and changed: the multiplications' time in the trace, and as predicted twice, from the trace's shapes and from the
model alone, which no measurement enters; of each advice, what it was predicted to gain and what it gained.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
from pathlib import Path
from typing import Any, NamedTuple

import torch

from gemmlab.experiment.workload import Answer, answer_of
from gemmlab.experiment.workload.beside import AUTOCAST
from gemmlab.experiment.workload.changes.layout import CHANNELS_LAST
from gemmlab.experiment.workload.changes.precision import MATMUL
from gemmlab.record import ChangeSection
from gemmlab.workload.models import trace_model
from gemmlab.workload.traces import read_trace
from networks_models import NETWORKS, Choice

CHIP = "h200-sxm"
GAIN_BAR, TIME_BAR = 0.3, 0.2  # how far a predicted gain, and a predicted time, may be from the measured one
PUBLISHED = {
    "network": "BERT-large, one training step", "flop_share": 0.998, "time_share": 0.61,
    "source": "Ivanov et al., Data Movement Is All You Need, 2021 (arXiv 2007.00072): another chip and time",
}  # fmt: skip


class Taken(NamedTuple):
    """An advice that was taken: in which network, from which of its choices to which, and how gemmlab tells it."""

    network: str
    before: str
    after: str
    advice: str  #: a key of TOLD, or `together`: all that the answer takes together


#: what is one change of a network, among the changes of an answer
TOLD = {
    "alignment": lambda change: change.cause == "alignment",
    "tf32": lambda change: change.line == MATMUL,
    "autocast": lambda change: change.line.startswith(AUTOCAST),
    "channels last": lambda change: change.line in CHANNELS_LAST.values(),
}
TAKEN = (
    Taken("bert", "given", "alignment", "alignment"),
    Taken("gpt2", "given", "alignment", "alignment"),
    Taken("llama", "given", "format", "autocast"),
    Taken("llama", "given", "precision", "tf32"),
    Taken("mixture", "given", "alignment", "alignment"),
    Taken("resnet50", "given", "channels-last", "channels last"),
    Taken("resnet50", "given", "format", "autocast"),
    Taken("resnet50", "given", "channels-last and format", "together"),
    Taken("resnet50", "channels-last", "channels-last and format", "autocast"),
    Taken("resnet50", "format", "channels-last and format", "channels last"),
)


def changes_of(answer: Answer) -> list[dict[str, Any]]:
    """What an answer advises, a step's seconds."""
    steps = answer.workload.steps
    return [
        {"cause": each.cause, "line": each.line, "gain_s": each.gain_s / steps, "confidence": each.confidence}
        for each in answer.changes
    ]


def together_of(answer: Answer) -> dict[str, Any]:
    """What an answer takes together, a step's seconds."""
    return {"lines": list(answer.advised), "gain_s": answer.advised_gain * answer.time_s / answer.workload.steps}


def traced(path: Path) -> tuple[Answer, dict[str, Any]]:
    """The answer to a trace, and its figures, of one step."""
    answer = answer_of(read_trace(path), CHIP)
    workload, rows = answer.workload, [row.record.call for row in answer.rows]
    assert workload.span_s is not None
    assert workload.busy_s is not None
    told = {
        "span_s": workload.span_s, "busy_s": workload.busy_s, "multiplying_s": answer.multiplying_s,
        "rest_s": answer.rest_s, "unread_s": answer.unread_s, "flop": workload.flop,
        "predicted_s": sum(row.predicted_time_s for row in rows if row is not None),
        "limit_s": sum(row.limit_s for row in rows if row is not None),
    }  # fmt: skip
    return answer, {
        **{name: value / workload.steps for name, value in told.items()},
        "flop_share": answer.flop_share,
        "time_share": answer.multiplying_s / workload.busy_s,
        "longest_rest": [[each.other.name[:60], each.time_s / workload.steps] for each in answer.rest[:6]],
        "changes": changes_of(answer),
        "together": together_of(answer),
    }


def modelled(network: str, choice: Choice) -> dict[str, Any]:
    """The answer to the model alone: no GPU, no weights, no measurement."""
    torch.set_float32_matmul_precision("high" if choice.precision == "tf32" else "highest")
    with torch.device("meta"):
        model, inputs = NETWORKS[network].make(choice, False)
    optimizer = "sgd" if network == "resnet50" else "adamw"
    autocast = "bfloat16" if choice.precision == "bfloat16" else None
    answer = answer_of(trace_model(model, inputs, autocast=autocast, optimizer=optimizer), CHIP)
    return {
        "multiplying_s": answer.multiplying_s, "rest_s": answer.rest_s, "flop": answer.workload.flop,
        "flop_share": answer.flop_share, "unread": sum(each.count for each in answer.workload.unread),
        "changes": changes_of(answer), "together": together_of(answer),
    }  # fmt: skip


def row_of(measured: dict[str, Any], traces: Path) -> dict[str, Any]:
    """One network in one choice: measured step, its trace, the model alone, and how far they are apart."""
    network, change = measured["network"], measured["change"]
    times = sorted(measured["times_s"])
    row = {
        "network": network, "change": change, "choice": measured["choice"], "parameters": measured["parameters"],
        "what": NETWORKS[network].what,
        "step_s": measured["step_s"], "quartiles_s": [times[len(times) // 4], times[3 * len(times) // 4]],
        "state": measured["state"],
    }  # fmt: skip
    _, row["trace"] = traced(traces / measured["trace"])
    row["trace"]["share_of_step"] = row["trace"]["multiplying_s"] / row["step_s"]
    row["trace"]["error"] = row["trace"]["predicted_s"] / row["trace"]["multiplying_s"] - 1
    row["model"] = modelled(network, Choice(**measured["choice"]))
    row["model"]["error"] = row["model"]["multiplying_s"] / row["trace"]["multiplying_s"] - 1
    row["model"]["flop_off"] = row["model"]["flop"] / row["trace"]["flop"] - 1
    return row


def advised(taken: Taken, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """What an advice was predicted to gain of a step, from the trace and from the model, and what it gained."""
    own = {row["change"]: row for row in rows if row["network"] == taken.network}
    before, after = own[taken.before], own[taken.after]

    def gain(source: str) -> tuple[float, list[str], bool]:
        if taken.advice == "together":
            return before[source]["together"]["gain_s"], before[source]["together"]["lines"], False
        found = [each for each in before[source]["changes"] if each["cause"] != "launch"]
        chosen = [each for each in found if TOLD[taken.advice](ChangeSection(**filled(each)))]
        first = bool(found) and found[0] in chosen
        return sum(each["gain_s"] for each in chosen), [each["line"] for each in chosen], first

    predicted_s, lines, first = gain("trace")
    measured_s = before["step_s"] - after["step_s"]
    return {
        **taken._asdict(), "lines": lines, "first": first, "predicted_s": predicted_s,
        "predicted_from_model_s": gain("model")[0], "measured_s": measured_s, "step_s": before["step_s"],
        "kernels_s": before["trace"]["busy_s"] - after["trace"]["busy_s"],
        "multiplications_s": before["trace"]["multiplying_s"] - after["trace"]["multiplying_s"],
        "error": predicted_s / measured_s - 1, "error_from_model": gain("model")[0] / measured_s - 1,
    }  # fmt: skip


def launched(eager: dict[str, Any], traces: Path) -> dict[str, Any]:
    """A step that waits for its launches: what it waits, and what replaying a graph was to gain, by the trace."""
    answer, told = traced(traces / eager["trace"])
    operators = sum(row.call.count for row in answer.rows) + sum(each.other.count for each in answer.rest)
    each_step = operators / answer.workload.steps
    return {
        "network": eager["network"], "choice": eager["choice"], "step_s": eager["step_s"],
        "low_s": min(eager["times_s"]), "high_s": max(eager["times_s"]), "busy_s": told["busy_s"],
        "waited_s": eager["step_s"] - told["busy_s"], "traced_s": told["span_s"], "operators": each_step,
        "profiler_s": (told["span_s"] - eager["step_s"]) / each_step,
        "predicted_s": sum(each["gain_s"] for each in told["changes"] if each["cause"] == "launch"),
    }  # fmt: skip


def filled(change: dict[str, Any]) -> dict[str, Any]:
    """A told change with the fields that are not told, so that the same words choose it."""
    return {**change, "digits": "", "cost": "", "predicted_speedup": 1.0}


def bars(rows: list[dict[str, Any]], gains: list[dict[str, Any]]) -> dict[str, Any]:
    """What must hold, and whether it does."""
    bert = next(row for row in rows if (row["network"], row["change"]) == ("bert", "given"))
    first = [each for each in gains if each["first"]]
    return {
        "bert_flop_share": {"trace": bert["trace"]["flop_share"], "model": bert["model"]["flop_share"],
                            "holds": abs(bert["model"]["flop_share"] - 0.998) <= 0.001
                            and abs(bert["trace"]["flop_share"] - 0.998) <= 0.001},
        "bert_time_share": {"of_kernels": bert["trace"]["time_share"], "of_step": bert["trace"]["share_of_step"],
                            "published": PUBLISHED},
        "times": {"worst": max((row["model"]["error"] for row in rows), key=abs), "bar": TIME_BAR,
                  "holds": all(abs(row["model"]["error"]) <= TIME_BAR for row in rows)},
        "gains": {"worst": max((each["error"] for each in first), key=abs), "bar": GAIN_BAR,
                  "networks": sorted({each["network"] for each in first}),
                  "holds": all(abs(each["error"]) <= GAIN_BAR for each in first)},
    }  # fmt: skip


def table(rows: list[dict[str, Any]], gains: list[dict[str, Any]]) -> str:
    """A line a row, for the eye."""
    lines = []
    for row in rows:
        trace, model = row["trace"], row["model"]
        lines.append(
            f"{row['network']:9} {row['change']:24} step {row['step_s'] * 1e3:6.2f} ms, kernels "
            f"{trace['busy_s'] * 1e3:6.2f}, multiplications {trace['multiplying_s'] * 1e3:5.2f} "
            f"({trace['time_share']:.1%}), predicted {trace['predicted_s'] * 1e3:5.2f} ({trace['error']:+.1%}), "
            f"from the model {model['multiplying_s'] * 1e3:5.2f} ({model['error']:+.1%})"
        )
    for each in gains:
        lines.append(
            f"{each['network']:9} {each['before']} -> {each['after']}, {each['advice']}{' (first)' * each['first']}: "
            f"predicted {each['predicted_s'] * 1e3:.2f} ms (model {each['predicted_from_model_s'] * 1e3:.2f}), "
            f"measured {each['measured_s'] * 1e3:.2f} ({each['error']:+.1%}); kernels {each['kernels_s'] * 1e3:.2f}"
        )
    return "\n".join(lines)


def main() -> None:
    """Answer everything and write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=Path, required=True)
    parser.add_argument("--traces", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/networks.json"))
    options = parser.parse_args()
    steps = json.loads(options.steps.read_text())
    done = [each for each in steps["rows"] if "fault" not in each]
    rows = [row_of(each, options.traces) for each in done if not each["choice"]["half"]]
    gains = [advised(taken, rows) for taken in TAKEN if any(row["network"] == taken.network for row in rows)]
    result = {
        "what": "measured: seconds of a training step, and of its kernels in a trace of it; counted: flop; predicted: "
        "seconds of the multiplications from the trace's shapes and from the model alone, and what an advice gains",
        "protocol": steps["protocol"], "chip": steps["chip"], "date": steps["date"], "measured_with": steps["versions"],
        "answered_with": {each: importlib.metadata.version(each) for each in ("torch", "transformers")},
        "bars": bars(rows, gains), "gains": gains,
        "launches": [launched(each, options.traces) for each in done if each["choice"]["half"]], "rows": rows,
    }  # fmt: skip
    options.out.write_text(json.dumps(result, indent=1) + "\n")
    print(table(rows, gains), *(json.dumps(result[name], indent=1) for name in ("launches", "bars")), sep="\n")


if __name__ == "__main__":
    main()
