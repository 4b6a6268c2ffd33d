"""The wgmma engine as data: what it refuses, how many programs it launches, and what its shares of k need."""

import pytest

from gemmlab.peak.choosing import PARTS, TOGETHER, engines, plan_for
from gemmlab.peak.engine import BLOCK_BYTES, SLICE_GROUPS, SM_SHARED_BYTES, Engine
from gemmlab.peak.predicting import FITTING
from gemmlab.peak.request import Request
from gemmlab.peak.shares import workspace_of
from gemmlab.record import GemmlabError

BF16 = {"a_format": "bfloat16", "b_format": "bfloat16", "d_format": "bfloat16"}
LONG = Request(m=256, n=256, k=65536, **BF16)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"block_n": 12}, "no multiple of 8"),
        ({"block_n": 264, "spread": 2, "stages": 3}, "no multiple of 8 up to 256, nor of 16 up to 320"),
        ({"block_n": 336, "spread": 2, "stages": 3}, "nor of 16 up to 320"),
        ({"block_n": 320, "stages": 3}, "pairs of programs"),
        ({"block_n": 320, "stages": 3, "spread": 2, "consumers": 1}, "two consumers"),
        ({"block_n": 320, "stages": 3, "spread": 2, "b_sides": True}, "B along k"),
        ({"block_n": 320, "stages": 3, "spread": 2, "promote": 2}, "one accumulator"),
        ({"block_n": 320, "stages": 3, "spread": 2, "rows_store": True}, "16 bits on the road"),
        ({"block_n": 320, "stages": 3, "spread": 2, "d_format": "float32"}, "16 bits on the road"),
        ({"block_n": 320, "stages": 3, "spread": 2, "groups": 4, "later": True}, "all of k"),
        ({"block_n": 64, "hold": True}, "held back"),
        ({"block_n": 64, "hold": True, "later": True, "groups": 4}, "could begin early"),
        ({"block_n": 64, "hold": True, "later": True, "groups": 4, "early": True, "lean": True}, "held back"),
        ({"block_n": 72, "swapped": True}, "no multiple of it"),
        ({"block_n": 64, "a_sides": True, "a_format": "float8_e4m3fn", "b_format": "float8_e4m3fn"}, "along m or n"),
        ({"block_n": 64, "spread": 2, "parts": 2}, "the same k"),
        ({"block_n": 64, "across": 2, "groups": 2}, "the same k"),
        ({"block_n": 24, "spread": 2}, "two equal halves"),
        ({"block_n": 64, "across": 2, "a_sides": True, "consumers": 1}, "two equal halves"),
        ({"block_n": 64, "later": True}, "each one program's"),
        ({"block_n": 64, "later": True, "groups": 4, "parts": 2}, "each one program's"),
        ({"block_n": 64, "lean": True}, "add later"),
        ({"block_n": 192, "lean": True, "later": True, "groups": 4}, "whose sums leave some"),
        ({"block_n": 64, "direct": True, "rows_store": True}, "16 bits on the road"),
        ({"block_n": 64, "direct": True, "d_format": "float32"}, "16 bits on the road"),
        ({"block_n": 64, "direct": True, "parts": 2}, "16 bits on the road"),
        ({"block_n": 64, "rows_store": True, "d_format": "float32", "swapped": True}, "own rows"),
        ({"block_n": 64, "rows_store": True, "d_format": "float32", "parts": 2}, "own rows"),
        ({"block_n": 64, "lag": 1, "consumers": 1}, "two warpgroups"),
        ({"block_n": 64, "lag": 3}, "two stages more"),
        ({"block_n": 64, "lag": 1, "consumers": 3}, "two warpgroups"),
        ({"block_n": 64, "consumers": 4}, "1 to 3"),
        ({"block_n": 208, "consumers": 3}, "registers for the sums"),
        ({"block_n": 160, "consumers": 3, "rows_store": True}, "registers for the sums"),
        ({"block_n": 64, "consumers": 3, "groups": 2}, "all of k"),
        ({"block_n": 64, "consumers": 3, "resident": 2}, "one consumer each"),
        ({"block_n": 64, "pieces": 2}, "without promotion"),
        ({"block_n": 64, "resident": 2}, "one consumer each"),
        ({"block_n": 256, "stages": 5}, "bytes a program"),
    ],
)
def test_what_hopper_cannot_hold_is_refused(fields, said):
    with pytest.raises(GemmlabError, match=said):
        Engine(**BF16 | fields)


