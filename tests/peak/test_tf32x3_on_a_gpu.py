"""float32 by three tfloat32 products on a Hopper GPU: every form has the bits of a CPU, however operands lie."""

import random

import numpy as np
import pytest
from msgspec.structs import replace
from tests.peak.gpu import DEVICE, LYING, array, laid, random_numbers, torch

from gemmlab.numerics import mma
from gemmlab.peak.asking import sm_count
from gemmlab.peak.request import Request
from gemmlab.peak.shares import workspace_of
from gemmlab.peak.stored import stored
from gemmlab.peak.tf32x3 import OTHERWISE, tf32x3_launch
from gemmlab.peak.tf32x3_bits import by_three
from gemmlab.peak.tf32x3_choosing import FORMS, shaped

pytestmark = pytest.mark.gpu
ROOM = 7.5  # what lies around D before and after


def shape_of(a, b, base, *, swapped, parts=1, groups=1):
    """The form of these sizes for two tensors as they lie."""
    left, right = stored(a, 1), stored(b, 0)
    fields = dict.fromkeys(("a_format", "b_format", "d_format"), "float32")
    request = Request(
        m=a.shape[0],
        n=b.shape[1],
        k=a.shape[1],
        **fields,
        a_along_k=left.along_k,
        b_along_k=right.along_k,
        a_on_road=left.on_road,
        b_on_road=right.on_road,
    )
    return replace(shaped(request, base, swapped), parts=parts, groups=groups)


def multiplied(form, a, b, *, gap=0, offset=0, refused=None, times=1):
    """D of two tensors, launched so many times on one workspace; what lies around D is held to stay as it was."""
    (m, k), n = a.shape, b.shape[1]
    memory = torch.full((offset + m * (n + gap) + 8,), ROOM, device="cuda")
    d = memory[offset:].as_strided((m, n), (n + gap, 1))
    buffers, workspace = workspace_of(form, m, n, torch, 0)
    told = (refused.data_ptr(), refused.numel()) if refused is not None else (0, 0)
    given = {"programs": sm_count(torch, 0), "refused": told, "workspace": workspace}
    launch = tf32x3_launch(form, stored(a, 1), stored(b, 0), stored(d, 1), (m, n, k), 0, **given)
    for _ in range(times):
        launch(torch.cuda.current_stream().cuda_stream)
    torch.cuda.synchronize()
    assert not buffers or not buffers[1].any()
    found = d.clone()
    d.fill_(ROOM)
    assert (memory == ROOM).all()
    return found


@pytest.mark.parametrize("base", [*FORMS, OTHERWISE])
@pytest.mark.parametrize("seed", range(6))
def test_bits_of_every_form(base, seed):
    source = random.Random(repr((base, seed)))
    m, n, k = (source.choice([1, 3, 8, 17, 64, 100, 129, 200, 257]) for _ in range(3))
    k = source.choice([k, 2 * k + 1, 640])
    a, b = (
        laid(torch, random_numbers(*sides, torch.float32, seed), source.choice(LYING), DEVICE)
        for sides in ((m, k), (k, n))
    )
    parts, groups = source.choice([(1, 1), (2, 1), (4, 1), (8, 1), (1, 3), (2, 2), (2, 8)])
    form = shape_of(a, b, base, swapped=source.random() < 0.5, parts=parts, groups=groups)
    found = multiplied(form, a, b, gap=source.choice([0, 1, 4]), offset=source.choice([0, 1, 4]), times=2)
    assert array(found).tobytes() == np.ascontiguousarray(by_three(form, array(a), array(b))).tobytes()


@pytest.mark.parametrize("base", FORMS[::2])
def test_what_is_not_finite_comes_out_as_multiply_adds_give_it(base):
    a, b = random_numbers(20, 300, torch.float32).cuda(), random_numbers(300, 90, torch.float32, 1).cuda()
    inf = float("inf")
    a[1, 7], a[2, 8], a[3, 9], a[3, 20], a[5, 0], a[8, 299] = inf, float("nan"), -inf, inf, 3.4e38, inf
    b[7, 3], b[100, 5], b[299, 10], b[0], b[4, 7], a[9, 4] = 0, inf, -inf, 0.5, inf, 2.0**-149
    a[6], a[6, 0] = 0, torch.finfo(torch.float32).max
    found = array(multiplied(shape_of(a, b, base, swapped=base.block_m > base.block_n), a, b))
    with np.errstate(all="ignore"):
        plain = mma("cuda.fma.float32", array(a), array(b))
    assert np.array_equal(np.isnan(found), np.isnan(plain))
    assert np.array_equal(found[np.isinf(found)], plain[np.isinf(plain)])
    finite = np.isfinite(plain)
    assert np.allclose(found[finite], plain[finite], rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("rows", [[], [3], [0, 19]])
@pytest.mark.parametrize("columns", [[], [70]])
def test_only_refused_rows_and_columns_are_written(rows, columns):
    a, b = random_numbers(20, 300, torch.float32).cuda(), random_numbers(90, 300, torch.float32, 1).cuda().t()
    refused = torch.zeros(110, dtype=torch.uint8, device="cuda")
    refused[rows + [20 + column for column in columns]] = 1
    wanted = np.zeros((20, 90), bool)
    wanted[rows], wanted[:, columns] = True, True
    found = array(multiplied(OTHERWISE, a, b, refused=refused))
    assert (found[~wanted] == ROOM).all()
    assert np.array_equal(found[wanted], by_three(OTHERWISE, array(a), array(b))[wanted])
