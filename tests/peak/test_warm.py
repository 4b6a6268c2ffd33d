"""What is kept for a geometry, on a driver in words: where its launches go, and what is not kept."""

from types import SimpleNamespace

import pytest
from tests.peak.driver_in_words import in_words

from gemmlab.peak import warm as module
from gemmlab.peak.choosing import plan_for
from gemmlab.peak.warm import warm
from gemmlab.peak.zeros import LINE, RESERVED_BYTES, Zeros
from gemmlab.record import GemmlabError


@pytest.fixture
def torch(monkeypatch):
    with in_words(monkeypatch) as found:
        monkeypatch.setattr(module, "chosen", lambda request, device: plan_for(request))
        yield found


def kept(torch, a, b, d, *, operands=None):
    """What is kept, and the places and streams of its launches."""
    found = warm(torch, (a, b, d), operands or (a, b, d), "vendor", False)
    if found is None:
        return None, []
    calls = []

    class Chain:
        def __init__(self, chain):
            self.buffer_bytes, self.zero_bytes = chain.buffer_bytes, chain.zero_bytes

        def __call__(self, places, stream):
            calls.append((places[:3], stream))

    found.chains = [Chain(chain) for chain in found.chains]
    return found, calls


def matrices(torch, *sides, kind="bfloat16"):
    return torch.zeros(sides, dtype=getattr(torch, kind))


def test_one_launch_at_the_addresses_that_are_given(torch):
    a, b, d = matrices(torch, 64, 72), matrices(torch, 72, 80), matrices(torch, 64, 80)
    found, calls = kept(torch, a, b, d)
    assert found(a, b, d, a.data_ptr(), b.data_ptr(), d.data_ptr()) is d
    assert calls == [((a.data_ptr(), b.data_ptr(), d.data_ptr()), 7)]
    new = found(a, b, None, 4096, 8192, 0)
    assert (new.shape, new.dtype, new.stride()) == (d.shape, d.dtype, d.stride())
    assert calls[1][0] == (4096, 8192, new.data_ptr())


def test_a_result_over_an_operand_is_asked_about(torch, monkeypatch):
    a, b, d = matrices(torch, 64, 64), matrices(torch, 64, 64), matrices(torch, 64, 64)
    found, calls = kept(torch, a, b, d)

    def refused(*tensors):
        raise GemmlabError("out overlaps a")

    monkeypatch.setattr(module, "asked", refused)
    size = 64 * 64 * 2
    for at_a, at_b in ((4096 - size + 2, 1 << 20), (1 << 20, 4096 + size - 2), (4096, 1 << 20)):
        with pytest.raises(GemmlabError, match="overlaps"):
            found(a, b, d, at_a, at_b, 4096)
    found(a, b, d, 4096 - size, 4096 + size, 4096)
    assert len(calls) == 1


@pytest.mark.parametrize("own", ["this torch's", "one tensor", "nothing done", None])
@pytest.mark.parametrize("inference", [False, True])
def test_versions_are_counted_up_by_any_torch(torch, own, inference):
    real = pytest.importorskip("torch")
    ways = {"this torch's": real._C._increment_version, "one tensor": lambda tensor: tensor.add_(0)}
    torch._C = SimpleNamespace(_increment_version=ways.get(own, lambda tensors: None)) if own else SimpleNamespace()
    one, other = real.zeros(3), real.zeros(4).requires_grad_()
    with real.inference_mode(inference):
        written = module.marker(torch)
    written((one, other.detach()[:2]))
    assert (one._version, other._version) == (1, 1)
    assert (written is real._C._increment_version) == (own == "this torch's")
    with real.inference_mode():
        written((real.zeros(3),))  # which has no version


def test_a_batch_one_by_one_by_as_many_chains_as_alignments(torch, monkeypatch):
    monkeypatch.setattr(module, "whole_plan", lambda request, choose: None)
    a, b, d = matrices(torch, 9, 5, 7), matrices(torch, 9, 7, 3), matrices(torch, 9, 5, 3)
    found, calls = kept(torch, a, b, d)
    assert (found.count, len(found.chains)) == (9, 8)  # 70, 42 and 30 bytes apart: after 8 matrices alignments repeat
    found(a, b, d, a.data_ptr(), b.data_ptr(), d.data_ptr())
    assert [places for places, _ in calls] == [
        tuple(each[at].data_ptr() & -16 for each in (a, b, d)) for at in range(9)
    ]


def test_a_batch_with_one_b_is_one_multiplication(torch, monkeypatch):
    monkeypatch.setattr(module, "whole_plan", lambda request, choose: None)
    a, b, d = matrices(torch, 9, 5, 8), matrices(torch, 8, 16).expand(9, 8, 16), matrices(torch, 9, 5, 16)
    found, calls = kept(torch, a, b, d)
    found(a, b, d, a.data_ptr(), b.data_ptr(), d.data_ptr())
    assert (found.count, len(calls)) == (1, 1)
    apart = matrices(torch, 9, 6, 8)[:, :5]  # rows of one matrix and of the next are not equally far apart
    assert kept(torch, apart, b, d)[0].count == 9


