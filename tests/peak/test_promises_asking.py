"""What is held of requests without a GPU: which tensors share memory, how axes fold, and sides that are too long."""

import random

import pytest

from gemmlab.record import GemmlabError

torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch")


def addresses(tensor):
    """Of every byte of a matrix."""
    size, (down, along) = tensor.element_size(), tensor.stride()
    return {
        tensor.data_ptr() + size * (row * down + column * along) + byte
        for row in range(tensor.shape[0])
        for column in range(tensor.shape[1])
        for byte in range(size)
    }


def drawn(source, memory):
    """A matrix anywhere in memory, of either of two formats."""
    kind, ld = source.choice([torch.bfloat16, torch.float32]), source.choice([5, 6, 10])
    rows, columns = source.randint(1, 4), source.randint(1, ld)
    found = memory.view(kind)[source.randint(0, 30) :].as_strided((rows, columns), (ld, 1))
    return found.t() if source.random() < 0.3 else found


def test_memory_that_is_shared_is_always_seen():
    from gemmlab.peak.asking import overlap

    source, memory, apart = random.Random(0), torch.zeros(400, dtype=torch.bfloat16), 0
    for _ in range(3000):
        first, second = drawn(source, memory), drawn(source, memory)
        said = overlap(first, second)
        assert said or not addresses(first) & addresses(second)
        apart += not said
    assert apart > 300


def test_columns_of_the_same_rows_are_apart():
    from gemmlab.peak.asking import overlap

    memory = torch.zeros(6, 20)
    assert not overlap(memory[:, :8], memory[:, 8:])
    assert not overlap(memory[:, 8:].t(), memory[1:, :8])
    assert overlap(memory[:, :9], memory[:, 8:])
    assert overlap(memory[:, :8], memory)


@pytest.mark.parametrize(
    ("a", "b", "rows"),
    [
        ((2, 3, 0), (0, 5), (6, 0)),
        ((2, 0, 4), (4, 5), (0, 4)),
        ((2, 0, 4), (2, 4, 5), (2, 0, 4)),
        ((2, 3, 4), (4, 5), (6, 4)),
    ],
)
def test_axes_without_elements_fold_too(a, b, rows):
    from gemmlab.peak.asking import shapes

    left, _, shape = shapes(torch.zeros(a), torch.zeros(b))
    assert left.shape == rows
    assert shape == (torch.zeros(a) @ torch.zeros(b)).shape


def test_sides_are_looked_at_after_folding():
    from gemmlab.peak.asking import shapes

    for a, b in (((65536, 40000, 1), (1, 1)), ((1, 1 << 31), (1 << 31, 1)), ((1, 1), (1, (1 << 31) - 1))):
        with pytest.raises(GemmlabError, match="has a side of"):
            shapes(torch.empty(a, device="meta"), torch.empty(b, device="meta"))


def test_rows_that_end_inside_16_bytes_are_not_for_the_copy_engine_to_write():
    """It rounds the end of a row up, with zeros: they would lie beside D."""
    from gemmlab.peak.stored import Stored

    def d(n, ld, size=2):
        return Stored(address=1 << 20, rows=64, columns=n, ld=ld, element_bytes=size, along_k=True)

    assert d(248, 256).written_on_road
    assert d(255, 256).on_road
    assert not d(255, 256).written_on_road
    assert not d(1, 8).written_on_road
    assert d(4, 8, size=4).written_on_road
