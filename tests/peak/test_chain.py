"""Launches that are made once and moved: every argument is as if it had been made for those addresses."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.peak.driver_in_words import in_words

from gemmlab.peak import asking, chain
from gemmlab.peak.chain import Chain, ImmovableError, Ledger, addresses, stand_in
from gemmlab.peak.choosing import plan_for
from gemmlab.peak.ready import launches_of, row_major

BUFFER, ZEROS = 0x7F33_0000_0000, 0x7F44_0000_0000


@pytest.fixture
def torch(monkeypatch):
    with in_words(monkeypatch) as found:
        yield found


def laid(torch, source, rows, columns, kind):
    """A matrix of any layout, gap and offset."""
    turned, gap, offset = source.random() < 0.5, source.choice([0, 0, 0, 1, 16]), source.choice([0, 0, 0, 1, 8])
    tall, wide = (columns, rows) if turned else (rows, columns)
    found = torch.zeros(offset + tall * (wide + gap), dtype=kind)[offset:].as_strided((tall, wide), (wide + gap, 1))
    return found.t() if turned else found


@pytest.mark.parametrize("seed", range(20))
def test_moved_launches_are_those_of_the_addresses(torch, seed):
    source = random.Random(seed)
    m, n, k = (source.choice([1, 7, 64, 256, 257, 1000, 4096]) for _ in range(3))
    k = source.choice([k, 40_000])
    kind = source.choice([torch.float32, torch.float32, torch.float16, torch.bfloat16, torch.float8_e4m3fn])
    a, b = laid(torch, source, m, k, kind), laid(torch, source, k, n, kind)
    d = torch.zeros(m, n + source.choice([0, 1]), dtype=torch.bfloat16 if kind.itemsize == 1 else kind)[:, :n]
    (read_a, left), (read_b, right) = asking.lying(a, 1), asking.lying(b, 0)
    plan = plan_for(asking.request_of(torch, read_a, read_b, d, "vendor", source.random() < 0.2))
    ledger, sides = Ledger(torch, BUFFER, ZEROS), (m, n, k)
    there, _ = launches_of(ledger, plan, left, right, row_major(d), sides, 0)
    moved = Chain(torch, plan, left, right, row_major(d), sides, 0)
    assert (moved.buffer_bytes, moved.zero_bytes) == (ledger.bytes["empty"], ledger.bytes["zeros"])
    launched = []
    for launch in moved.launches:
        launch.put = lambda launch=launch: launched.append(launch.config.stream) or 0
    tensors, elsewhere = [each.data_ptr() & -16 for each in (read_a, read_b, d)], [0x1000, 0x2000, 0x3000]
    buffers, others = [BUFFER, ZEROS], [0x4000, 0x5000]
    ways = ([*elsewhere, *others], [*elsewhere, *buffers]), ([*elsewhere, *others], [*tensors, *others])
    for stream, first in enumerate(ways[seed % 2], 7):  # elsewhere first, so that a word left behind is seen
        moved(first, stream)
    moved([*tensors, *buffers], 9)
    assert launched == [stream for stream in (7, 8, 9) for _ in there]
    assert len(there) == len(moved.launches)
    for one, other in zip(there, moved.launches, strict=True):
        assert [bytes(each) for each in one.arguments] == [bytes(each) for each in other.arguments]
        assert one.config.grid_x == other.config.grid_x


@pytest.mark.parametrize("kind", ["bfloat16", "float32"])
@pytest.mark.parametrize("past", [0, 1])
def test_moved_launches_of_a_batch_are_those_of_the_addresses(torch, kind, past):
    """One launch of all, repacked before where they are off the road; maps of three axes hold addresses too."""
    kind = getattr(torch, kind)
    a, b, d = (
        torch.zeros(past + 7 * rows * columns, dtype=kind)[past:].view(7, rows, columns)
        for rows, columns in ((40, 64), (64, 24), (40, 24))
    )
    plan = plan_for(asking.request_of(torch, a, b, d, "vendor", False))
    assert plan.batched
    operands = asking.lies(a, 1), asking.lies(b, 0), row_major(d)
    there, _ = launches_of(Ledger(torch, BUFFER, ZEROS), plan, *operands, (40, 24, 64), 0)
    moved = Chain(torch, plan, *operands, (40, 24, 64), 0)
    for launch in moved.launches:
        launch.put = lambda: 0
    moved((0x1000, 0x2000, 0x3000, 0x4000, 0x5000), 7)
    moved((*(each.data_ptr() & -16 for each in (a, b, d)), BUFFER, ZEROS), 7)
    assert len(there) == len(moved.launches) == 1 + (past == 1 and kind == torch.bfloat16)
    for one, other in zip(there, moved.launches, strict=True):
        assert [bytes(each) for each in one.arguments] == [bytes(each) for each in other.arguments]


class Interrupted(tuple):
    """Places of which the third one is never told."""

    def __getitem__(self, at):
        if at == 2:
            raise KeyboardInterrupt
        return super().__getitem__(at)


def test_what_an_interruption_left_half_moved_is_moved_whole(torch):
    a, b, d = (torch.zeros(64, 64, dtype=torch.bfloat16) for _ in range(3))
    request = asking.request_of(torch, a, b, d, "vendor", False)
    (_, left), (_, right) = asking.lying(a, 1), asking.lying(b, 0)
    moved = Chain(torch, plan_for(request), left, right, row_major(d), (64, 64, 64), 0)
    for launch in moved.launches:
        launch.put = lambda: 0
    before, other = (0x1000, 0x2000, 0x3000, BUFFER, ZEROS), (0x5000, 0x6000, 0x7000, BUFFER, ZEROS)
    moved(before, 7)
    told = [bytes(each) for launch in moved.launches for each in launch.arguments]
    with pytest.raises(KeyboardInterrupt):
        moved(Interrupted(other), 7)
    assert [bytes(each) for launch in moved.launches for each in launch.arguments] != told
    moved(before, 7)
    assert [bytes(each) for launch in moved.launches for each in launch.arguments] == told


@given(st.lists(st.tuples(st.integers(0, chain.BASES - 1), st.integers(-(1 << 20), 1 << 40)), max_size=6))
def test_addresses_are_found_among_other_words(held):
    words = [word for base, past in held for word in (stand_in(0, base) + past, 77)]
    also = [word for base, past in held for word in (stand_in(1, base) + past, 77)]
    one, other = (b"".join(word.to_bytes(8, "little") for word in each) for each in (words, also))
    assert addresses(one, other) == [(16 * at, base, past) for at, (base, past) in enumerate(held)]


def test_an_argument_that_holds_no_address_as_it_is_cannot_be_moved():
    for one, other in ((stand_in(0, 1) >> 4, stand_in(1, 1) >> 4), (stand_in(0, 1), stand_in(1, 2)), (1, 2)):
        with pytest.raises(ImmovableError):
            addresses(one.to_bytes(8, "little"), other.to_bytes(8, "little"))
    with pytest.raises(ImmovableError):
        addresses(b"\1\0\0\0", b"\2\0\0\0")
