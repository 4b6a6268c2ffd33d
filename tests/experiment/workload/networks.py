"""Workloads made by hand for tests: GPT-2 small's training step, as PyTorch multiplies it under autocast."""

from gemmlab import Gemm
from gemmlab.workload import Call, Other, Tensor, Workload

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
