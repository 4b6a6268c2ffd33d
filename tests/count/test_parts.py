"""The pieces of the closed forms, each beside its plain meaning."""

import random
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from gemmlab.count.requests import Cut, tile_requests
from gemmlab.count.residues import SECTOR_BITS, added, combined, convolved, progression, subtracted
from gemmlab.count.side_data import floor_sum, meetings

steps = st.one_of(st.integers(0, 1000), st.sampled_from([0, 8, 32, 128, 256, 1 << 20]))
histograms = st.dictionaries(st.integers(0, 255), st.integers(1, 1 << 70), min_size=1, max_size=40)


@given(steps, st.integers(0, 700), st.integers(0, 10**6))
def test_progression(step, count, start):
    assert progression(step, count, start) == Counter((start + i * step) % SECTOR_BITS for i in range(count))


@given(histograms, histograms)
def test_sums_of_two(first, second):
    plain = Counter()
    for a, times in first.items():
        for b, each in second.items():
            plain[(a + b) % SECTOR_BITS] += times * each
    assert combined(first, second) == convolved(first, second) == plain
    assert subtracted(added(first, second), second) == first


@given(st.integers(0, 60), st.integers(0, 200), st.integers(0, 200), st.integers(1, 90))
def test_floor_sum(count, step, start, divisor):
    assert floor_sum(count, step, start, divisor) == sum((start + i * step) // divisor for i in range(count))


@given(st.integers(1, 300), st.integers(1, 70), st.integers(1, 70))
def test_scale_blocks_that_tiles_meet(total, tile, scale):
    plain = Counter(len({i // scale for i in range(a, min(a + tile, total))}) for a in range(0, total, tile))
    found = Counter()
    for tiles, blocks in meetings(total, tile, scale):
        found[blocks] += tiles
    assert found == plain


def plain_sectors(cut, rows, columns, row_bits, bits, start):
    """Requests and their distinct sectors of one tile whose first element lies `start` bits into a sector."""
    calls = sectors = 0
    size = cut.rows * cut.columns
    for done in range(0, size, cut.elements):
        for first in range(done, min(done + cut.elements, size), cut.request):
            touched = set()
            for element in range(first, min(first + cut.request, done + cut.elements, size)):
                row, column = divmod(element, cut.columns)
                if row < rows and column < columns:
                    at = start + row * row_bits + column * bits
                    touched |= {at // SECTOR_BITS, (at + bits - 1) // SECTOR_BITS}
            calls += bool(touched)
            sectors += len(touched)
    return calls, sectors


def test_requests_of_large_tiles():
    from gemmlab.count.traffic import asked

    rng = random.Random(5)
    for _ in range(150):
        bits = rng.choice((4, 6, 8, 16, 32, 64))
        lane = rng.choice((1, 2, 4, 8))
        threads = rng.choice((32, 64, 100, 256, 17))
        columns = rng.choice((8, 16, 32, 48, 64, 128, rng.randint(1, 130)))
        cut = Cut(rng.randint(1, 40), columns, threads * lane, min(32, threads) * lane)
        rows, inside = rng.randint(1, cut.rows), rng.randint(1, columns)
        row_bits = (inside + rng.choice((0, 0, 1, 3, 8))) * bits
        start = rng.choice((0, 8, 32, 8 * rng.randint(0, 31)))
        found = asked(tile_requests(cut, rows, inside, row_bits, bits), {start: 3}, rows * inside, bits, times=2)
        calls, sectors = plain_sectors(cut, rows, inside, row_bits, bits, start)
        assert (found.requests, found.sectors) == (6 * calls, 6 * sectors)
        assert (found.elements, found.bits) == (6 * rows * inside, 6 * rows * inside * bits)
