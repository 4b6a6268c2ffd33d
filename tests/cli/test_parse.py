"""Words of a command line as values: flags of several values take the words that are theirs, and no more."""

import pytest

from gemmlab.cli.options import EXPLAIN
from gemmlab.cli.parse import parse
from gemmlab.record import GemmlabError


def parsed(*words):
    plain, given = parse(words, EXPLAIN, "help")
    return plain, given.get("inputs"), given.get("arguments")


@pytest.mark.parametrize(
    ("words", "plain", "inputs"),
    [
        ("m.py:Net --inputs a=8x8:int64 b=4", ("m.py:Net",), ("a=8x8:int64", "b=4")),
        ("--inputs 8x8 4x4 m.py:Net", ("m.py:Net",), ("8x8", "4x4")),
        ("--inputs int64 8x8=0.5 package.module:Net", ("package.module:Net",), ("int64", "8x8=0.5")),
        ("--inputs 8x8 package:Net", ("package:Net",), ("8x8",)),
        ("--inputs=8x8 4x4 --inputs 2x2 -- m.py:Net", ("m.py:Net",), ("8x8", "4x4", "2x2")),
        ("--inputs a=8x8 use_cache=false --inference m", ("m",), ("a=8x8", "use_cache=false")),
    ],
)
def test_further_words_are_inputs_up_to_a_flag_or_a_source(words, plain, inputs):
    assert parsed(*words.split())[:2] == (plain, inputs)


def test_quotation_marks_make_no_difference():
    assert parsed("m", "--inputs", "a=8x8 b=4x4") == parsed("m", "--inputs", "a=8x8", "b=4x4")
    assert parsed("m", "--arguments", "a=1 b=x") == parsed("m", "--arguments", "a=1", "b=x")


def test_a_value_with_blanks_is_one():
    assert parsed("m", "--arguments", "sizes=[1, 2]", "name=two words")[2] == (
        ("sizes", "[1, 2]"),
        ("name", "two words"),
    )


def test_a_flag_of_many_values_needs_one():
    for words in (("m", "--inputs"), ("m", "--inputs", "--inference"), ("m", "--arguments", "--top", "3")):
        with pytest.raises(GemmlabError, match="has no value"):
            parsed(*words)
