"""Limits for kernels of which one never ends: long enough for all others, on a machine that does other work too."""

LIMITS_S = (1.0, 8.0, 64.0)


def with_patience(attempt, faults, hanging=1):
    """What `attempt(limit_s)` gives under the shortest limit that no more than the `hanging` miss, or under the last.

    `faults` reads the kinds of fault from it. A kernel that never ends misses every limit; another that misses the last
    as well has a fault of its own, which the test is to see.
    """
    for limit_s in LIMITS_S:
        found = attempt(limit_s)
        if list(faults(found)).count("never ended") <= hanging:
            break
    return found
