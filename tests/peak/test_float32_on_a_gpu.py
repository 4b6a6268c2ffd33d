"""float32 as two float16 on a Hopper GPU: the pieces have the bits of `split_parts`, however operands lie."""

import random

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch")
if not torch.cuda.is_available() or torch.cuda.get_device_capability() != (9, 0):
    pytest.skip("no Hopper GPU is here", allow_module_level=True)
pytestmark = pytest.mark.gpu

LENGTHS = [1, 2, 3, 7, 64, 65, 129, 255, 500, 513, 1000, 1024, 2047, 4096, 4099, 8192, 16_384, 20_001]
KINDS = {
    "normal": lambda x: x,
    "wide": lambda x: x * torch.exp2(torch.randint(-9, 9, x.shape, device="cuda").float()),
    "tiny": lambda x: x * 2.0**-130,
    "huge": lambda x: x * 2.0**124,
    "zeros": lambda x: x * (torch.rand(x.shape, device="cuda") < 0.1),
}


def laid(source, rows, k, kind):
    """Rows of k numbers along k or along their side, with a gap and an offset."""
    turned, gap, offset = source.random() < 0.5, source.choice([0, 0, 1, 2, 3, 8]), source.choice([0, 0, 1, 2, 3, 4])
    tall, wide = (k, rows) if turned else (rows, k)
    memory = KINDS[kind](torch.randn(offset + tall * (wide + gap), device="cuda"))
    found = memory[offset:].as_strided((tall, wide), (wide + gap, 1))
    return found.t() if turned else found


def pieces(a, b):
    """For A and for B, both of rows along k: high parts, low parts, what lies behind k, inverse scales, refusals."""
    from gemmlab.peak.float32 import split
    from gemmlab.peak.stored import stored

    k = a.shape[1]
    made = split(stored(a, 1), stored(b, 1), k, torch, 0)
    made.buffer.fill_(0x55)
    made.launch(torch.cuda.current_stream().cuda_stream)

    def at(address, count, kind):
        first = address - made.buffer.data_ptr()
        return made.buffer[first : first + count * kind.itemsize].view(kind)

    told = made.refused[0]
    for x, there, scale in ((a, made.a, made.scales[0]), (b, made.b, made.scales[1])):
        rows = x.shape[0]
        both = at(there.address, rows * 2 * made.apart, torch.float16).view(rows, 2, made.apart)
        yield (
            both[:, 0, :k],
            both[:, 1, :k],
            both[:, :, k:],
            at(scale, rows, torch.float32),
            at(told, rows, torch.uint8),
        )
        told += rows


def bits(tensor):
    return tensor.cpu().contiguous().numpy().tobytes()


@pytest.mark.parametrize("seed", range(60))
def test_pieces_have_the_bits_of_the_reference(seed):
    from gemmlab.peak.bits import split_parts
    from gemmlab.record import GemmlabError

    source = random.Random(seed)
    torch.manual_seed(seed)
    k, kind = source.choice(LENGTHS), source.choice(list(KINDS))
    a, b = (laid(source, source.choice([1, 2, 5, 31, 33, 64, 130]), k, kind) for _ in range(2))
    odd = source.choice([None, float("inf"), float("-inf"), float("nan"), 1e-30, 1e38])
    if odd is not None:
        a[source.randrange(a.shape[0]), source.randrange(k)] = odd
    for x, (high, low, behind, inverse, refused) in zip((a, b), pieces(a, b), strict=True):
        rows = x.cpu().numpy()
        for row in range(rows.shape[0]):
            try:
                parts = split_parts(rows[row : row + 1])
            except GemmlabError:
                assert refused[row] == 1
                continue
            assert refused[row] == 0
            for found, part in zip((high, low, inverse), parts, strict=True):
                assert bits(found[row : row + 1]) == part.tobytes()
        assert not behind.view(torch.int16).any()


def test_what_is_refused_goes_another_way_wherever_it_lies():
    from gemmlab import matmul

    for rows in (1, 16, 17, 300, 1030):
        for at in {0, rows // 2, rows - 1}:
            a, b = torch.randn(rows, 100, device="cuda"), torch.randn(100, 40, device="cuda")
            a[at, 50] = 1e-30
            a[at] *= 1e20
            exact = a.double() @ b.double()
            bound = 1e-5 * (a.double().abs() @ b.double().abs())
            for left, right, told, limit in ((a, b, exact, bound), (b.t(), a.t(), exact.t(), bound.t())):
                assert ((matmul(left, right).double() - told).abs() <= limit).all()


def test_buffers_that_the_next_call_writes_while_the_last_one_reads():
    """Many calls in a row in the same memory, each started early: every one has its own operands' result."""
    from gemmlab import matmul

    operands = [(torch.randn(512, 700, device="cuda"), torch.randn(700, 300, device="cuda")) for _ in range(3)]
    told = [matmul(a, b) for a, b in operands]
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = [matmul(*operands[at % 3]) for at in range(60)]
    for _ in range(5):
        graph.replay()
    torch.cuda.synchronize()
    assert all(torch.equal(each, told[at % 3]) for at, each in enumerate(found))


def test_a_refused_row_changes_no_other_result():
    from gemmlab import matmul

    a, b = torch.randn(200, 128, device="cuda"), torch.randn(128, 150, device="cuda")
    before = matmul(a, b, deterministic=True)
    a[70, 3], b[5, 100] = float("inf"), 1e-33
    after = matmul(a, b, deterministic=True)
    same = torch.ones_like(before, dtype=torch.bool)
    same[70], same[:, 100] = False, False
    assert torch.equal(after[same], before[same])
    assert not after[70].isfinite().any()
    assert torch.allclose(after[:70, 100], (a.double() @ b.double())[:70, 100].float(), rtol=1e-4, atol=1e-4)
