"""What a program says of its arrays, its lines and its statements."""

import numpy as np

from emulator.lower.written import LINES_BEFORE, F, M, module, program, text
from gemmlab.emulator.lower import listing, program_of
from gemmlab.emulator.program import (
    Array,
    Atomic,
    Barrier,
    Const,
    Extent,
    For,
    If,
    Line,
    Load,
    Scope,
    Store,
    WarpOp,
    While,
    walk,
)


def arrays(body):
    return {
        name: (array.space, array.type, tuple(getattr(x, "value", x) for x in array.extents))
        for name, array in program(body).arrays.items()
        if array.space != "global"
    }


def test_arguments_are_global_arrays():
    made = program("pass")
    assert made.arrays["m"] == Array(
        "m", "global", "float32", (Extent("m", 0), Extent("m", 1)), Line(0, LINES_BEFORE + 2)
    )
    assert [(argument.name, argument.type, argument.ndim) for argument in made.arguments] == [
        ("a", "float32", 1),
        ("m", "float32", 2),
        ("n", "int64", None),
    ]
    assert made.body == ()


def test_declared_arrays():
    assert arrays("s = cuda.shared.array((TILE, 2), float32)\nt = cuda.local.array(shape=3, dtype=np.int16)") == {
        "s": ("shared", "float32", (8, 2)),
        "t": ("local", "int16", (3,)),
    }
    assert arrays("size = 4\ns = cuda.shared.array(size, 'float64')") == {"s": ("shared", "float64", (4,))}
    assert arrays("s = cuda.shared.array(4, a.dtype)") == {"s": ("shared", "float32", (4,))}
    assert arrays("s = cuda.shared.array(4 * 4, np.bool_)") == {"s": ("shared", "bool", (16,))}
    assert arrays("s = cuda.shared.array(0, float32)") == {"s": ("dynamic", "float32", (Extent("s", 0),))}


def test_two_declarations_on_one_line_are_two_arrays():
    assert list(arrays("s, t = cuda.shared.array(4, float32), cuda.shared.array(4, float32)")) == ["s", "t"]


def test_views_start_in_an_array_that_is_no_view():
    made = program("s = cuda.shared.array(16, float32)\nt = s[4:12]\nu = t[2:]\nu[0] = 1")
    assert (made.arrays["u"].base, made.arrays["u"].offset) == ("s", Const("int64", 6))
    assert made.arrays["u"].extents == (Const("int64", 6),)
    assert [s.array for s in walk(made.body) if isinstance(s, Store)] == ["u"]


def test_a_declaration_in_a_device_function_is_one_array():
    names = module("""
        @cuda.jit(device=True)
        def f(x):
            s = cuda.shared.array(4, float32)
            t = cuda.local.array(4, float32)
            s[0] = x
            t[0] = x
            return s[1] + t[1]

        @cuda.jit
        def k(a):
            a[0] = f(a[1]) + f(a[2])
    """)
    made = program_of(names["k"], F)
    assert {name: array.space for name, array in made.arrays.items()} == {
        "a": "global",
        "f.s": "shared",
        "f.t": "local",
    }


def test_a_load_goes_straight_into_its_variable():
    assert text("x = a[n]\na[0] = x") == ["x = a[n]", "a[0] = x"]
    assert text("x = cuda.atomic.add(a, 0, 1)\na[0] = x")[0] == "x = atomic add(a[0], float32(1.0))"
    assert text("cuda.atomic.add(a, 0, 1)") == ["atomic add(a[0], float32(1.0))"]


def test_sources_hold_the_text_of_every_line_with_a_site():
    made = program("x = a[0]\nif n > 2:\n    a[1] = x  # why\n")
    assert made.files[0].startswith("<written")
    assert {line.number - LINES_BEFORE - 2: text for line, text in made.sources.items()} == {
        1: "x = a[0]",
        2: "if n > 2:",
        3: "a[1] = x  # why",
    }
    assert {site.line for site in made.sites} == set(made.sources)


def test_a_device_function_of_another_file_keeps_its_file():
    other = module("@cuda.jit(device=True)\ndef f(x):\n    return x * 2\n")["f"]
    names = module("@cuda.jit\ndef k(a, f):\n    pass\n")
    names["g"] = other
    kernel = module("def outer(g):\n    @cuda.jit\n    def k(a):\n        a[0] = g(a[1])\n    return k\n")["outer"](
        other
    )
    made = program_of(kernel, F)
    assert len(made.files) == 2
    (site,) = [site for site in made.sites if site.flop]
    assert (site.line.file, made.sources[site.line]) == (1, "return x * 2")


