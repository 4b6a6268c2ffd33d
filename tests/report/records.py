"""Records written by hand, for looking at: plain, ragged, tiny, huge, hostile, empty."""

import msgspec

from gemmlab.record import (
    Advice,
    ChipSection,
    Count,
    KernelSection,
    LevelFigures,
    LevelPrediction,
    Measurement,
    Prediction,
    ProblemSection,
    Record,
    Term,
    Verdict,
    WorstElement,
)

BYTES = {"float16": 2, "bfloat16": 2, "float32": 4, "float8_e4m3fn": 1}


def problem(m, n, k, form="float16", **fields):
    base = {
        "m": m, "n": n, "k": k, "batch": 1, "groups": (), "a_format": form, "b_format": form,
        "c_format": form, "d_format": form,
        "accumulate": "float32", "layout": "nn", "lda": k, "ldb": n, "ldc": n,
        "a_offset_bytes": 0, "b_offset_bytes": 0, "c_offset_bytes": 0,
        "alpha": 1.0, "beta": 0.0, "epilogue": "", "scale": "", "structure": "general",
    }  # fmt: skip
    return ProblemSection(**(base | fields))


def chip(name="a100-pcie-80gb", sms=108, clock=1.41e9, dram=1.935e12, l2=4.8e12, peak=312e12, **fields):
    levels = (
        LevelFigures(name="dram", bandwidth_bytes_per_s=dram, capacity_bytes=80 * 2**30),
        LevelFigures(name="l2", bandwidth_bytes_per_s=l2, capacity_bytes=40 * 2**20),
        LevelFigures(name="shared", bandwidth_bytes_per_s=128 * sms * clock, capacity_bytes=164 * 2**10 * sms),
        LevelFigures(name="register", bandwidth_bytes_per_s=6 * 128 * sms * clock, capacity_bytes=256 * 2**10 * sms),
    )
    peaks = {"float16": peak, "bfloat16": peak, "float32": peak / 16}
    base = {"calibrated": False, "validated": False} | fields
    return ChipSection(name=name, sm_count=sms, clock_hz=clock, levels=levels, peak_flop_per_s=peaks, **base)


def kernel(m=128, n=128, k=32, name="tensor", **fields):
    base = {
        "stages": 3,
        "warps": 4,
        "registers": 168,
        "split_k": 1,
        "group_m": 8,
        "raster": "n",
        "cluster_m": 1,
        "cluster_n": 1,
        "shared_bytes": 49152,
    }
    return KernelSection(name=name, block_m=m, block_n=n, block_k=k, **(base | fields))


