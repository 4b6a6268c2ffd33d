"""A lesson as one page: a question a chapter, each figure with its kind, every Record embedded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from gemmlab.experiment.lesson import Lesson
from gemmlab.report.lesson import moving, running
from gemmlab.report.lesson.style import RULES
from gemmlab.report.lesson.words import problem_of, sides
from gemmlab.report.page import POLICY, data, tag, text
from gemmlab.report.page_style import page_style
from gemmlab.report.words import KINDS


class Chapter(NamedTuple):
    """One question."""

    ident: str
    question: Callable[[Lesson], str]
    answer: Callable[[Lesson], str]  #: in a line, as HTML with its kinds
    told: Callable[[Lesson], str]  #: in full; empty where the lesson has nothing to tell of it


CHAPTERS = (
    Chapter("loads", moving.loads_question, moving.loads_answer, moving.loads_told),
    Chapter("bound", moving.bound_question, moving.bound_answer, moving.bound_told),
    Chapter("time", moving.time_question, moving.time_answer, moving.time_told),
    Chapter("barrier", running.barrier_question, running.barrier_answer, running.barrier_told),
    Chapter("here", running.here_question, running.here_answer, running.here_told),
    Chapter("digits", running.digits_question, running.digits_answer, running.digits_told),
)


def lesson_html(lesson: Lesson, command: str) -> str:
    """The page, without scripts or outside resources; `command` is what makes it anew."""
    told = [(chapter, body) for chapter in CHAPTERS if (body := chapter.told(lesson))]
    heading = f"{sides(problem_of(lesson))}: the whole story of one multiplication"
    head = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width,initial-scale=1">\n'
        f"<title>{text(heading)}</title>\n<style>{page_style()}{RULES}</style>\n</head>\n"
    )
    parts = [moving.opening(lesson), in_short(lesson, [chapter for chapter, _ in told])]
    parts += [section(chapter.ident, chapter.question(lesson), body) for chapter, body in told]
    parts.append(section("made", "How was this page made, and what is not on it?", made(lesson, command)))
    body = "\n".join(parts)
    return f'{head}<body>\n<main class="lesson">\n{body}\n</main>\n{data(lesson.records)}</body>\n</html>\n'


def section(ident: str, question: str, body: str) -> str:
    """One chapter."""
    return f'<section id="{ident}"><h2>{text(question)}</h2>\n{body}\n</section>'


def in_short(lesson: Lesson, told: Sequence[Chapter]) -> str:
    """Every question with its answer in a line."""
    items = "".join(
        f'<li><a href="#{each.ident}">{text(each.question(lesson))}</a>{each.answer(lesson)}</li>' for each in told
    )
    return f'<ol class="short-answers">{items}</ol>'


def made(lesson: Lesson, command: str) -> str:
    """The command, what was left out, and what the words beside the numbers mean."""
    left = "".join(f"<li>{text(each)}</li>" for each in lesson.left_out)
    said = f"<p>By <code>{text(command)}</code>; random operands from seed {lesson.settings.seed}."
    said += " The Records behind every figure are embedded in this file as JSON.</p>"
    rows = "".join(f"<tr><td>{tag(kind)}</td><td>{text(meaning)}</td></tr>" for kind, meaning in KINDS.items())
    listed = f"<h3>Run otherwise than asked, or left out</h3><ul>{left}</ul>" if left else ""
    return f'<div class="made">{said}{listed}<h3>What the numbers are</h3><table><tbody>{rows}</tbody></table></div>'
