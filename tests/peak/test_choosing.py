"""Every request has a plan that its kernel can hold, and determinism leaves nothing to the sides."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gemmlab.numerics.units import unit
from gemmlab.peak.choosing import plan_for, plans
from gemmlab.peak.engine import SHARED_BYTES, Engine
from gemmlab.peak.request import Request
from gemmlab.peak.vector import Vector
from gemmlab.peak.vector_choosing import MOST_VECTORS
from gemmlab.record import GemmlabError

FORMATS = ("float32", "bfloat16", "float16", "float8_e4m3fn", "float8_e5m2")
OUT = {"float8_e4m3fn": "bfloat16", "float8_e5m2": "bfloat16"}


@st.composite
def requests(draw, **fixed):
    form = draw(st.sampled_from(FORMATS))
    eight = form.startswith("float8")
    return Request(
        **{
            **{side: draw(st.integers(1, 20_000)) for side in "mnk"},
            **{"a_format": form, "b_format": form, "d_format": OUT.get(form, form)},
            **{name: eight or draw(st.booleans()) for name in ("a_along_k", "b_along_k")},
            **{name: draw(st.booleans()) for name in ("a_on_road", "b_on_road", "d_on_road", "deterministic")},
            "accuracy": draw(st.sampled_from(["vendor", "best", "fast"])),
            **fixed,
        }
    )


@given(requests())
@settings(max_examples=60)
def test_every_request_has_a_plan_that_fits(request_):
    plan = plan_for(request_)
    assert plan.predicted_s > 0
    if isinstance(plan.kernel, Engine):
        assert plan.kernel.shared_bytes <= SHARED_BYTES
        assert plan.kernel.rows_store == (plan.kernel.d_format != "float32" and not request_.d_on_road)
        assert plan.split == (plan.kernel.pieces == 2)
        assert plan.split or plan.repack_a == (not request_.a_on_road)
    elif isinstance(plan.kernel, Vector):
        assert min(request_.m, request_.n) <= MOST_VECTORS
    else:
        assert request_.a_format == "float32"
        assert not request_.deterministic


@given(requests(deterministic=True), st.integers(1, 20_000), st.integers(1, 20_000))
@settings(max_examples=40)
def test_a_deterministic_order_does_not_change_with_m_and_n(request_, m, n):
    import msgspec

    first, second = plan_for(request_), plan_for(msgspec.structs.replace(request_, m=m, n=n))
    assert (first.unit, first.schedule, first.split) == (second.unit, second.schedule, second.split)
    for plan in (first, second):
        assert not isinstance(plan.kernel, Vector)
        assert plan.kernel.shares == 1
        assert plan.kernel.promote == first.kernel.promote


def test_what_no_constant_was_fitted_to_is_chosen_by_measuring_alone():
    of = {"a_format": "bfloat16", "b_format": "bfloat16", "d_format": "bfloat16"}
    for sides in ((6144, 576, 4096), (3072, 3072, 3072), (16384, 192, 4096)):
        request_ = Request(**dict(zip("mnk", sides, strict=True)), **of)
        three = [plan for plan in plans(request_) if getattr(plan.kernel, "consumers", 0) == 3]
        assert {plan.kernel.block_m for plan in three} == {192}
        assert plan_for(request_).kernel.consumers < 3


def test_named_units_exist():
    for form in FORMATS:
        for accuracy in ("vendor", "best", "fast"):
            request_ = Request(
                m=64, n=64, k=64, a_format=form, b_format=form, d_format=OUT.get(form, form), accuracy=accuracy
            )
            for plan in plans(request_):
                assert not plan.unit or unit(plan.unit).a_formats


def test_float8_is_promoted_as_torch_does_unless_it_must_be_fast():
    of = {"a_format": "float8_e4m3fn", "b_format": "float8_e4m3fn", "d_format": "bfloat16"}
    assert plan_for(Request(m=512, n=512, k=512, **of)).kernel.promote == 1
    assert plan_for(Request(m=512, n=512, k=512, **of, accuracy="fast")).kernel.promote == 0


def test_what_cannot_be_multiplied_is_refused():
    with pytest.raises(GemmlabError, match="int8 times int8"):
        plan_for(Request(m=1, n=1, k=1, a_format="int8", b_format="int8", d_format="int32"))
    with pytest.raises(GemmlabError, match="accuracy"):
        Request(m=1, n=1, k=1, a_format="float32", b_format="float32", d_format="float32", accuracy="exact")
    with pytest.raises(GemmlabError, match="nothing to multiply"):
        Request(m=0, n=1, k=1, a_format="float32", b_format="float32", d_format="float32")
