"""Everything that a kernel moves for a problem, counted."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from gemmlab.count.on_chip import step_of
from gemmlab.count.operands import (
    Operand,
    a_traffic,
    b_traffic,
    bias_traffic,
    naive_traffic,
    output_traffic,
    stored_a,
    stored_b,
    stored_output,
)
from gemmlab.count.residues import SECTOR_BITS
from gemmlab.count.side_data import metadata_traffic, scale_traffic
from gemmlab.count.traffic import Traffic, together
from gemmlab.count.visits import Stride, Walk, spans, starts
from gemmlab.formats import bits_of
from gemmlab.kernels import Kernel, checked
from gemmlab.problem import Gemm
from gemmlab.problem.epilogue import cost
from gemmlab.record import Count
from gemmlab.units import ceil_div


class Counted(NamedTuple):
    """One multiplication without groups: traffic of global memory by operand, the rest by total."""

    a: Traffic
    b: Traffic
    c: Traffic  #: read where beta is not 0
    side: Traffic  #: epilogue operands, block scales, 2:4 metadata
    d: Traffic
    workspace: Traffic  #: partial results of split_k, written once and read once
    shared_load_bits: int
    shared_store_bits: int
    register_elements: int
    padded_flop: int
    programs: int


def count(problem: Gemm, kernel: Kernel) -> Count:
    """The Record's `count`: what all programs together ask for, exact, before any cache.

    Loads are A, B, C (only where beta is not 0), epilogue operands, block scales and 2:4 metadata. With split_k above 1
    every program writes its partial tile, in the accumulator's format, to a workspace; a reduction over the same tiles
    reads them, runs the epilogue and writes D: both passes are in loads and stores, and one of them by itself in
    `workspace_bytes`. `programs` are output tiles times ranges of k, which a persistent kernel's blocks walk in turn.
    Groups and batch entries add up. A cluster's multicast changes no program's requests: what clusters share is the
    model's concern. Raises GemmlabError where the kernel does not fit the problem.
    """
    checked(kernel, problem)
    parts = [one(member, kernel, moved) for member, moved in placed_members(problem)]
    loads = [(part.a, part.b, part.c, part.side, part.workspace) for part in parts]
    read = together(traffic for part in loads for traffic in part)
    written = together(traffic for part in parts for traffic in (part.d, part.workspace))
    load_bytes = sum(traffic.bytes for part in loads for traffic in part)
    store_bytes = sum(part.d.bytes + part.workspace.bytes for part in parts)
    return Count(
        flop=problem.flop,
        epilogue_flop=problem.epilogue_flop,
        global_load_elements=read.elements,
        global_load_bytes=load_bytes,
        global_store_bytes=store_bytes,
        compulsory_bytes=problem.compulsory_bytes,
        raw_bytes=load_bytes,
        sectors_requested=read.sectors,
        store_sectors=written.sectors,
        shared_load_bytes=sum(ceil_div(part.shared_load_bits, 8) for part in parts),
        shared_store_bytes=sum(ceil_div(part.shared_store_bits, 8) for part in parts),
        register_load_elements=sum(part.register_elements for part in parts),
        intensity_flop_per_byte=problem.flop / (load_bytes + store_bytes),
        padded_flop=sum(part.padded_flop for part in parts),
        programs=sum(part.programs for part in parts),
        load_requests=read.requests,
        store_requests=written.requests,
        workspace_bytes=sum(part.workspace.bytes for part in parts),
    )


def placed_members(problem: Gemm) -> Iterator[tuple[Gemm, tuple[int, int, int]]]:
    """Each member of a group, and how far earlier ones move its A, B (bits) and outputs (elements) within a sector."""
    a = b = outputs = 0
    for member in problem.members:
        yield member, (a, b, outputs)
        a = (a + stored_a(member).entry_bits) % SECTOR_BITS
        b = (b + stored_b(member).entry_bits) % SECTOR_BITS
        outputs = (outputs + member.m * member.ldc) % SECTOR_BITS


@lru_cache(maxsize=512)
def one(problem: Gemm, kernel: Kernel, moved: tuple[int, int, int]) -> Counted:
    """One multiplication without groups, its operands moved by bits of A, bits of B, elements of the outputs."""
    walk = Walk(problem.m, problem.k, kernel.block_m, kernel.block_k)
    a, b = stored_a(problem, moved[0]), stored_b(problem, moved[1])
    of_a, of_b, visits = [], [], 0
    for span in spans(problem, kernel):
        if kernel.family == "naive":
            of_a.append(naive_traffic(problem, kernel, a, span, of_a=True))
            of_b.append(naive_traffic(problem, kernel, b, span, of_a=False))
        else:
            of_a.append(a_traffic(problem, kernel, a, span))
            of_b.append(b_traffic(problem, kernel, b, span))
        for whole in (True, False):
            visits += sum(starts(walk, span, range(walk.blocks), Stride(0, 0), whole_steps=whole).values())
    across = ceil_div(problem.n, kernel.block_n)
    steps = visits * across * problem.batch
    step = step_of(problem, kernel)
    outputs = {
        name: stored_output(problem, name, moved[2] * bits_of(name)) for name in (problem.c_format, problem.d_format)
    }
    a_all, b_all = together(of_a), together(of_b)
    return Counted(
        a=a_all,
        b=b_all,
        c=output_traffic(problem, kernel, outputs[problem.c_format], problem.batch) if problem.beta else Traffic(),
        side=side_traffic(problem, kernel),
        d=output_traffic(problem, kernel, outputs[problem.d_format], problem.batch),
        workspace=workspace_traffic(problem, kernel),
        shared_load_bits=steps * step.shared_load_bits,
        shared_store_bits=steps * step.shared_store_bits,
        register_elements=a_all.elements + b_all.elements
        if kernel.family == "naive"
        else steps * step.register_elements,
        padded_flop=steps * step.flop,
        programs=walk.blocks * across * kernel.split_k * problem.batch,
    )


def side_traffic(problem: Gemm, kernel: Kernel) -> Traffic:
    """The epilogue's operands (gapless, at a sector boundary), block scales and 2:4 metadata."""
    needs = cost(problem.epilogue)
    bits = bits_of(problem.c_format)
    plain = Operand(problem.m, problem.n, bits, problem.n * bits)
    residual = output_traffic(problem, kernel, plain, problem.batch) if needs.matrices else Traffic()
    bias = bias_traffic(problem, kernel, plain) if needs.rows else Traffic()
    parts = [residual] * needs.matrices + [bias] * needs.rows
    return together([*parts, scale_traffic(problem, kernel), metadata_traffic(problem, kernel)])


def workspace_traffic(problem: Gemm, kernel: Kernel) -> Traffic:
    """One pass over the partial results: split_k gapless m x n matrices a batch entry, in the accumulator's format."""
    if kernel.split_k == 1:
        return Traffic()
    bits = bits_of(problem.accumulate)
    partial = Operand(problem.m, problem.n, bits, problem.n * bits)
    return output_traffic(problem, kernel, partial, problem.batch * kernel.split_k)
