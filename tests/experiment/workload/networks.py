"""Workloads made by hand for tests: GPT-2 small's training step, as PyTorch multiplies it under autocast."""

from gemmlab import Gemm
from gemmlab.workload import Call, Operation, Other, Tensor, Workload
from gemmlab.workload.elementwise import flop_of

LAYERS, WIDTH, HEADS = 12, 768, 12


def tensor(*shape, parameter="", format="bfloat16"):
    return Tensor(shape, format, parameter=parameter)


def linear(place, tokens, ins, outs, *, count=1, parameter=None, format="bfloat16", train=True):
    """A layer's product, and its two gradients."""
    weight = f"{place}.weight" if parameter is None else parameter
    x, w, y = tensor(tokens, ins), tensor(ins, outs, parameter=weight), tensor(tokens, outs)

    def call(problem, operator, phase, operands):
        return Call(problem, operator, count, (place,), phase, operands)

    found = [call(Gemm(tokens, outs, ins, format, layout="nt"), "aten::addmm", "forward", (x, w))]
    if train:
        back = tensor(outs, ins, parameter=weight)
        found.append(call(Gemm(tokens, ins, outs, format), "aten::mm", "backward", (y, back)))
        found.append(call(Gemm(outs, ins, tokens, format, layout="tn"), "aten::mm", "backward", (y, x)))
    return found


def attention(place, batch, length, *, fused="flash attention", causal=True, train=True, format="bfloat16"):
    """The two products of a layer's attention and the five of its gradient, four where no kernel fuses them."""
    head, entries = WIDTH // HEADS, batch * HEADS
    q = tensor(batch, HEADS, length, head)
    scores, values = (length, length, head), (length, head, length)
    steps = [("forward", scores), ("forward", values)]
    if train:
        steps += [("backward", sides) for sides in (scores, values, values, values)]
        steps += [("backward", scores)] * bool(fused)
    return [
        Call(
            Gemm(*sides, format, batch=entries),
            "aten::_scaled_dot_product_flash_attention" if fused else "aten::bmm",
            1,
            (place,),
            phase,
            (q, q) if fused else (),
            fused=fused,
            causal=causal and bool(fused),
        )
        for phase, sides in steps
    ]


def gpt2(words=50257, batch=8, length=1024, *, format="bfloat16", fused="flash attention", train=True):
    """GPT-2 small, one step: the output layer shares the embedding's weight."""
    tokens, calls = batch * length, []
    for layer in range(LAYERS):
        at = f"transformer.h.{layer}"
        for name, ins, outs in (
            ("attn.c_attn", WIDTH, 3 * WIDTH),
            ("attn.c_proj", WIDTH, WIDTH),
            ("mlp.c_fc", WIDTH, 4 * WIDTH),
            ("mlp.c_proj", 4 * WIDTH, WIDTH),
        ):
            calls += linear(f"{at}.{name}", tokens, ins, outs, format=format, train=train)
        calls += attention(f"{at}.attn", batch, length, fused=fused, train=train, format=format)
    calls += linear("lm_head", tokens, WIDTH, words, parameter="transformer.wte.weight", format=format, train=train)
    rows, wide = tokens * WIDTH, tokens * words
    others = (
        Other("aten::native_layer_norm", 25, "forward", bytes=25 * rows * 6, flop=25 * rows * 7),
        Other("aten::gelu", 12, "forward", bytes=12 * 4 * rows * 4, flop=12 * 4 * rows * 5),
        Other("aten::_log_softmax", 1, "forward", bytes=wide * 8, flop=4 * wide),
        Other("aten::_softmax", 12, "forward", bytes=0 if fused else 12 * batch * HEADS * length**2 * 4),
    )
    return Workload("gpt2", "model", tuple(calls), others)


def bert_layer(batch=8, length=512, *, width=1024, heads=16):
    """One layer of BERT-large as Ivanov et al. count it, forward and backward, attention unfused."""
    tokens, entries, head = batch * length, batch * heads, width // heads
    calls = []
    for name, ins, outs in (("q", width, width), ("k", width, width), ("v", width, width), ("o", width, width)):
        calls += linear(name, tokens, ins, outs, format="float16")
    calls += linear("up", tokens, width, 4 * width, format="float16")
    calls += linear("down", tokens, 4 * width, width, format="float16")
    scores, values = (length, length, head), (length, head, length)
    steps = (("forward", scores), ("forward", values), *(("backward", each) for each in (scores, *[values] * 3)))
    for phase, sides in steps:
        calls.append(Call(Gemm(*sides, "float16", batch=entries), "aten::bmm", 1, ("attention",), phase))
    small, large, square = tokens * width, 4 * tokens * width, entries * length * length
    others = [
        counted("aten::_softmax", 1, square),
        counted("aten::_softmax_backward_data", 1, square),
        counted("aten::native_dropout", 2, small),
        counted("aten::native_dropout_backward", 2, small),
        counted("aten::native_dropout", 1, square),
        counted("aten::native_dropout_backward", 1, square),
        counted("aten::mul", 2, square),
        counted("aten::native_layer_norm", 2, small),
        counted("aten::native_layer_norm_backward", 2, small),
        counted("aten::add", 6, small),
        counted("aten::add", 1, large),
        counted("aten::sum", 6, small),
        counted("aten::sum", 1, large),
        counted("aten::native_dropout", 1, large),
    ]
    return Workload("a layer of BERT-large", "model", tuple(calls), tuple(others))


def counted(name, times, elements):
    """An operator over so many elements, each read and written once in 16 bits."""
    each = Tensor((elements,), "float16")
    return Other(name, times, bytes=times * elements * 4, flop=times * flop_of(Operation(name, (each,), (each,))))
