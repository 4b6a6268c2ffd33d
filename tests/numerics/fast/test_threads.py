"""Work on rectangles: each output once, and an interruption that does not wait for all of them."""

import threading

import numpy as np
import pytest

from gemmlab.numerics.fast.threads import LEAST_ROWS, MOST_THREADS, PIECES, spread


@pytest.mark.parametrize("threads", [None, 1, 2, 7, 10**20])
@pytest.mark.parametrize(("rows", "wide"), [(0, 3), (1, 1), (1, 100), (7, 1), (13, 5), (1000, 1), (2048, 3)])
def test_every_output_is_in_one_rectangle(rows, wide, threads):
    seen = np.zeros((rows, wide), int)

    def task(first, last, left, right):
        seen[first:last, left:right] += 1

    spread(task, rows, wide, threads)
    assert (seen == 1).all()


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interruption_leaves_out_what_nobody_has_begun(threads):
    begun = []

    def task(*rectangle):
        begun.append(rectangle)
        if len(begun) == 1:
            raise KeyboardInterrupt
        threading.Event().wait(0.01)

    with pytest.raises(KeyboardInterrupt):
        spread(task, LEAST_ROWS * PIECES, 1, threads)
    assert len(begun) < PIECES / 2


def test_no_more_threads_than_anyone_has():
    spread(lambda *_: None, 10, 10, MOST_THREADS * 1000)
    assert threading.active_count() < MOST_THREADS
