"""Answers written by hand, for looking at: a small step, a trace of three, a very large one, a hostile one, nothing."""

import msgspec

from gemmlab.experiment.workload.answer import Answer, Rest, Row
from gemmlab.problem import Gemm
from gemmlab.record.workload import CallSection, ChangeSection
from gemmlab.workload import Call, Other, Unread, Workload
from report import records

PAD = ChangeSection(
    cause="alignment",
    line="config.vocab_size = 50304  # 47 rows that are never used\nmodel.resize_token_embeddings(50304)",
    digits="none: the loss leaves the new columns out",
    cost="47 rows of weights",
    confidence="high",
    gain_s=0.0,
    predicted_speedup=3.2,
)
TF32 = ChangeSection(
    cause="precision",
    line='torch.set_float32_matmul_precision("high")',
    digits="operands keep 10 of 23 fraction bits",
    cost="none",
    confidence="high",
    gain_s=0.0,
    predicted_speedup=5.1,
)
CAUSES = ("alignment", "precision", "launch", "re-read traffic", "idle in the last wave", "peak not held")


def row(call, time_s, gain_s, cause, changes, total_s, all_flop, source, known="predicted"):
    """A row whose sections agree with its call."""
    p = call.problem
    record = records.record(
        msgspec.convert(msgspec.to_builtins(p.section()), type(p.section())),
        records.chip("h100-sxm", 132, 1.755e9, 3.35e12, 5.5e12, 989.4e12),
        records.kernel(),
        (1e9, 1e9, 1e9),
        (),
        "alignment" if cause == "alignment" else "compute-bound",
    )
    shares = [msgspec.structs.replace(c, gain_s=gain_s / (i + 1)) for i, c in enumerate(changes)]
    section = CallSection(
        source=source, operator=call.operator, count=call.count, places=call.places, phase=call.phase,
        shapes=tuple(t.shape for t in call.operands), strides=tuple(t.strides for t in call.operands),
        formats=tuple(t.format for t in call.operands), fused=call.fused, kernels=call.kernels, time_s=time_s,
        known=known, predicted_time_s=time_s * 0.9, limit_s=time_s * 0.5, flop_share=0.998 * call.flop / all_flop,
        time_share=time_s / total_s, cause=cause, gain_s=gain_s, changes=tuple(shares),
    )  # fmt: skip
    return Row(call, msgspec.structs.replace(record, call=section))


def answer(parts, others=(), unread=(), *, source="gpt2.py:small", kind="model", known="predicted", steps=1, idle_s=0.0,
           **fields):  # fmt: skip
    """An answer of (call, seconds, seconds to gain, cause, changes), (name, count, seconds)."""
    calls, rests = tuple(p[0] for p in parts), tuple(Other(n, c, time_s=s, flop=10**9) for n, c, s in others)
    work = Workload(source, kind, calls, rests, unread, steps=steps, **fields)
    multiplying, rest = sum(p[1] for p in parts), sum(s for _, _, s in others)
    lost = sum(each.time_s or 0.0 for each in unread)
    total = multiplying + rest + idle_s + lost
    rows = [row(*p, total, max(work.flop, 1), source, known) for p in parts]
    rows.sort(key=lambda r: -r.record.call.gain_s)
    rests = [Rest(o, o.time_s, known) for o in work.others]
    perfect = sum(max(0.5 * p[1], p[2]) for p in parts) / total if total else 0.0
    advised = sum(p[2] for p in parts) / total if total else 0.0
    return Answer(work, "h100-sxm", tuple(rows), tuple(sorted(rests, key=lambda r: -r.time_s)), total, known,
                  multiplying, rest, idle_s, lost, perfect, advised, summed(rows))  # fmt: skip


def summed(rows):
    """Each change once, its gains added up."""
    found = {}
    for each in rows:
        for change in each.record.call.changes:
            gain = found[change.line].gain_s if change.line in found else 0.0
            found[change.line] = msgspec.structs.replace(change, gain_s=gain + change.gain_s)
    return tuple(sorted(found.values(), key=lambda change: -change.gain_s))


def layers(name, many=12):
    return tuple(f"transformer.h.{i}.{name}" for i in range(many))


