"""`gemmlab explain` of a whole network: its multiplications by time to gain, and what to change; or two of them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gemmlab.cli.main import one_line
from gemmlab.cli.options import WORKLOAD
from gemmlab.cli.output import STDOUT, check_target, emit
from gemmlab.cli.workload_source import SOURCES, read_workload
from gemmlab.record import GemmlabError

if TYPE_CHECKING:
    from gemmlab.chips import Chip
    from gemmlab.experiment.workload import Answer, Difference
    from gemmlab.workload import Workload


def explain_workload(source: Sequence[str], given: dict[str, Any], output: dict[str, Any]) -> int:
    """Explain a network, or two; raises GemmlabError before anything is printed or written."""
    if not source and "suite" in given and "diff" not in given:
        source, given = (given["suite"],), {name: value for name, value in given.items() if name != "suite"}
    refuse(source, given)
    if "summary" in given:
        check_summary(given["summary"], output)
    from gemmlab import chips

    chip = chips.load(given["chip"]) if "chip" in given else None  # a trace names its own
    works = [read_workload(word, given) for word in given.get("diff", source)]
    from gemmlab.experiment.workload import answer_of

    if chip is None and "diff" in given:
        chip = shared_chip(works)
    answers = [answer_of(work, chip, float8="float8" in given) for work in works]
    if "json" in output or STDOUT in (output.get("csv"), given.get("summary")):
        for answer in answers:
            lost(answer)
    if "diff" in given:
        from gemmlab.experiment.workload import difference

        deliver_difference(difference(*answers), given.get("top"), output)
    else:
        more = {"summary": given["summary"]} if "summary" in given else {}
        deliver_answer(answers[0], given.get("top"), output | more)
    return 0


def shared_chip(works: Sequence[Workload]) -> Chip | None:
    """The chip of the one trace among two sources, for which the other is predicted, too; None where each has one."""
    from gemmlab.experiment.workload.device import reported

    named = [work.chip for work in works if work.chip]
    return reported(named[0]) if len(named) == 1 else None


def refuse(source: Sequence[str], given: dict[str, Any]) -> None:
    """Raise GemmlabError for words that go together with no network."""
    if "diff" in given and source:
        raise GemmlabError(f"SOURCE `{source[0]}` and --diff are two sources", "--diff A B alone")
    if "diff" not in given and len(source) != 1:
        flag = next(f"--{name.replace('_', '-')}" for name in WORKLOAD.of(given))
        what = f"SOURCE `{' '.join(source)}` is one multiplication" if source else "there is no SOURCE"
        raise GemmlabError(f"{flag} is of a whole network, but {what}", f"SOURCE is {SOURCES}")
    if "no_advice" in given:
        raise GemmlabError("--no-advice is of one multiplication or of a list", "--top N shows fewer rows")
    if "diff" in given and "plot" in given:
        raise GemmlabError("--plot draws one network, but --diff has two", "--html draws both side by side")
    for name in ("csv", "summary"):
        if "diff" in given and name in given:
            raise GemmlabError(f"--{name} writes one network, but --diff has two", "--json prints a line for each row")


def check_summary(path: str, output: dict[str, Any]) -> None:
    """Raise GemmlabError where the summary cannot be written, or standard output is for something else."""
    if path != STDOUT:
        check_target("--summary", path)
    elif "json" in output or output.get("csv") == STDOUT:
        other = "--json" if "json" in output else "--csv -"
        raise GemmlabError(f"--summary - and {other} would both print on standard output", "--summary FILE")


def deliver_answer(answer: Answer, top: int | None, output: dict[str, Any]) -> None:
    """Render everything, write the files, then print; raises GemmlabError where a file cannot be written."""
    from gemmlab.problem import Shape
    from gemmlab.report.workload_story import SHOWN

    records = [row.record for row in answer.rows]

    def csv() -> str:
        from gemmlab.report import csv_rows

        shapes = [Shape(row.call.problem, row.call.count, "; ".join(row.call.places)) for row in answer.rows]
        return "".join(line + "\n" for line in csv_rows(records, shapes))

    def page() -> str:
        from gemmlab.report.workload_page import workload_html

        return workload_html(answer, top)

    def picture() -> str:
        from gemmlab.report.workload_picture import workload_svg

        return workload_svg(answer)

    def summary() -> str:
        from gemmlab.report.workload_summary import summary_json

        return summary_json(answer) + "\n"

    def printed() -> str:
        if output.get("summary") == STDOUT:
            return summary()
        if "json" in output:
            return "".join(record.to_json() + "\n" for record in records)
        if output.get("csv") == STDOUT:
            return csv()
        from gemmlab.report.workload import workload_text

        return workload_text(answer, top=SHOWN if top is None else top, width=output.get("width")) + "\n"

    written = {"csv": csv, "html": page, "plot": picture, "summary": summary}
    write(
        printed(),
        {output[name]: make() for name, make in written.items() if output.get(name, STDOUT) != STDOUT},
        output,
    )


def lost(answer: Answer) -> None:
    """Say on standard error what could not be read, where lines for programs do not."""
    for each in answer.workload.unread:
        print(f"not read: {one_line(each.operator)}, {each.count} times: {one_line(each.why)}", file=sys.stderr)


def deliver_difference(found: Difference, top: int | None, output: dict[str, Any]) -> None:
    """The same of two networks."""
    from gemmlab.report.workload_difference import difference_json, difference_text

    files = {}
    if "html" in output:
        from gemmlab.report.workload_difference_page import difference_html

        files[output["html"]] = difference_html(found, top)
    if "json" in output:
        printed = "".join(line + "\n" for line in difference_json(found))
    else:
        printed = difference_text(found, top=top, width=output.get("width")) + "\n"
    write(printed, files, output)


def write(printed: str, files: dict[str, str], output: dict[str, Any]) -> None:
    """Write the files, then print."""
    from gemmlab.report import write_file

    for path, text in files.items():
        write_file(path, text)
        print(f"wrote {path}", file=sys.stderr)
    emit(printed, for_programs="json" in output or STDOUT in (output.get("csv"), output.get("summary")))