def test_programs_of_a_cluster_share_what_they_fetch():
    four = Engine(**BF16, block_n=128, stages=7, spread=2, across=2, groups=30, later=True)
    assert (four.together, four.cluster, four.shares) == (4, 4, 30)
    assert four.tiles(256, 256) == 4
    assert four.programs(256, 256, 132) == 120
    assert four.tiles(257, 256) == 8, "whole clusters, one below the other"
    assert four.tiles(256, 257) == 8
    alone = Engine(**BF16, block_n=128, stages=6)
    assert alone.tiles(257, 257) == 9
    beside = Engine(**BF16, block_n=8, consumers=1, stages=4, resident=4)
    assert beside.programs(4096, 4096, 132) == 528, "as many as run at once"
    assert beside.programs(64, 64, 132, batch=50) == 400
    pairs = Engine(**BF16, block_n=128, stages=6, across=2)
    assert pairs.tiles(257, 257) == 12
    assert pairs.programs(4096, 4096, 131) == 130, "no half of a pair"


def test_a_tile_of_two_instructions_is_one_tile():
    wide = Engine(**BF16, block_n=320, stages=3, spread=2)
    assert (wide.halves, wide.store_n, wide.tiles(8192, 8192)) == (2, 64, 64 * 26)
    assert "m64n160k16" in wide.instruction()
    assert "sums[79]" in wide.instruction()
    assert "sums[80]" not in wide.instruction()
    assert Engine(**BF16, block_n=256).halves == 1


def test_blocks_that_add_are_spread_evenly_where_they_are_held_back():
    four = {"block_n": 128, "stages": 7, "spread": 2, "across": 2, "groups": 7, "later": True, "early": True}
    blocks, asked_for = Engine(**BF16, **four).added(512, 512, 132)
    assert (blocks, asked_for) == (512 * 512 // 512, 0)
    engine = Engine(**BF16, **four, hold=True)
    same, asked_for = engine.added(512, 512, 132)
    own = BLOCK_BYTES + 16 * 32 * engine.slices * engine.beside
    assert same == blocks
    assert 4 * (asked_for + own) <= SM_SHARED_BYTES < 5 * (asked_for + own), "four on an SM, 132 times, and no more"
    many, none = engine.added(65536, 65536, 132)
    assert many > 132 * SM_SHARED_BYTES // own
    assert none == 0, "whatever is asked for, they do not all run at once"


def asked(*sides, dtype, device):
    """What a workspace asks torch for: zeros and others."""

    class Memory:
        def data_ptr(self):
            return 4096

    return Memory()


class Torch:
    """As much of torch as a workspace asks for."""

    float32, int32 = "float32", "int32"

    def __init__(self):
        self.asked = {}

    def empty(self, count, dtype, device):
        self.asked[dtype] = count
        return asked(count, dtype=dtype, device=device)

    zeros = empty


@pytest.mark.parametrize("later", [False, True])
def test_all_groups_sums_have_room_and_counters_only_where_they_count(later):
    engine = Engine(**BF16, block_n=128, stages=6, groups=8, later=later)
    torch = Torch()
    _, (sums, counters) = workspace_of(engine, 200, 300, torch, 0)
    assert torch.asked["float32"] == 2 * 3 * 8 * 128 * 128
    assert torch.asked.get("int32", 0) == (0 if later else 2 * 3)
    assert sums
    assert bool(counters) == (not later)
    assert workspace_of(Engine(**BF16, block_n=128), 200, 300, Torch(), 0) == ([], (0, 0))


def test_a_long_k_is_shared_by_as_many_programs_as_run_at_once():
    found = [engine for engine in engines(LONG) if engine.later]
    assert {(engine.spread, engine.across) for engine in found} == set(TOGETHER)
    for engine in found:
        assert engine.groups > PARTS
        assert engine.programs(LONG.m, LONG.n, 132) <= FITTING[engine.cluster]
        assert engine.tiles(LONG.m, LONG.n) % engine.cluster == 0
    chosen = plan_for(LONG).kernel
    assert chosen.later
    assert chosen.programs(LONG.m, LONG.n, 132) > 100
    assert chosen.together > 1, "each line leaves L2 less often"


def test_no_order_of_one_s_own_is_given_up_for_speed():
    import msgspec

    assert not [engine for engine in engines(msgspec.structs.replace(LONG, deterministic=True)) if engine.shares > 1]


def test_a_warpgroup_without_rows_is_not_planned_for_later_sums():
    few = Request(m=64, n=4096, k=65536, **BF16)
    assert not [e for e in engines(few) if e.later and e.consumers == 2 and not e.swapped]
    assert [e for e in engines(few) if e.later and e.consumers == 1]


@pytest.mark.parametrize("groups", [2, 9, 10, 33, 66, 132, 200])
def test_warps_that_add_later_have_all_groups_between_them(groups):
    engine = Engine(**BF16, block_n=64, stages=4, groups=groups, later=True)
    assert engine.slices * -(-groups // engine.slices) >= groups
    assert engine.beside in (1, 2, 4)
    assert 32 * engine.slices * engine.beside <= 512
    assert -(-groups // engine.slices) <= max(SLICE_GROUPS, 13), "registers of a warp's sums"