def test_every_statement_has_a_site_of_its_kind():
    body = """
        s = cuda.shared.array(8, float32)
        for i in range(n):
            if a[i] > 2:
                continue
            while n > 3:
                break
            s[i] = a[i]
        cuda.syncthreads()
        c = cuda.syncthreads_or(n)
        b = cuda.ballot_sync(-1, n > 2)
        cuda.syncwarp()
        cuda.atomic.max(a, 0, c + b)
        if n > 9:
            return
        a[0] = 2
    """
    made = program(body)
    for statement in walk(made.body):
        site = made.sites[statement.site]
        assert site.kind == type(statement).__name__.lower()
        assert site.array == getattr(statement, "array", "")
    kinds = {type(statement) for statement in walk(made.body)}
    assert {For, If, While, Load, Store, Barrier, WarpOp, Atomic} <= kinds
    assert len({statement.site for statement in walk(made.body)}) == len(list(walk(made.body)))


def test_tests_that_read_memory_run_only_where_they_should():
    assert text("if n > 2 and a[n] > 1:\n    a[0] = 1") == [
        "$2 = (n > 2)",
        "if $2:",
        "    $1 = a[n]",
        "    $2 = (float64($1) > 1.0)",
        "if $2:",
        "    a[0] = float32(1.0)",
    ]
    assert text("while a[n] > 1 or n > 3:\n    n -= 1") == [
        "n = n",
        "while:",
        "    $1 = a[n]",
        "  ((float64($1) > 1.0) or (n > 3)):",
        "    n = (n - 1)",
    ]


def test_what_no_thread_comes_to_is_left_out():
    assert text("while True:\n    a[0] = 1\na[1] = a[2]\nx = n") == ["while:", "  True:", "    a[0] = float32(1.0)"]
    body = "if n > 2:\n    return\nelse:\n    return\nx = cuda.atomic.add(a, 0, 1)\nfor i in range(x):\n    a[i] = x"
    assert text(body) == ["if (n > 2):", "    return", "else:", "    return"]


def test_pure_choices_stay_expressions():
    assert text("a[0] = 1 if n > 2 else 0.5") == ["a[0] = float32((1.0 if (n > 2) else 0.5))"]
    assert text("x = n > 2 and n < 7 or not n") == ["x = (((n > 2) and (n < 7)) or not bool(n))"]


def test_one_return_needs_no_scope():
    one = "@cuda.jit(device=True)\ndef f(x):\n    y = x + 1\n    return y\n"
    two = "@cuda.jit(device=True)\ndef f(x):\n    if x > 2:\n        return 3\n    return x\n"
    kernel = "@cuda.jit\ndef k(a, n):\n    a[0] = f(n)\n"
    assert not any(isinstance(s, Scope) for s in walk(program_of(module(one + kernel)["k"], F, 3).body))
    (scope,) = (s for s in program_of(module(two + kernel)["k"], F, 3).body if isinstance(s, Scope))
    assert len(scope.body) == 2


def test_warp_operations():
    assert text(
        "x = cuda.shfl_down_sync(0xffffffff, a[0], 16)\ny = cuda.any_sync(-1, n > 2)\nz = cuda.activemask()"
    ) == [
        "$1 = a[0]",
        "x = shfl_down(int32(-1), $1, int32(16))",
        "y = any(int32(-1), (n > 2))",
        "z = activemask()",
    ]


def test_the_listing_names_everything():
    made = program("s = cuda.shared.array(8, float32)\ns[0] = n")
    assert listing(made).splitlines() == [
        "kernel k",
        "global a: float32[a.shape[0]]",
        "global m: float32[m.shape[0], m.shape[1]]",
        "shared s: float32[8]",
        "s[0] = float32(n)",
    ]


def test_members_of_cuda_under_other_names():
    names = module("""
        import numba
        import numba.cuda as gpu
        from math import sqrt
        from numba.cuda import syncthreads, grid

        @cuda.jit
        def k(a):
            i = grid(1) + gpu.threadIdx.x + numba.cuda.laneid
            syncthreads()
            a[i] = sqrt(a[i]) + numba.float32(i) + np.float32(np.pi)
    """)
    made = program_of(names["k"], F)
    assert [type(statement).__name__ for statement in made.body] == ["Assign", "Barrier", "Load", "Store"]


def test_constants_are_those_of_their_type():
    made = program("a[0] = 0.1")
    (store,) = made.body
    assert store.value == Const("float32", float(np.float32(0.1)))
    assert program("a[0] = np.uint8(300)").body[0].value == Const("float32", 44.0)
    assert M.shape == (8, 8)
