"""What the counts of an emulated launch say about its speed, line by line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gemmlab.record import Access, EmulationSection, LineCounts
from gemmlab.report.words import clean, percent

SECTOR = 32  #: bytes
WASTED = 0.5  #: a line is named where less than this share of its sectors' bytes was asked for
WORD, BANKS = 4, 32  #: bytes, and banks of shared memory
MERGED = 4  #: shared loads of 4 bytes that a compiler can make one of 16


def hints(emulation: EmulationSection) -> list[str]:
    """Uncoalesced lines, bank conflicts and divergence."""
    return [text for row in emulation.lines for text in of_line(row, emulation)]


def notes(emulation: EmulationSection) -> list[str]:
    """What else holds of the figures: what a compiler would change, and what the run itself has to say."""
    merging = compiler_note(emulation)
    return [merging] * bool(merging) + [clean(note) for note in emulation.notes]


def of_line(row: LineCounts, emulation: EmulationSection) -> Iterator[str]:
    """What is to be said of one line."""
    for access in row.accesses:
        if access.sectors and access.bytes < WASTED * SECTOR * access.sectors:
            yield uncoalesced(row, access)
        if access.bank_conflicts:
            yield conflicted(row, access, emulation)
    if row.divergent_branches:
        yield (
            f"line {row.line}: threads of a warp disagree in {row.divergent_branches:,} of {row.branches:,} tests, "
            "and both ways are then run one after the other"
        )


def uncoalesced(row: LineCounts, access: Access) -> str:
    """A line whose warps touch more sectors than their bytes need."""
    each, needed = access.sectors / access.requests, access.bytes / access.requests / SECTOR
    used = percent(access.bytes / (SECTOR * access.sectors))
    return (
        f"line {row.line}: {access.kind} of {clean(access.array)} touches {each:.4g} sectors a request where "
        f"{max(needed, 1):.4g} would hold its bytes: {used} of what moves is asked for; let neighbouring threads "
        "(threadIdx.x) take neighbouring elements"
    )


def conflicted(row: LineCounts, access: Access, emulation: EmulationSection) -> str:
    """A line whose lanes want different words of one bank, and what would spread them."""
    free = access.wavefronts - access.bank_conflicts
    return (
        f"line {row.line}: {access.kind} of {clean(access.array)} takes {access.wavefronts:,} wavefronts where "
        f"{free:,} would do without bank conflicts; {remedy(row_words(access, emulation), emulation.block[0])}"
    )


def row_words(access: Access, emulation: EmulationSection) -> int | None:
    """Words from one row of a shared array to the next; None where no row is known, or it is no whole word."""
    counts = emulation.arrays.get(access.array)
    if counts is None or counts.shape is None or len(counts.shape) < 2 or not access.elements:
        return None
    size = counts.shape[-1] * (access.bytes // access.elements)
    return size // WORD if size % WORD == 0 else None


def remedy(words: int | None, across: int) -> str:
    """What spreads the lanes over the banks: padding, unless rows are padded already, or padding is the cause."""
    if words is None or words % 2 == 0:
        return "a padded row, such as [32][33], spreads a column over the banks"
    if passes(words, across) > 1 and passes(words - 1, across) == 1:
        rows = BANKS // across
        return (
            f"a warp holds {rows} rows of {across} threads: where they take rows of the array, the padding causes "
            f"them, for {words} words apart they end at word {words * (rows - 1) + across - 1}, past the {BANKS} "
            f"banks; rows of {words - 1} words would not"
        )
    return f"rows of {words} words are odd already: more padding does not help, another order of the lanes may"


def passes(words: int, across: int) -> int:
    """Passes over the banks where a warp's rows of `across` threads take rows of an array, so many words apart."""
    return max(Counter((words * (lane // across) + lane % across) % BANKS for lane in range(BANKS)).values())


def compiler_note(emulation: EmulationSection) -> str:
    """That compilers merge neighbouring shared loads, where there are any that could be."""
    if not emulation.shared_load.elements or any("as a compiler merges them" in note for note in emulation.notes):
        return ""
    return (
        "counts are those of the program as written: a compiler may merge shared loads of neighbouring words in a row "
        f"into one of 16 bytes, with up to {MERGED} times fewer requests (--merge 16 counts so), and keep local arrays "
        "in registers"
    )
