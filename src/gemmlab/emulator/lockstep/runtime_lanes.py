"""What generated kernels call where lanes of a warp meet, and for memory that is a thread's own."""

from __future__ import annotations

import numpy as np

from gemmlab.emulator.lockstep.runtime import ABSENT_LANE, UNINITIALISED, jit, note
from gemmlab.emulator.lockstep.runtime_shadow import EBARRIERS, EBLOCK, ENOW


@jit
def first_active(P, m, masked, threads):  # type: ignore[no-untyped-def]
    """The element that the first active thread touches, relative to the access's offset; negative if out of range."""
    for t in range(threads):
        if not masked or m[t]:
            return P[t]
    return np.int64(-1)


@jit
def local_read(P, U, m, threads, written, site, E, F):  # type: ignore[no-untyped-def]
    """Threads read elements of their own: note those that they never wrote."""
    for t in range(threads):
        if m[t] and P[t] >= 0 and written[P[t] + U] == 0:
            element = (P[t] + U) // threads
            note(F, UNINITIALISED, site, -1, element, t, -1, E[EBARRIERS], E[EBLOCK], 0, 0, 0, 0, 0)


@jit
def local_store(P, U, m, threads, written, left, M, X, valued):  # type: ignore[no-untyped-def]
    """Threads write elements of their own; returns how many of them were unwritten, where any are `left`."""
    fresh = 0
    for t in range(threads):
        if m[t] and P[t] >= 0:
            a = P[t] + U
            if left > 0 and written[a] == 0:
                written[a] = 1
                fresh += 1
            if valued:
                M[a] = X[t]
    return fresh


@jit
def members(masks, m, threads, site, E, F):  # type: ignore[no-untyped-def]
    """Every lane that a member mask names must be here."""
    for t in range(threads):
        if not m[t]:
            continue
        start = t & ~31
        for lane in range(32):
            if (masks[t] >> lane) & 1 and (start + lane < threads and not m[start + lane]):
                note(F, ABSENT_LANE, site, -1, 0, t, start + lane, E[EBARRIERS], E[EBLOCK], 0, 0, 0, 0, 0)
                return
        if not (masks[t] >> (t & 31)) & 1:
            note(F, ABSENT_LANE, site, -1, 0, t, t, E[EBARRIERS], E[EBLOCK], 0, 0, 0, 0, 0)
            return


@jit
def meet(masks, m, threads, S, E):  # type: ignore[no-untyped-def]
    """A syncwarp: in warps all of whose active lanes are members, what lanes did before is before what they do next."""
    E[ENOW] += 1
    for start in range(0, threads, 32):
        together = False
        for t in range(start, min(start + 32, threads)):
            if m[t]:
                together = True
        for t in range(start, min(start + 32, threads)):
            for other in range(start, min(start + 32, threads)):
                if m[t] and m[other] and not (masks[t] >> (other & 31)) & 1:
                    together = False
        if together:
            S[start >> 5] = E[ENOW]


@jit
def source_lane(kind, t, lane, threads):  # type: ignore[no-untyped-def]
    """The thread whose value a shuffle gives to t: its own where the lane asked for is not in the warp."""
    own = t & 31
    if kind == 0:
        source = lane & 31
    elif kind == 1:
        source = own - (lane & 31)
    elif kind == 2:
        source = own + (lane & 31)
    else:
        source = own ^ (lane & 31)
    if source < 0 or source > 31 or (t & ~31) + source >= threads:
        return t
    return (t & ~31) + source


@jit
def votes(X, m, threads, V, Q):  # type: ignore[no-untyped-def]
    """For each warp: a bit for each active lane whose vote is yes, and for each active lane."""
    V[:] = 0
    Q[:] = 0
    for t in range(threads):
        if m[t]:
            Q[t >> 5] |= np.int64(1) << (t & 31)
            if X[t]:
                V[t >> 5] |= np.int64(1) << (t & 31)


@jit
def votes_equal(X, m, threads, V, Q):  # type: ignore[no-untyped-def]
    """For each warp: 1 where all active lanes hold one value, else 0."""
    V[:] = 1
    Q[:] = -1
    for t in range(threads):
        if m[t]:
            if Q[t >> 5] < 0:
                Q[t >> 5] = t
            elif X[t] != X[Q[t >> 5]]:
                V[t >> 5] = 0