def gpt2(vocabulary=50257):
    """One training step of a GPT-2."""

    def linear(n, k, place, many=12, phase="forward"):
        return Call(Gemm(8192, n, k, "bfloat16", layout="nt"), "aten::addmm", many, place, phase)

    padded = vocabulary % 64 == 0
    head = Call(Gemm(8192, vocabulary, 768, "bfloat16", layout="nt"), "aten::mm", 1, ("lm_head",), "forward")
    gain = 0.0 if padded else 2.0e-3
    return answer(
        [
            (head, 2.2e-3 + gain, gain, "none" if padded else "alignment", () if padded else (PAD,)),
            (linear(2304, 768, layers("attn.c_attn")), 1.1e-3, 0.0, "peak not held", ()),
            (linear(768, 768, layers("attn.c_proj")), 0.5e-3, 0.02e-3, "idle in the last wave", ()),
            (linear(3072, 768, layers("mlp.c_fc")), 1.5e-3, 0.0, "peak not held", ()),
            (linear(768, 3072, layers("mlp.c_proj")), 1.5e-3, 0.0, "peak not held", ()),
        ],
        [("aten::gelu", 12, 0.6e-3), ("aten::native_layer_norm", 25, 0.5e-3), ("aten::add", 25, 0.3e-3)],
        settings=(("autocast", "bfloat16"),),
    )


def traced():
    """Three steps of a trace, with idle time, a custom operator and a float32 multiplication."""
    plain = Call(
        Gemm(4096, 4096, 4096), "aten::mm", 6, ("train.py(12): forward", "train.py(31): forward"), "",
        kernels=("sgemm_128x128",), time_s=24e-3,
    )  # fmt: skip
    return answer(
        [(plain, 24e-3, 19e-3, "precision", (TF32,))],
        [("void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>(int, Array)", 30, 6e-3)],
        (Unread("mylib::fused_mlp", "a custom operator: its arguments do not say which is k", 3, 2.1e-3),),
        source="trace.json.gz", kind="trace", known="measured", steps=3, idle_s=9e-3, chip="NVIDIA H200",
        span_s=41.1e-3, notes=("12 kernels belong to no operator",),
    )  # fmt: skip


def huge(many=700):
    """A step of very many multiplications in nested modules."""
    parts = []
    for i in range(many):
        problem = Gemm(64 + 8 * (i * 37 % 211), 64 + i * 53 % 4096, 32 + 8 * (i * 29 % 301), "float16")
        place = (f"encoder.stage{i % 9}.block{i % 23}.linear{i}",)
        time = 1e-6 * (1 + (i * 7919 % 1000)) ** 1.4
        gain = time * (i % 5) / 8
        changes = (PAD,) if i % 5 == 3 else ()
        parts.append((Call(problem, "aten::mm", 1 + i % 7, place, "forward"), time, gain, CAUSES[i % 6], changes))
    others = [(f"aten::op_{i}", 3 * i + 1, 2e-5 * (i + 1)) for i in range(40)]
    return answer(parts, others, source="huge.py:model")


def hostile():
    """Names from a file that would break a page or move the screen."""
    place = ("<script>alert('x')</script> & \x1b[31mred\u202e" + "m" * 300,)
    evil = msgspec.structs.replace(PAD, line="x = '</pre><script>'\n\tif x:\n        pass", digits="<b>none</b>")
    call = Call(Gemm(1 << 40, 3, 1, "float16"), "<i>op</i>", 10**12, place, "forward")
    return answer([(call, 3e9, 1e9, "<u>why</u>", (evil,))], [("<s>other</s>", 2, 1e-9)],
                  (Unread("<a href=x>", "\x1b[2J"),), source="a<b>.json")  # fmt: skip


def nothing():
    """A workload without any multiplication."""
    return answer([], [("aten::relu", 3, 1e-5)])


def void():
    """A workload of nothing at all."""
    return answer([])


ALL = {"gpt2": gpt2, "padded": lambda: gpt2(50304), "traced": traced, "huge": huge, "hostile": hostile,
       "nothing": nothing, "void": void}  # fmt: skip