def test_what_must_be_copied_is_not_kept(torch):
    a, b, d = matrices(torch, 64, 128)[:, ::2], matrices(torch, 64, 64), matrices(torch, 64, 64)
    assert kept(torch, a, b, d)[0] is None
    assert kept(torch, b, b, d, operands=(b.clone(), b, d))[0] is None
    eight = matrices(torch, 64, 64, kind="float8_e4m3fn")
    assert kept(torch, eight, eight, d)[0] is None  # B's rows run along n
    assert kept(torch, eight, eight.t(), d)[0] is not None


def test_zeros_of_a_stream_grow_and_those_of_graphs_are_used_once(torch):
    zeros = Zeros(torch, 0)
    first, other = (zeros.lent(stream, 100)[1] for stream in (7, 8))
    assert first != other
    assert zeros.lent(7, 60_000)[1] == first
    grown, _ = zeros.lent(7, 70_000)
    assert grown.numel() >= 70_000
    torch.cuda.is_current_stream_capturing = lambda: True
    reserve = zeros.reserves[-1][1]
    assert [zeros.lent(7, 100)[1] - reserve for _ in range(3)] == [0, LINE, 2 * LINE]
    own, address = zeros.lent(7, RESERVED_BYTES)
    assert own is not zeros.reserves[-1][0]
    assert address == own.data_ptr()
    zeros.lent(7, RESERVED_BYTES // 2)
    torch.cuda.is_current_stream_capturing = lambda: False
    zeros.lent(7, 100)
    torch.cuda.is_current_stream_capturing = lambda: True
    assert zeros.lent(7, 100)[1] == zeros.reserves[1][1]  # graphs before may count in the first


@pytest.fixture
def product(torch, monkeypatch):
    """`product` of tensors on the CPU, whose launches go nowhere, and what is kept of it."""
    from gemmlab.peak import asking, tensors

    def asked(torch, a, b, out):
        left, right, shape = asking.shapes(a, b)
        if out is not None and asking.overlap(out, a):
            raise GemmlabError("out overlaps a")
        d = torch.empty((*left.shape[:-1], right.shape[-1]), dtype=asking.result_type(torch, a, b, out))
        return left, right, shape, d if out is None or out.dim() != left.dim() or out.stride(-1) != 1 else out

    for part, name, value in (
        (tensors, "torch", torch),
        (tensors, "asked", asked),
        (module, "asked", asked),
        (tensors, "chosen", lambda request, device: plan_for(request)),
        (tensors, "_kept", tensors.Kept()),
    ):
        monkeypatch.setattr(part, name, value)
    return tensors, lambda a, b, out=None: tensors.product(a, b, out, "vendor", False)


@pytest.mark.parametrize("kind", ["bfloat16", "float32"])
def test_a_product_is_kept_by_geometry(torch, product, kind):
    tensors, multiply = product
    a, b, out = (matrices(torch, *sides, kind=kind) for sides in ((300, 400), (400, 500), (300, 500)))
    first, second = multiply(a, b), multiply(a.clone(), b.clone())
    assert first.shape == second.shape == (300, 500)
    assert first.data_ptr() != second.data_ptr()
    assert len(tensors._kept.warm) == 1
    version = out._version
    for _ in range(2):
        assert multiply(a, b, out) is out
    assert out._version == version + 2
    assert len(tensors._kept.warm) == 2
    memory = matrices(torch, 200_000, kind=kind)
    with pytest.raises(GemmlabError, match="overlaps"):
        multiply(memory[:120_000].view(300, 400), b, memory[50_000:].view(300, 500))
    assert len(tensors._kept.warm) == 2
    multiply(a[:, 8:].as_strided((300, 392), (400, 1), 1), b[:392])  # another alignment
    assert len(tensors._kept.warm) == 3
    kept_then = list(tensors._kept.warm.values())
    tensors.forget()
    multiply(a, b)
    assert len(tensors._kept.warm) == 3
    assert list(tensors._kept.warm.values()) != kept_then


@pytest.fixture
def guards(torch):
    """Torch's own guards of tensors."""
    found = pytest.importorskip("torch._C._dynamo.guards")
    torch._C._dynamo = SimpleNamespace(guards=SimpleNamespace(TensorGuards=found.TensorGuards))


@pytest.mark.parametrize("given", [False, True])
def test_a_guess_by_the_address_of_b_is_held_against_all_else(torch, product, guards, monkeypatch, given):
    tensors, _ = product
    b, out = matrices(torch, 40, 48), matrices(torch, 30, 48) if given else None
    used, call = [], module.Warm.__call__
    monkeypatch.setattr(module.Warm, "__call__", lambda self, *of: used.append(self) or call(self, *of))

    def multiplied(a, b, out=out, accuracy="vendor", deterministic=False):
        before = len(used)
        tensors.product(a, b, out, accuracy, deterministic)
        assert len(used) == before + 1
        return used[-1]

    first = multiplied(matrices(torch, 30, 40), b)
    multiplied(matrices(torch, 30, 40), b)
    assert list(tensors._kept.guessed.values()) == [first]
    monkeypatch.setattr(tensors._kept, "warm", {})
    assert multiplied(matrices(torch, 30, 40), b) is first  # nothing but the guess is left of it
    others = {
        "rows further apart": (matrices(torch, 30, 48)[:, :40], b),
        "further on": (matrices(torch, 1300)[1:1201].view(30, 40), b),
        "turned": (matrices(torch, 40, 30).t(), b),
        "to be negated": (torch._neg_view(matrices(torch, 30, 40)), b),
        "of another type": (matrices(torch, 30, 40, kind="float16"), b.view(torch.float16)),
        "fewer": (matrices(torch, 30, 24), b[:24]),
    }
    if not given:
        others["fewer rows"] = (matrices(torch, 29, 40), b)
        others["a batch"] = (matrices(torch, 2, 30, 40), b.expand(2, 40, 48))
    for name, (left, right) in others.items():
        into = torch.zeros((30, 48), dtype=left.dtype) if given else None
        found = multiplied(left, right, into)
        assert found is not first, name
        assert found.result[0] == (*left.shape[:-1], 48)
    a = matrices(torch, 30, 40)
    assert multiplied(a, b, accuracy="best") is not first
    assert multiplied(a, b, deterministic=True) is not first
    if given:
        assert multiplied(a, b, matrices(torch, 1441)[1:].view(30, 48)) is not first
    assert multiplied(a, b, None if given else matrices(torch, 30, 48)) is not first
    tensors.forget()
    again = multiplied(a, b)
    assert again is not first
    assert multiplied(a, b) is again


def test_guesses_are_few(torch, product, guards, monkeypatch):
    tensors, multiply = product
    monkeypatch.setattr(tensors, "KEPT", 3)
    a, memory = matrices(torch, 30, 40), matrices(torch, 4000)
    for at in range(0, 80, 8):
        multiply(a, memory[at : at + 40 * 48].view(40, 48))
        assert len(tensors._kept.guessed) <= 3
    assert tensors._kept.guessed


def test_what_is_kept_of_copies_is_theirs(torch, product):
    """An operand of other strides, a result of other ones: copied at each call, multiplied by what is kept."""
    tensors, multiply = product
    a, b = matrices(torch, 30, 40), matrices(torch, 40, 50)
    turned = matrices(torch, 50, 30).t()
    assert multiply(a, b, turned) is turned
    spread, out = matrices(torch, 30, 80)[:, ::2], matrices(torch, 30, 50)
    assert multiply(spread, b, out) is out
    assert out._version == 1
    assert [(key[1], key[7], key[15]) for key in tensors._kept.warm] == [((40, 1), (50, 1), (50, 1))]
    heads = matrices(torch, 2, 30, 3, 40).transpose(1, 2)  # which no single axis of matrices is left of
    for _ in range(2):
        assert multiply(heads, heads.mT).shape == (2, 3, 30, 30)
    found = [key for key in tensors._kept.warm if len(key[0]) == 3]
    assert [(tuple(key[0]), key[1]) for key in found] == [((6, 30, 40), (1200, 40, 1))]


def test_what_cannot_be_moved_is_made_at_each_call(torch, product, monkeypatch):
    tensors, multiply = product
    monkeypatch.setattr(tensors, "warm", lambda *of: None)
    made = []
    monkeypatch.setattr(tensors, "one_by_one", lambda *of: made.append([tuple(each.shape) for each in of[:3]]))
    a, b = matrices(torch, 30, 40), matrices(torch, 40, 50)
    assert multiply(a, b).shape == (30, 50)
    assert multiply(matrices(torch, 30, 80)[:, ::2], b).shape == (30, 50)
    assert made == [[(30, 40), (40, 50), (30, 50)]] * 2


def test_products_that_are_not_kept(torch, product):
    tensors, multiply = product
    a, b = matrices(torch, 30, 40), matrices(torch, 40, 50)
    empty = matrices(torch, 0, 50)
    assert multiply(a[:0], b, empty) is empty
    assert multiply(a[:, :0], b[:0]).shape == (30, 50)
    assert not tensors._kept.warm
    batch = multiply(matrices(torch, 2, 3, 30, 40), b)
    assert batch.shape == (2, 3, 30, 50)
    assert len(tensors._kept.warm) == 1
