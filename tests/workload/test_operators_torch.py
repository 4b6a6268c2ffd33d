"""Operators against PyTorch: its schemas, its own count of FLOP, and products really made from the told layout."""

import contextlib
import functools
import importlib
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gemmlab.workload import Operation, Settings, Tensor, UnreadableError, products
from gemmlab.workload.operators.names import UNREADABLE, canonical
from gemmlab.workload.operators.table import OPERATORS, VARIANTS

torch = pytest.importorskip("torch", reason="PyTorch is missing: pip install torch")
dispatch = pytest.importorskip("torch.utils._python_dispatch")
flop_counter = pytest.importorskip("torch.utils.flop_counter")
functional = torch.nn.functional
aten = torch.ops.aten


def schemas():
    """Parameter names of every overload that PyTorch has, by operator."""
    with contextlib.suppress(ImportError):
        importlib.import_module("torch.nn.attention.varlen")  # registers its own

    found = {}
    for schema in torch._C._jit_get_all_schemas():
        found.setdefault(schema.name, []).append([argument.name for argument in schema.arguments])
    return found


def follows(parameters, schema):
    """Whether the parameters stand at their positions in a schema that goes on after them."""
    return len(parameters) <= len(schema) and all(a in (b, "-") for a, b in zip(parameters, schema, strict=False))


#: parameters of overloads that older versions lack
ASKED = {"aten::mm": "out_dtype", "aten::bmm": "out_dtype"}


def test_parameters_are_those_of_the_schemas():
    known = schemas()
    checked = 0
    for name, operator in OPERATORS.items():
        if name not in known:
            continue
        main = [each for each in operator.parameters.split() if each != ASKED.get(name)]
        older = VARIANTS[name][1].split() if name in VARIANTS else main
        found = [any(follows(parameters, each) for each in known[name]) for parameters in (main, older)]
        assert any(found), (name, main, known[name])
        checked += 1
    assert checked > 80
    assert all(name in known for name in UNREADABLE if name.startswith("aten::_sparse_semi"))


@pytest.mark.skipif(torch.__version__ < "2.13", reason="older versions lack overloads")
def test_overloads_are_those_of_the_schemas():
    known = schemas()
    former = {"aten::_scaled_mm"} | {name for name in VARIANTS if "cudnn_attention" in name}
    for name, (_, parameters) in VARIANTS.items():
        if name in known:
            assert name in former or any(follows(parameters.split(), each) for each in known[name]), name
            assert any(follows(OPERATORS[name].parameters.split(), each) for each in known[name]), name


def described(value):
    """A tensor, a list or a number as an Operation holds it."""
    if isinstance(value, torch.Tensor):
        format = str(value.dtype).removeprefix("torch.")
        return Tensor(tuple(value.shape), format, tuple(value.stride()), value.storage_offset() * value.element_size())
    if isinstance(value, list | tuple):
        return [described(each) for each in value]
    if isinstance(value, torch.dtype):
        return str(value).removeprefix("torch.")
    return value


def operation_of(func, args, kwargs, result):
    rest = [kwargs.get(each.name, each.default_value) for each in func._schema.arguments[len(args) :]]
    outputs = [result] if isinstance(result, torch.Tensor) else result
    told = tuple(described(each) for each in outputs if isinstance(each, torch.Tensor))
    return Operation(func._schema.name, tuple(described(each) for each in [*args, *rest]), told)


