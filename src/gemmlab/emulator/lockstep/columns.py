"""Columns of a site's counters in compiled code."""

THREADS, REQUESTS, PIECES, SPLITS = range(4)
COLUMNS = 4
