"""Records and items made for the store: small, and told apart by their times."""

from gemmlab.experiment.keys import Item
from gemmlab.problem import Gemm
from gemmlab.record import Measurement, Record
from gemmlab.run.contender import Contender


def contender(name="packed", backend="cpu", **fields):
    plain = {"source": f"none:{name}", "idea": "", "formats": ("float32", "bfloat16")}
    return Contender(name=name, backend=backend, **plain | fields)


def item(m=64, n=64, k=64, form="float32", *, kernel="packed", backend="cpu", chip="epyc-7b13", threads=1, **fields):
    return Item(problem=Gemm(m, n, k, form, **fields), contender=contender(kernel, backend), chip=chip, threads=threads)


def timed(what, time_s=1e-3, spread=0.01, environment=None):
    measurement = Measurement(
        backend=what.contender.backend,
        kernel=what.contender.name,
        time_s=time_s,
        time_s_low=time_s * (1 - spread),
        time_s_high=time_s * (1 + spread),
        repeats=45,
        samples=(time_s,) * 9,
        environment=environment or {},
    )
    return Record(problem=what.problem.section(), measurement=measurement)