class Recorder(dispatch.TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        self.calls.append((func, args, kwargs or {}, result))
        return result


def record(function):
    with Recorder() as recorder:
        function()
    return recorder.calls


def flop_of(operation):
    return sum(product.problem.flop for product in products(operation, Settings()) or ())


def counted(func, args, kwargs, result):
    """FLOP by PyTorch's own formula; None where it has none."""
    formula = flop_counter.flop_registry.get(func.overloadpacket)
    return None if formula is None else formula(*args, **kwargs, out_val=result)


def agree(function):
    """Run a function; each of its operators that PyTorch counts must have that count here. Returns all of them."""
    total = 0
    for func, args, kwargs, result in record(function):
        expected = counted(func, args, kwargs, result)
        if expected is not None:
            assert flop_of(operation_of(func, args, kwargs, result)) == expected, (func, expected)
            total += expected
    return total


sizes = st.integers(1, 6)


@st.composite
def views(draw, rows, columns, batch=()):
    """A tensor that is some view of memory: transposed, with gaps, every other element, or repeated."""
    kind = draw(st.sampled_from(["plain", "transposed", "gap", "transposed gap", "every other", "repeated"]))
    flip = kind.startswith("transposed")
    down, across = (columns, rows) if flip else (rows, columns)
    if kind == "repeated":
        return torch.randn(*batch, 1, across, dtype=torch.float64).expand(*batch, down, across)
    gap, lead = draw(st.integers(1, 4)) if "gap" in kind else 0, draw(st.integers(0, 3))
    step = 2 if kind == "every other" else 1
    base = torch.randn(*batch, down + lead, (across + gap) * step, dtype=torch.float64)
    view = base[..., lead:, : across * step : step]
    return view.mT if flip else view


def as_told(letter, rows, columns, leading, offset, held):
    """The matrix that the told layout reads from the operand's memory."""
    strides = (leading, 1) if letter == "n" else (1, leading)
    return torch.as_strided(held, (rows, columns), strides, offset)


def readable(view):
    """Whether a GEMM can read the strides: one is 1, and rows do not overlap. A side of 1 has no stride."""
    (rows, columns), (down, across) = view.shape, view.stride()
    if rows == 1 or columns == 1:
        return (down if columns == 1 else across) > 0 or rows == columns == 1
    return (across == 1 and down >= columns) or (down == 1 and across >= rows)


@settings(max_examples=150)
@given(st.data(), sizes, sizes, sizes)
def test_the_told_layout_reads_the_operands(data, m, n, k):
    a, b = data.draw(views(m, k)), data.draw(views(k, n))
    ((func, args, kwargs, result),) = [each for each in record(lambda: torch.mm(a, b)) if each[0] is aten.mm.default]
    (product,) = products(operation_of(func, args, kwargs, result), Settings())
    problem = product.problem
    assert (problem.m, problem.n, problem.k) == (m, n, k)
    sides = (
        (a, problem.layout[0], m, k, problem.lda, problem.a_offset_bytes),
        (b, problem.layout[1], k, n, problem.ldb, problem.b_offset_bytes),
    )
    read = []
    for view, letter, rows, columns, leading, offset in sides:
        copied = not readable(view)
        held = view.contiguous() if copied else view
        start = held.storage_offset()
        assert offset == (0 if copied else start * 8 % 256)
        read.append(as_told(letter, rows, columns, leading, start, held))
    torch.testing.assert_close(read[0] @ read[1], result)
    assert (problem.m * problem.ldc, problem.ldc) == (result.numel(), n)
    assert problem.compulsory_bytes == 8 * (m * k + k * n + m * n)


def matrix_read(matrix, letter, leading, start, held):
    """What the told layout reads of a matrix that is a view of memory, or of PyTorch's copy of one that is not."""
    rows, columns = matrix.shape
    if matrix.data_ptr() != held.data_ptr() or not readable(matrix):
        held = matrix.contiguous()
        start = held.storage_offset()
    return as_told(letter, rows, columns, leading, start, held)


@settings(max_examples=100)
@given(st.lists(sizes, min_size=2, max_size=4), st.lists(sizes, max_size=2), st.integers(1, 2), st.data())
def test_the_told_layout_reads_what_is_folded(left, right, count, data):
    """Axes of a tensor that is permuted, as tensordot merges them."""
    order = data.draw(st.permutations(range(len(left))))
    a = torch.randn([left[axis] for axis in order]).permute([order.index(axis) for axis in range(len(left))])
    over = sorted(data.draw(st.permutations(range(len(left))))[:count])
    b = torch.randn([left[axis] for axis in over] + right)
    told = Operation("aten::tensordot", (described(a), described(b), over, list(range(len(over)))))
    (product,) = products(told, Settings())
    problem, free = product.problem, [axis for axis in range(a.dim()) if axis not in over]
    first = a.permute([*free, *over]).reshape(problem.m, problem.k)
    second = b.reshape(problem.k, problem.n)
    read = (
        matrix_read(first, problem.layout[0], problem.lda, a.storage_offset(), a),
        matrix_read(second, problem.layout[1], problem.ldb, b.storage_offset(), b),
    )
    torch.testing.assert_close(read[0] @ read[1], first @ second)


@settings(max_examples=60)
@given(sizes, sizes, sizes, st.sampled_from(["row", "whole", "column", "none"]))
def test_bytes_are_those_of_the_tensors(m, n, k, kind):
    a, b = torch.randn(m, k), torch.randn(k, n)
    added = {"row": torch.randn(n), "whole": torch.randn(m, n), "column": torch.randn(m, 1), "none": torch.randn(n)}[
        kind
    ]
    beta = 0 if kind == "none" else 1
    ((func, args, kwargs, result),) = record(lambda: torch.addmm(added, a, b, beta=beta))
    (product,) = products(operation_of(func, args, kwargs, result), Settings())
    row = kind == "row" or (kind == "whole" and m == 1) or (kind == "column" and n == 1 and m == 1)
    plus = {"row": n, "whole": m * n, "column": m * n, "none": 0}[kind]  # a column is copied into the result first
    assert product.problem.compulsory_bytes == 4 * (m * k + k * n + plus + m * n)
    assert (product.problem.epilogue == "bias") == row


@settings(max_examples=60)
@given(st.data(), sizes, sizes, sizes, sizes)
def test_fixed_operators(data, batch, m, n, k):
    a, b = data.draw(views(m, k)), data.draw(views(k, n))
    stack, others = data.draw(views(m, k, (batch,))), data.draw(views(k, n, (batch,)))
    assert agree(lambda: torch.mm(a, b)) == 2 * m * n * k
    assert agree(lambda: torch.addmm(torch.ones(n).double(), a, b)) == 2 * m * n * k
    assert agree(lambda: torch.bmm(stack, others)) == 2 * batch * m * n * k
    assert agree(lambda: torch.baddbmm(torch.ones(batch, m, n).double(), stack, others)) == 2 * batch * m * n * k
    assert agree(lambda: functional.linear(stack, b.mT, torch.ones(n).double())) == 2 * batch * m * n * k


def whole(name, function, *inputs):
    """The FLOP of a composite operator by its own arguments, and those that PyTorch counts inside of it."""
    with flop_counter.FlopCounterMode(display=False) as counter:
        function()
    return flop_of(Operation(name, tuple(described(each) for each in inputs))), counter.get_total_flops()


@st.composite
def broadcasts(draw):
    batch = draw(st.lists(sizes, max_size=3))
    kept = [[size if draw(st.booleans()) else 1 for size in batch][draw(st.integers(0, len(batch))) :] for _ in "ab"]
    m, n, k = draw(sizes), draw(sizes), draw(sizes)
    return draw(views(m, k, tuple(kept[0]))), draw(views(k, n, tuple(kept[1])))


@settings(max_examples=80)
@given(broadcasts())
def test_matmul_is_what_it_becomes(pair):
    ours, theirs = whole("aten::matmul", lambda: torch.matmul(*pair), *pair)
    assert ours == theirs


EQUATIONS = (
    "ij,jk->ik", "ij,kj->ki", "bij,bjk->bik", "bhqd,bhkd->bhqk", "bhqk,bhkd->bqhd", "ijk,jil->kl", "i,j->ij", "ij,ij->",
    "ij,ij->i", "bi,oij,bj->bo", "abc,cde,be->ad", "...ij,...jk->...ik", "iij,jk->ik", "ij,jk,kl,lm->im", "ijk,kl->il",
    "bnd,de->bne", "btnh,bsnh->bnts", "ab,b->a", "ab->a",
)  # fmt: skip


@settings(max_examples=150)
@given(st.sampled_from(EQUATIONS), st.data())
def test_einsum_is_what_it_becomes(equation, data):
    lengths = {letter: data.draw(sizes, letter) for letter in sorted(set(equation) & set("abcdehijklmnopqst"))}
    hidden = data.draw(st.lists(sizes, max_size=2)) if "..." in equation else []
    operands = []
    for part in equation.partition("->")[0].split(","):
        head, _, tail = part.partition("...")
        shape = [lengths[x] for x in head] + (hidden if "..." in part else []) + [lengths[x] for x in tail]
        order = data.draw(st.permutations(range(len(shape))))
        stored = torch.randn([shape[axis] for axis in order])
        operands.append(stored.permute([order.index(axis) for axis in range(len(shape))]))
    path = None
    if len(operands) > 2 and data.draw(st.booleans()):
        path = []
        for left in range(len(operands), 1, -1):
            path += data.draw(st.permutations(range(left)))[:2]
    call = lambda: aten.einsum(equation, operands, path=path)  # noqa: E731
    ours, theirs = whole("aten::einsum", call, equation, operands, path)
    assert ours == theirs


@settings(max_examples=60)
@given(st.lists(sizes, min_size=1, max_size=4), st.lists(sizes, max_size=2), st.integers(0, 3), st.data())
def test_tensordot_is_what_it_becomes(left, right, count, data):
    over_a = data.draw(st.permutations(range(len(left))))[: min(count, len(left))]
    a, b = torch.randn(left), torch.randn([left[axis] for axis in over_a] + right)
    over_b = list(range(len(over_a)))
    ours, theirs = whole("aten::tensordot", lambda: torch.tensordot(a, b, (over_a, over_b)), a, b, over_a, over_b)
    rest = a.numel() * b.numel() // max(math.prod(left[axis] for axis in over_a), 1) ** 2
    assert ours == theirs or (rest == 1 and theirs == 0)  # what it makes then is dot, which PyTorch does not count


def run_inside(function):
    """FLOP of the products that a processor's kernel calls, which only the profiler sees."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True) as profile:
        function()
    shapes = [event.input_shapes for event in profile.events() if event.name == "aten::bmm"]
    return sum(2 * math.prod(a) * b[2] for a, b in (each[:2] for each in shapes))


@settings(max_examples=15)
@given(sizes, sizes, sizes, sizes, st.booleans())
def test_bilinear_is_what_it_becomes(rows, one, two, out, deep):
    lead = (rows, 2) if deep else (rows,)
    x, y, weight = (torch.randn(*shape, requires_grad=True) for shape in ((*lead, one), (*lead, two), (out, one, two)))
    told = Operation("aten::bilinear", tuple(described(each) for each in (x, y, weight)))
    assert flop_of(told) == run_inside(lambda: functional.bilinear(x, y, weight))
    calls = record(lambda: functional.bilinear(x, y, weight).sum().backward())
    inside = run_inside(lambda: functional.bilinear(x, y, weight).sum().backward())
    assert sum(flop_of(operation_of(*call)) for call in calls) == inside


@given(sizes, sizes, sizes)
def test_inner_is_what_it_becomes(rows, others, width):
    x, y = torch.randn(rows, 2, width), torch.randn(others, width)
    ours, theirs = whole("aten::inner", lambda: torch.inner(x, y), x, y)
    assert ours == theirs


def counts_all_pairs():
    """Whether this PyTorch counts every channel with every filter for a weight's gradient, whatever the groups."""
    image, weight = torch.empty(1, 2, 3, 3, device="meta"), torch.empty(2, 1, 3, 3, device="meta")
    gradient = torch.empty(1, 2, 1, 1, device="meta")
    args = (gradient, image, weight, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 2, [False, True, False])
    return counted(aten.convolution_backward.default, args, {}, aten.convolution_backward(*args)) == 2 * 2 * 2 * 9


COUNTS_ALL_PAIRS = counts_all_pairs()


@st.composite
def convolutions(draw):
    """Arguments of aten::convolution, with what channels and sizes fit."""
    dims, groups, transposed = draw(st.integers(1, 3)), draw(st.sampled_from([1, 1, 2, 3])), draw(st.booleans())
    inside, outside = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    stride, dilation = ([draw(st.integers(1, 3)) for _ in range(dims)] for _ in "sd")
    taps, padding = [draw(st.integers(1, 3)) for _ in range(dims)], [draw(st.integers(0, 2)) for _ in range(dims)]
    reach = [wide * (tap - 1) + 1 for wide, tap in zip(dilation, taps, strict=True)]
    if transposed:
        extra = [draw(st.integers(0, max(step, wide) - 1)) for step, wide in zip(stride, dilation, strict=True)]
        size = [draw(st.integers(1, 3)) + math.ceil(2 * pad / step) for pad, step in zip(padding, stride, strict=True)]
        weight = torch.randn(inside * groups, outside, *taps)
    else:
        extra = [0] * dims
        size = [max(need - 2 * pad, 1) + draw(st.integers(0, 4)) for need, pad in zip(reach, padding, strict=True)]
        weight = torch.randn(outside * groups, inside, *taps)
    image = torch.randn(draw(st.integers(1, 3)), inside * groups, *size)
    if dims == 2 and draw(st.booleans()):
        image = image.contiguous(memory_format=torch.channels_last)
    bias = torch.randn(outside * groups) if draw(st.booleans()) else None
    return image, weight, bias, stride, padding, dilation, transposed, extra, groups


@settings(max_examples=80)
@given(convolutions())
def test_convolutions_both_ways(arguments):
    image, weight, bias, *rest = arguments
    *_, transposed, _, groups = arguments
    result = aten.convolution(*arguments)
    operation = operation_of(aten.convolution.default, arguments, {}, result)
    expected = counted(aten.convolution.default, arguments, {}, result)
    assert flop_of(operation) == expected
    untold = Operation(operation.name, operation.inputs)
    assert flop_of(untold) == expected  # its result's shape follows from the arguments

    gradient = torch.randn_like(result)
    for mask in ([True, False, False], [False, True, False], [True, True, bias is not None]):
        sizes = None if bias is None else list(bias.shape)
        backward = (gradient, image, weight, sizes, *rest, mask)
        found = aten.convolution_backward(*backward)
        theirs = counted(aten.convolution_backward.default, backward, {}, found)
        read = products(operation_of(aten.convolution_backward.default, backward, {}, found), Settings())
        per_group = sum(product.problem.flop for product in read if product.convolution_pass == "wgrad")
        more = per_group * (groups - 1) if COUNTS_ALL_PAIRS else 0
        assert sum(product.problem.flop for product in read) + more == theirs
        for product in read:
            if product.convolution is not None and not transposed:
                assert product.convolution.output[-len(rest[0]) :] == tuple(result.shape[2:])


@settings(max_examples=60)
@given(convolutions())
def test_a_convolution_is_the_unfolded_product(arguments):
    image, weight, _, stride, padding, dilation, transposed, _, groups = arguments
    if transposed or image.dim() != 4:
        return
    (product,) = products(operation_of(aten.convolution.default, arguments, {}, ()), Settings())
    unfolded = functional.unfold(image, weight.shape[2:], dilation, padding, stride)
    assert product.problem.m == unfolded.shape[0] * unfolded.shape[2]
    assert product.problem.k * groups == unfolded.shape[1]
    conv = product.convolution
    fits = image.shape[1] > 1 and math.prod(image.shape[2:]) > 1
    if fits:
        assert conv.order == ("nhwc" if image.stride(1) == 1 else "nchw")


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_composite_convolutions_name_the_same_sizes(dims):
    image, weight = torch.randn(2, 4, *[9] * dims), torch.randn(6, 2, *[3] * dims)
    up = torch.randn(4, 3, *[3] * dims)
    ahead, back = getattr(functional, f"conv{dims}d"), getattr(functional, f"conv_transpose{dims}d")
    two, one = [2] * dims, [1] * dims
    for padding in (one, "valid"):
        given_ = image, weight, None, two, padding, one, 2
        ours, theirs = whole(f"aten::conv{dims}d", lambda: ahead(*given_), *given_)  # noqa: B023
        assert ours == theirs > 0
    given_ = image, up, None, two, one, one, 2, one
    ours, theirs = whole(f"aten::conv_transpose{dims}d", lambda: back(*given_), *given_)
    assert ours == theirs > 0
    same = image, weight, None, one, "same", one, 2
    ours, theirs = whole(f"aten::conv{dims}d", lambda: ahead(*same), *same)
    assert ours == theirs > 0


def test_a_convolution_over_time():
    image, weight, bias = torch.randn(7, 2, 5), torch.randn(3, 5, 4), torch.randn(4)
    result = torch.conv_tbc(image, weight, bias, 1)
    (product,) = products(
        Operation("aten::conv_tbc", tuple(described(each) for each in (image, weight, bias, 1))), Settings()
    )
    assert product.problem.m * product.problem.n == result.numel()
    assert product.problem.k == 15


@st.composite
def heads(draw):
    """Query, key, value and the result's gradient, shapes alone."""
    batch, shared, repeat = draw(sizes), draw(sizes), draw(st.integers(1, 3))
    queries, keys, width, value = draw(sizes), draw(sizes), draw(sizes), draw(sizes)

    def made(count, length, size):
        if draw(st.booleans()):
            return torch.empty(batch, length, count, size, device="meta").transpose(1, 2)
        return torch.empty(batch, count, length, size, device="meta")

    many = shared * repeat
    return (
        made(many, queries, width),
        made(shared, keys, width),
        made(shared, keys, value),
        made(many, queries, value),
    )


def arguments_of(name, query, key, value, gradient):
    """Arguments by the names of a schema's parameters; what is not a tensor of attention is None."""
    known = {"query": query, "key": key, "value": value, "out": gradient}
    known |= dict.fromkeys(("grad_out", "grad_out_"), gradient)
    known |= dict.fromkeys(("max_q", "max_seqlen_q"), query.shape[-2])
    func = getattr(aten, name.partition("::")[2]).default
    return func, [known.get(argument.name) for argument in func._schema.arguments]


ATTENTIONS = [
    f"aten::_scaled_dot_product_{kind}_attention{way}"
    for kind in ("flash", "efficient", "cudnn")
    for way in ("", "_backward")
    if getattr(aten, f"_scaled_dot_product_{kind}_attention{way}", None) in flop_counter.flop_registry
]
UNPACKED = [f"aten::_{kind}_attention_{way}" for kind in ("flash", "efficient") for way in ("forward", "backward")]
grouped_heads = "h_q" in flop_counter.sdpa_flop_count.__code__.co_varnames


@settings(max_examples=80)
@given(heads(), st.sampled_from(ATTENTIONS))
def test_attention(tensors, name):
    query, key, *_ = tensors
    if not grouped_heads and query.shape[1] != key.shape[1]:
        return  # older versions refuse to count it
    func, args = arguments_of(name, *tensors)
    assert flop_of(operation_of(func, args, {}, ())) == counted(func, args, {}, None)


@functools.cache
def sequence_first(name):
    """Whether this PyTorch's formula reads the sequence before the heads, as the operator has them (2.14 does)."""
    query, key = (torch.empty(2, length, 3, 8, device="meta") for length in (5, 7))
    func, args = arguments_of(name, query, key, key, query)
    try:
        return counted(func, args, {}, None) == flop_of(operation_of(func, args, {}, ()))
    except AssertionError:  # three heads are no multiple of the sequences that it takes for heads
        return False


@settings(max_examples=60)
@given(heads(), st.sampled_from(UNPACKED))
def test_attention_with_heads_behind_the_sequence(tensors, name):
    """Older formulas of PyTorch take heads for the sequence there; turned as they want them, they give the count."""
    if not grouped_heads and tensors[0].shape[1] != tensors[1].shape[1]:
        return
    func, args = arguments_of(name, *(each.transpose(1, 2) for each in tensors))
    wanted = args if sequence_first(name) else arguments_of(name, *tensors)[1]
    assert flop_of(operation_of(func, args, {}, ())) == counted(func, wanted, {}, None)


@settings(max_examples=40)
@given(heads(), st.booleans())
def test_flexible_attention(tensors, backward):
    query, key, value, gradient = (described(each) for each in tensors)
    if backward:
        ours = flop_of(Operation("flex_attention_backward", (query, key, value, gradient, None, gradient, None)))
        theirs = flop_counter.sdpa_backward_flop_count(gradient.shape, query.shape, key.shape, value.shape)
    else:
        ours = flop_of(Operation("flex_attention", (query, key, value, None, None)))
        theirs = flop_counter.sdpa_flop_count(query.shape, key.shape, value.shape)
    assert ours == theirs


if not grouped_heads:
    test_flexible_attention = pytest.mark.skip(reason="this PyTorch counts no grouped heads")(test_flexible_attention)


def test_composite_attention_is_what_it_becomes():
    query, key = torch.randn(2, 4, 5, 8), torch.randn(2, 4, 7, 8)
    value = torch.randn(2, 4, 7, 8)
    ours, _ = whole("aten::scaled_dot_product_attention", lambda: None, query, key, value)
    inside = agree(lambda: aten._scaled_dot_product_attention_math(query, key, value))
    assert ours == inside == 2 * 8 * 5 * 7 * 16


@pytest.mark.parametrize("scaled", [True, False])
def test_narrow_products(scaled):
    if scaled:
        a, b = torch.empty(16, 32, dtype=torch.float8_e4m3fn), torch.empty(48, 32, dtype=torch.float8_e4m3fn).t()
        args = (a, b, torch.ones(()), torch.ones(()), None, None, torch.bfloat16)
        operation = operation_of(aten._scaled_mm.default, args, {}, ())
        assert flop_of(operation) == 2 * 16 * 48 * 32
        if aten._scaled_mm in flop_counter.flop_registry:
            assert flop_of(operation) == counted(aten._scaled_mm.default, args, {}, None)
        (product,) = products(operation, Settings())
        assert (product.problem.layout, product.problem.d_format) == ("nt", "bfloat16")
        assert product.problem.compulsory_bytes == 16 * 32 + 32 * 48 + 2 * 16 * 48
    else:
        a, b = torch.ones(17, 16, dtype=torch.int8), torch.ones(16, 8, dtype=torch.int8)
        ((func, args, kwargs, result),) = record(lambda: torch._int_mm(a, b))
        (product,) = products(operation_of(func, args, kwargs, result), Settings())
        assert product.problem.compulsory_bytes == sum(each.numel() * each.element_size() for each in (a, b, result))


def test_all_operators_that_pytorch_counts_are_known():
    names = [str(each).replace(".", "::", 1) for each in flop_counter.flop_registry]
    assert [name for name in names if canonical(name) not in OPERATORS] == []


def test_gradients_of_a_linear_layer_have_the_letters_of_their_strides():
    layer, image = torch.nn.Linear(8, 3), torch.randn(5, 4, 8, requires_grad=True)
    calls = record(lambda: layer(image).sum().backward())
    read = [products(operation_of(*call), Settings()) for call in calls if canonical(call[0]._schema.name) in OPERATORS]
    forward, *backward = [p.problem for found in read for p in found]
    assert (forward.m, forward.n, forward.k, forward.layout) == (20, 3, 8, "nt")
    of_input, of_weight = sorted(backward, key=lambda problem: problem.k)
    assert (of_input.m, of_input.n, of_input.k, of_input.layout) == (20, 8, 3, "nn")
    assert (of_weight.m, of_weight.n, of_weight.k) == (3, 8, 20)
    assert of_weight.layout[1] == "n"


def run_lstm(proj=0, directions=1):
    layer = torch.nn.LSTM(5, 6, num_layers=2, bidirectional=directions == 2, proj_size=proj)
    image = torch.randn(7, 3, 5)
    calls = record(lambda: layer(image))
    inside = sum(flop_of(operation_of(*call)) for call in calls)
    state = [torch.zeros(2 * directions, 3, proj or 6), torch.zeros(2 * directions, 3, 6)]
    told = (image, state, list(layer._flat_weights), True, 2, 0.0, False, directions == 2, False)
    return flop_of(Operation("aten::lstm", tuple(described(each) for each in told))), inside


@pytest.mark.filterwarnings("ignore:TF32 acceleration")
@pytest.mark.parametrize(("proj", "directions"), [(0, 1), (0, 2), (4, 1)])
def test_a_recurrent_layer_is_what_it_becomes(proj, directions):
    with torch.backends.mkldnn.flags(enabled=False):
        ours, inside = run_lstm(proj, directions)
    assert ours == inside > 0


def test_grouped_products_need_their_groups():
    a, b = described(torch.empty(64, 32, dtype=torch.bfloat16)), described(torch.empty(4, 32, 16, dtype=torch.bfloat16))
    with pytest.raises(UnreadableError, match="4 groups share 64 rows"):
        products(Operation("aten::_grouped_mm", (a, b, described(torch.zeros(4, dtype=torch.int32)))), Settings())
