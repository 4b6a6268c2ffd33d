"""Where the state of a run lies: all of it in arrays of integers, so that a run may go on where it was left.

A wave is the blocks that run at once, `TOGETHER` of them; thread t of a wave is thread t % THREADS of its block
t // THREADS.
"""

from __future__ import annotations

from typing import Any

from numba import njit

# `control`
(
    THREADS,  # of a block
    TOGETHER,  # blocks that run at once
    BLOCKS,  # of the grid
    NEXT,  # place in the order of blocks of the next wave
    BLOCK_ORDER,
    POLICY,
    ORDER,
    HEAD,  # of the queue
    COUNT,
    HELD_HEAD,  # of threads that wait before a delayed write
    HELD_COUNT,
    CURRENT,  # the thread that runs, or -1
    LEFT,  # accesses it may make before it is stopped
    SLICE,  # steps until Python is asked whether to go on
    TURN,  # steps until a thread that does not wait is put behind the others
    PASSING,  # the thread was held, and may now write
    ACCESSES,  # of the wave so far, to elements that threads share
    STEPS,  # of the launch so far: accesses and rounds of loops
    CHANGE,  # place in `changes` of the next preemption
    SCRIPT,  # place in `script`
    RANDOM,  # state of the generator
    WRONG,  # barriers that a thread of the block was absent from
    STUCK,  # warp operations that waited for a lane that does not come
    EVERYWHERE,  # every access to shared elements counts, not only those marked in `hot`
    WATCHING,  # accesses are noted in `seen`
    EPOCHS,  # rows of `hot`
    ELEMENTS,  # columns of `hot`
    HORIZON,  # accesses among which preemptions are drawn
    PREEMPTIONS,
    STARTED,  # a wave is under way
    FINISHED,
    FILL,  # memory holds NaN, not zero, before it is written
    GRID_X,
    GRID_Y,
    GRID_Z,
    BLOCK_X,
    BLOCK_Y,
    BLOCK_Z,
    BLOCK_SEED,
    TOUCHED,  # accesses to memory that threads share, hot or not
    ONE_WAVE,  # nothing follows the wave that is under way
    MOST_ACCESSES,  # of a wave
) = range(42)
CONTROLS = 42

PC, STATUS, GIVEN, MASK, LANE, KIND, QUEUE, HELD_QUEUE, SPARE = range(9)  # rows of `threads`
THREAD_ROWS = 9
ID, ALIVE, WAITING, EPOCH = range(4)  # rows of `slots`

RUN, AT_BARRIER, AT_WARP, DONE = range(4)  # STATUS
QUEUED, LOCKSTEP, SCRIPTED, STEPPED = range(4)  # POLICY
FORWARD, REVERSE, ALTERNATING, SHUFFLED = range(4)  # ORDER and BLOCK_ORDER
ENDED, ACCESS, HELD, FUEL, BARRIER, WARP = range(1, 7)  # why a thread stopped
SYNCWARP, SHFL, SHFL_UP, SHFL_DOWN, SHFL_XOR, BALLOT, ANY, ALL, EQ, ACTIVEMASK = range(10)

PATIENCE = 65536
ENDLESS = 1 << 62
MANY = 1 << 40  # instead of a thread: more than one
NOBODY, WAVE_DONE = -2, -1

# nothing here allocates or is called from C, and little from Python: to say so makes compiling quicker
QUICK: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "boundscheck": False,
    "_nrt": False,
    "no_cfunc_wrapper": True,
}
jit: Any = njit(**QUICK)
inner: Any = njit(**(QUICK | {"no_cpython_wrapper": True}))