def count(p, t):
    """Plain counts of the tiled loop, enough for a picture."""
    size = BYTES[p.a_format]
    down, across = -(-p.m // t.block_m), -(-p.n // t.block_n)
    loads = (p.m * p.k * across + p.k * p.n * down) * p.batch
    flop, stores = 2 * p.m * p.n * p.k * p.batch, p.m * p.n * size * p.batch
    return Count(
        flop=flop, epilogue_flop=0, global_load_elements=loads, global_load_bytes=loads * size,
        global_store_bytes=stores, compulsory_bytes=(p.m * p.k + p.k * p.n + p.m * p.n) * size * p.batch,
        raw_bytes=loads * size, sectors_requested=loads * size // 32 + 1, store_sectors=stores // 32 + 1,
        shared_load_bytes=flop * size // 64, shared_store_bytes=loads * size, register_load_elements=flop // 8,
        intensity_flop_per_byte=flop / (loads * size + stores), programs=down * across * p.batch,
        padded_flop=2 * down * t.block_m * across * t.block_n * -(-p.k // t.block_k) * t.block_k * p.batch,
    )  # fmt: skip


def record(p, c, t, dram, causes, bound, *, slots=1, advice=(), notes=(), measurement=None, bounds=None):
    """A Record whose terms are the arithmetic and the given causes, in seconds."""
    n = count(p, t)
    peak = c.peak_flop_per_s[p.a_format]
    speeds = {level.name: level.bandwidth_bytes_per_s for level in c.levels}
    traffic = {
        "dram": dram[1], "l2": n.raw_bytes + n.global_store_bytes,
        "shared": n.shared_load_bytes, "register": n.register_load_elements * 2,
    }  # fmt: skip
    levels = tuple(
        LevelPrediction(
            name=name, bytes=size, time_s=size / speeds[name], intensity_flop_per_byte=n.flop / size,
            knee_flop_per_byte=peak / speeds[name],
        )
        for name, size in traffic.items() if size
    )  # fmt: skip
    terms = (
        Term(cause="arithmetic at the peak", time_s=n.flop / peak),
        *(Term(cause=a, time_s=b, why=w) for a, b, w in causes),
    )
    side = max((p.m * p.n * p.k) ** (1 / 3), 1)
    waves = n.programs / (c.sm_count * slots)
    lower = bounds or {
        "compulsory": n.compulsory_bytes, "tight": 2 * side**3 / (40 * 2**20 / 2) ** 0.5 * 2 * 0.98,
        "hong_kung": 2 * side**3 / (40 * 2**20 / 6) ** 0.5 * 2,
    }  # fmt: skip
    prediction = Prediction(
        time_s=sum(t.time_s for t in terms), bound=bound, knee_flop_per_byte=peak / speeds["dram"],
        compute_time_s=n.flop / peak, waves=waves, wave_efficiency=waves / -(-n.programs // (c.sm_count * slots)),
        programs_per_sm=slots, occupancy_limit="registers", dram_read_bytes=dram[1] * 0.9,
        dram_write_bytes=dram[1] * 0.1,
        dram_bytes=dram[1], dram_bytes_low=dram[0], dram_bytes_high=dram[2], levels=levels, terms=terms,
        lower_bound_bytes=max(lower.values()), lower_bounds=lower, energy_j=None, notes=notes,
    )  # fmt: skip
    return Record(problem=p, chip=c, kernel=t, count=n, prediction=prediction, advice=advice, measurement=measurement)


FINE = Advice(cause="none", change="nothing: this shape is fine", predicted_speedup=1.0, cost="none", confidence="high")


def square():
    """8192 cubed, float16, on an A100."""
    causes = (
        ("clock under load", 0.31e-3, "dense float16 draws more than the board's limit at 1.41 GHz"),
        ("last wave", 0.12e-3, "4096 programs on 216 slots: 18.96 waves"),
        ("prologue and epilogue", 0.021e-3, ""),
        ("launch", 4e-6, ""),
    )
    notes = (
        "in lock-step, row-major order already fits the budget (5.3 GB); only drift makes it memory-bound",
        "NVIDIA's guide classes this shape as compute-bound, by a rule of thumb",
    )
    return record(
        problem(8192, 8192, 8192), chip(), kernel(), (1.5e9, 1.9e9, 5.3e9), causes, "compute", slots=2, notes=notes,
        advice=(FINE, Advice(cause="tile", change="--tile 128x256x64", predicted_speedup=1.04,
                             cost="none, another kernel", confidence="medium")),
    )  # fmt: skip


def ragged():
    """The odd vocabulary of GPT-2 on an H100."""
    causes = (
        ("alignment", 0.51e-3, "rows of B and C start at odd multiples of 2 bytes, so loads are 2 bytes wide, not 16"),
        ("tile padding", 0.6e-6, ""),
        ("last wave", 21e-6, "12576 programs on 264 slots: 47.6 waves"),
        ("clock under load", 90e-6, ""),
        ("launch", 3e-6, ""),
    )
    pad = Advice(cause="alignment", change="pad n from 50257 to 50304", predicted_speedup=3.21,
                 cost="47 columns, 0.09% more work and memory", confidence="high")  # fmt: skip
    view = Advice(cause="alignment", change="store B with ldb=50304: the same values, rows 16-byte aligned",
                  predicted_speedup=1.9, cost="a copy of B (77.2 MB) once", confidence="medium")  # fmt: skip
    return record(
        problem(4096, 50257, 768, "bfloat16"),
        chip("h100-sxm", 132, 1.83e9, 3.35e12, 5.5e12, 989.4e12, calibrated=True, validated=True),
        kernel(128, 256, 64, warps=8, registers=255), (0.49e9, 0.52e9, 0.9e9), causes, "alignment", slots=2,
        advice=(pad, view),
        measurement=Measurement(backend="torch", time_s=1.02e-3, time_s_low=1.0e-3, time_s_high=1.06e-3, repeats=50),
    )  # fmt: skip


def tiny():
    causes = (("latency", 1.1e-6, "one program, one k-step"), ("launch", 4e-6, ""))
    return record(
        problem(1, 1, 1, "float32"),
        chip(),
        kernel(16, 16, 16, "tiled", stages=1, group_m=1),
        (6, 12, 96),
        causes,
        "latency",
    )


def skinny():
    causes = (
        ("dram", 16.1e-6, "the weights are read once"),
        ("launch", 3e-6, ""),
        ("overlap", -1.2e-6, "arithmetic hides under loads"),
    )
    return record(problem(1, 11008, 4096), chip("h200-sxm", 132, 1.83e9, 4.8e12, 5.5e12, 989e12, calibrated=True),
                  kernel(16, 128, 64), (90.2e6, 90.3e6, 91e6), causes, "dram", advice=())  # fmt: skip


def huge():
    side = 1 << 40
    return record(problem(side, side, side), chip(), kernel(), (1e26, 2e29, 3e30), (("dram", 1e17, ""),), "dram")


def hostile():
    bad = "<script>alert('x')</script> & \x1b[31mred\x00 \u202e \ud800 " + "very_long_kernel_name_" * 6
    base = ragged()
    terms = (*base.prediction.terms, Term(cause=bad, time_s=0.0, why=bad))
    replace = msgspec.structs.replace
    return replace(
        base, chip=replace(base.chip, name=bad), kernel=replace(base.kernel, name=bad),
        prediction=replace(base.prediction, terms=terms, bound=bad, notes=(bad, ""), occupancy_limit=bad,
                           lower_bounds={bad: 1e8} | base.prediction.lower_bounds),
        advice=(Advice(cause=bad, change=bad, predicted_speedup=float("nan"), cost=bad, confidence=bad),),
        measurement=Measurement(backend=bad, time_s=1e-3),
    )  # fmt: skip


def deep():
    """Few programs, long k, split."""
    causes = (("split-k reduction", 9e-6, "8 partial results of 256 KB"), ("launch", 3e-6, ""))
    return record(problem(256, 256, 131072), chip(), kernel(split_k=8), (134e6, 134.5e6, 140e6), causes, "dram")


def batched():
    return record(problem(80, 40, 24, batch=64, beta=1.0, epilogue="bias+gelu"), chip(), kernel(64, 64, 32),
                  (1.2e6, 1.3e6, 1.4e6), (("launch", 3e-6, ""),), "launch")  # fmt: skip


def empty():
    return Record()


def counted_only():
    base = square()
    return Record(problem=base.problem, kernel=base.kernel, count=base.count)


def unexplained():
    """Terms that leave a tenth of the time open."""
    base = square()
    return msgspec.structs.replace(
        base, prediction=msgspec.structs.replace(base.prediction, time_s=base.prediction.time_s * 1.1)
    )


def verdict(**found):
    """Of a right result of 8192 x 8192 elements, unless fields say otherwise."""
    right = {
        "ok": True, "wrong_elements": 0, "max_relative_error": 4.1e-5, "bound": 1.2e-3,
        "reference": "float64 in any order, its own error within the bound", "informative": True,
        "elements": 8192 * 8192, "unwritten_elements": 0, "range_elements": 0,
    }  # fmt: skip
    return Verdict(**right | found)


def right():
    return msgspec.structs.replace(square(), verdict=verdict())


def wrong():
    """A row of tiles wrong, another never written."""
    worst = WorstElement(index=(77, 4095), got="-3.5", expected="118.25", error_over_bound=4127.5)
    found = verdict(ok=False, wrong_elements=1048576, unwritten_elements=16384, range_elements=3, worst=worst)
    return msgspec.structs.replace(ragged(), verdict=found)


def uninformative():
    missed = ("alpha ignored", "a step of k dropped")
    return msgspec.structs.replace(deep(), verdict=verdict(informative=False, missed_faults=missed, bound=0.4))


def exactly_right():
    return msgspec.structs.replace(tiny(), verdict=verdict(bound=0.0, max_relative_error=0.0, elements=1))


ALL = {
    f.__name__: f
    for f in (
        square,
        ragged,
        tiny,
        skinny,
        huge,
        hostile,
        deep,
        batched,
        empty,
        counted_only,
        unexplained,
        right,
        wrong,
        uninformative,
        exactly_right,
    )
}
