import pytest

from formats.codecs import ARRAY, SCALAR


@pytest.fixture(params=[SCALAR, ARRAY], ids=["scalar", "array"])
def codec(request):
    """The same functions on arrays, once through the scalar reference and once through numpy."""
    return request.param
