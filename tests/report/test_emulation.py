"""An emulated launch on a terminal: its counts, faults in words, and what a line could do better."""

import msgspec
import pytest

from emulator.hand_made import RACE, SAME, at, emulation, racy
from gemmlab.emulator.tallies import BLOCK_RACE, OUT_OF_BOUNDS, UNWRITTEN, Fault
from gemmlab.record import ScheduleSection, ThreadPlace
from gemmlab.report import fault_words, html, terminal
from gemmlab.report.emulation_hints import hints
from report.records import right, wrong


def words(text):
    return " ".join(text.split())


def told(r, width=80):
    return terminal(r.to_record(), width=width, color=False, unicode=False)


def said(fault, r=None):
    section = (r or emulation((fault,))).to_section()
    return fault_words.sentence(section.faults[0], section)


@pytest.mark.parametrize("width", [40, 60, 80, 100])
def test_it_keeps_to_the_width(width):
    assert max(len(line) for line in told(racy(), width).splitlines()) <= width


def test_counts_of_every_memory_stand_in_one_table():
    lines = told(racy()).splitlines()
    assert "  global load         512  1.02 kB        16     8 sectors" in lines
    assert "  shared load       2,048  12.3 kB        64  2 wavefronts" in lines
    assert "  sA load        1,024        32        -          96         64" in lines
    assert "shared atomic" not in told(racy())


def test_the_line_that_asks_for_most_comes_first():
    by_line = told(racy()).split("By line")[1]
    assert by_line.index("sA[y, x] = a[row, t + x]") < by_line.index("s += sA[y, i] * sB[i, x]")
    assert "load sA: 1,024 elements, 32 requests of 3 wavefronts, 64 bank conflicts" in by_line


def test_a_race_is_told_with_both_threads_both_lines_and_the_word():
    assert said(RACE) == (
        "thread (3, 0) of block (0, 0) writes it at line 10 while thread (0, 1) reads it at line 14 in epoch 2: "
        "no barrier between"
    )
    assert "race in shared memory on sA[0, 3], 512 times" in told(racy())


def test_a_race_between_blocks_names_both_blocks():
    threads = (((0, 0, 0), (1, 0, 0)), ((1, 1, 0), (1, 0, 0)))
    race = Fault(BLOCK_RACE, "c", (5,), at(16), at(16), threads, 0, "write-write")
    assert said(race) == (
        "thread (1, 0) of block (0, 0) writes it at line 16 while thread (1, 0) of block (1, 1) writes it at line 16: "
        "nothing orders blocks"
    )


def test_same_value_writes_are_benign():
    assert "both write the same value" in said(SAME)
    assert "No fault found but benign writes of equal values" in told(emulation((SAME,)))


def test_a_fault_of_one_thread_and_of_none():
    outside = Fault(
        OUT_OF_BOUNDS, "a", (16, 2), at(10), None, (((1, 0, 0), (7, 7, 0)),), 0, "", 3, "its shape is (16, 16)"
    )
    assert said(outside) == "thread (7, 7) of block (1, 0) at line 10; its shape is (16, 16)"
    assert said(Fault(UNWRITTEN, "c", (3,), at(0, ""))) == "at the end of the launch"


def test_coordinates_have_the_axes_of_the_launch():
    section = msgspec.structs.replace(emulation().to_section(), grid=(8, 1, 1), block=(4, 2, 2))
    place = ThreadPlace(block=(7, 0, 0), thread=(1, 0, 1))
    assert fault_words.thread(place, section) == "thread (1, 0, 1) of block 7"


def test_hints_name_what_costs_most():
    found = hints(emulation().to_section())
    assert any(
        "line 10: load of a touches 8 sectors a request where 2 would hold its bytes: 25%" in text for text in found
    )
    assert any("line 14: load of sA takes 96 wavefronts where 32 would do" in text for text in found)
    assert any("line 9: threads of a warp disagree in 1 of 24" in text for text in found)
    assert "Notes - counts are those of the program as written: a compiler may merge" in words(told(racy()))
    assert not any("line 16" in text for text in found)  # 256 elements of 4 bytes in 32 sectors: none wasted


def conflicts_of(shape, block=(16, 16, 1)):
    [found] = [text for text in hints(emulation(shapes={"sA": shape}, block=block).to_section()) if "sA" in text]
    return found


def test_padding_that_causes_conflicts_is_not_advised():
    """Two rows of 16 threads, 17 words apart: 17 + 15 is the first word's bank."""
    assert "the padding causes them, for 17 words apart they end at word 32" in conflicts_of((16, 17))
    assert "the padding causes them" in conflicts_of((4, 9), (8, 16, 1))
    assert "a padded row, such as [32][33], spreads" in conflicts_of((32, 32), (32, 8, 1))
    assert "are odd already" in conflicts_of((32, 33), (32, 8, 1))
    assert "a padded row" in conflicts_of((64,))


def test_a_verdict_is_told_with_the_faults():
    record = msgspec.structs.replace(racy().to_record(), verdict=wrong().verdict)
    text = words(terminal(record, width=80, color=False))
    assert "1 fault: race in shared memory; in lockstep wrong: of 67,108,864 elements" in text
    assert "Is the result right" in text


def test_the_schedule_and_the_proof_are_told():
    text = words(told(racy()))
    assert "reverse: 63 elements wrong, largest error 1.50, the worst found" in text
    assert "What this run proves A race was found." in text


def test_a_page_tells_what_the_terminal_tells():
    page = words(html(msgspec.structs.replace(racy().to_record(), verdict=wrong().verdict)))
    assert "<title>tiled run access by access</title>" in page
    assert "race in shared memory on sA[0, 3], 512 times" in page
    assert "thread (3, 0) of block (0, 0) writes it at line 10 while thread (0, 1) reads it at line 14" in page
    assert "s += sA[y, i] * sB[i, x]" in page
    assert "reverse: 63 elements wrong" in page
    assert "Is the result right" in page
    assert "emulation.global_load.sectors" in page


def test_many_orders_are_cut_the_worst_shown():
    tried = [ScheduleSection(name=f"random:seed={i}", wrong_elements=i, max_error=1.0, worst=i == 8) for i in range(9)]
    text = words(told(emulation(schedules=tuple(tried))))
    assert (
        "random:seed=8: 8 elements wrong, largest error 1.00, the worst found random:seed=0: 0 elements wrong" in text
    )
    assert "and 3 more" in text


def test_a_right_result_is_not_the_last_word_where_another_order_is_wrong():
    record = msgspec.structs.replace(racy().to_record(), verdict=right().verdict)
    text = words(terminal(record, width=80, color=False))
    assert (
        "in lockstep right: 67,108,864 elements within what rounding explains; under another order of threads" in text
    )
    assert "63 elements wrong" in text


def test_a_program_stands_on_the_page_letter_by_letter():
    found = emulation(texts={("tiled.py", 14): "s[x] = x + x - x if x < 2 x"})
    page = html(found.to_record())
    assert "s[x] = x + x - x if x &lt; 2 x" in page
