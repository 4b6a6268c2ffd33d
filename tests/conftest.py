"""What holds for all tests."""

import os
from collections import Counter

from hypothesis import settings

# workers share the processors: threads that their libraries begin would wait for one another, a quarter of all time
if "PYTEST_XDIST_WORKER" in os.environ:
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, "1")

# how long one example takes says more about what else the machine does than about the code
settings.register_profile("gemmlab", deadline=None)
settings.load_profile("gemmlab")


def pytest_terminal_summary(terminalreporter):
    """Say why tests were skipped, each reason once: most name what to install."""
    skipped = terminalreporter.stats.get("skipped", ())
    reasons = Counter(str(report.longrepr[2]).removeprefix("Skipped: ") for report in skipped)
    for reason, times in reasons.most_common():
        terminalreporter.write_line(f"skipped {times}: {reason}")
