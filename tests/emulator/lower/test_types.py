"""The typing rules against numba's own, for every operator and every pair of scalar types."""

import itertools
import operator

import pytest

from gemmlab.emulator.lower import types
from gemmlab.emulator.lower.intrinsics import CALLS, FUNCTIONS

numba_types = pytest.importorskip("numba.types")

WHOLE = tuple(kind for kind in types.TYPES if not types.is_float(kind))


@pytest.fixture(scope="module")
def context():
    from numba.cuda.target import CUDATypingContext

    made = CUDATypingContext()
    made.refresh()
    return made


def numba_type(kind):
    return numba_types.boolean if kind == "bool" else getattr(numba_types, kind)


def resolved(context, function, *kinds):
    """Type of a function's result, and of its arguments, by numba; None where it has none."""
    from numba.core.errors import NumbaError

    try:
        signature = context.resolve_function_type(function, tuple(map(numba_type, kinds)), {})
    except NumbaError:
        return None
    return signature and (str(signature.return_type), tuple(map(str, signature.args)))


BINARY = {
    **dict.fromkeys(("add", "sub", "mul", "iadd", "isub", "imul"), types.arithmetic),
    **dict.fromkeys(("truediv", "itruediv"), types.division),
    **dict.fromkeys(("floordiv", "mod", "ifloordiv", "imod"), types.flooring),
    **dict.fromkeys(("pow", "ipow"), types.power),
    **dict.fromkeys(("and_", "or_", "xor", "iand", "ior", "ixor"), types.bitwise),
    **dict.fromkeys(("lshift", "rshift", "ilshift"), lambda x, y: None if types.is_float(y) else types.shift(x)),
}


@pytest.mark.parametrize("name", BINARY)
def test_results_of_operators(context, name):
    for x, y in itertools.product(types.TYPES, repeat=2):
        if name.endswith("pow") and (x, y) == ("bool", "int32"):
            continue  # numba takes float32 ** int32 here, and int64 for every other pair of bool and an integer
        found = resolved(context, getattr(operator, name), x, y)
        assert (found and found[0]) == BINARY[name](x, y), (x, y)


@pytest.mark.parametrize("name", ["lt", "le", "gt", "ge", "eq", "ne"])
def test_operands_of_comparisons(context, name):
    for x, y in itertools.product(types.TYPES, repeat=2):
        kind, operands = resolved(context, getattr(operator, name), x, y)
        assert kind == "bool"
        assert operands == (types.comparing(x, y),) * 2, (x, y)


@pytest.mark.parametrize(("name", "rule"), [("neg", types.negated), ("invert", types.inverted)])
def test_results_of_signs(context, name, rule):
    for x in types.TYPES:
        found = resolved(context, getattr(operator, name), x)
        assert (found and found[0]) == rule(x), x


def test_where_variables_meet(context):
    for x, y in itertools.product(types.TYPES, repeat=2):
        assert str(context.unify_pairs(numba_type(x), numba_type(y))) == types.meeting(x, y), (x, y)


def test_variables_of_ranges(context):
    """All one and two bounds; three where no uint64 meets a signed type, for which numba's choice follows no rule."""
    for count in (1, 2, 3):
        for bounds in itertools.product(WHOLE, repeat=count):
            if count == 3 and "uint64" in bounds and set(bounds) & set(types.SIGNED):
                continue
            found = resolved(context, range, *bounds)
            assert found[0] == f"range_state_{types.counting(*bounds)}", bounds


def test_ranges_refuse_floats():
    assert types.counting("int64", "float32") is None


@pytest.mark.parametrize("python", sorted(CALLS))
def test_results_of_functions(context, python):
    """Every pure function of one number for all types, of more for all pairs; those of bits for integers."""
    import builtins
    import math

    from numba import cuda

    module, _, name = python.partition(".")
    function = getattr({"math": math, "cuda": cuda, "builtins": builtins}[module], name)
    rule = FUNCTIONS[CALLS[python]]
    kinds = types.INTEGERS if CALLS[python] in ("popc", "clz", "ffs", "brev") else types.TYPES
    for pair in itertools.product(kinds, repeat=min(rule.arity, 2)):
        given = pair + pair[:1] * (rule.arity - len(pair))
        found = resolved(context, function, *given)
        assert found is not None, given
        taken, kind = rule.typing(*given)
        assert found[0] == kind, given
        if types.is_float(taken) and types.is_float(found[1][0]):
            assert found[1] == (taken,) * rule.arity, given
