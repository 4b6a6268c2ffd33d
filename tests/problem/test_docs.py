"""The examples of the concept page, run."""

import doctest
from pathlib import Path


def test_the_examples_of_the_page_hold():
    page = Path(__file__).parents[2] / "docs" / "concepts" / "problem.md"
    results = doctest.testfile(str(page), module_relative=False)
    assert results.attempted > 15
    assert results.failed == 0
