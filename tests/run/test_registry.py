"""Which contenders there are, and what is said of names that are none."""

import os
import sys
from pathlib import Path

import pytest

from gemmlab.problem import Gemm
from gemmlab.record import GemmlabError
from gemmlab.run import registry
from gemmlab.run.contender import BACKENDS

HERE = Path(__file__).parent


@pytest.mark.parametrize("backend", registry.backends())
def test_every_contender_is_whole(backend):
    found = registry.contenders_of(backend)
    assert len({each.name for each in found}) == len(found)
    for each in found:
        assert each.backend == backend
        assert each.idea
        assert each.formats
        assert ":" in each.source
        if each.counted_by:
            from gemmlab import kernels

            kernels.get(each.counted_by, problem=Gemm(64, 64, 64, each.formats[0]), **each.settings)


def test_backends_are_known_ones():
    assert "cpu" in registry.backends()
    assert set(registry.backends()) <= set(BACKENDS)


def test_tables_load_nothing_heavy():
    import json
    import subprocess
    import sys

    script = (
        "import json, sys; from gemmlab.run import registry; [registry.contenders_of(b) for b in registry.backends()];"
        "print(json.dumps(sorted(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert not {"numba", "torch", "triton", "numpy"} & set(json.loads(done.stdout))


def test_names_choose_in_their_order_and_once():
    found = registry.contenders(["numpy", "cpu:naive", "numpy"], ["cpu"])
    assert [each.name for each in found] == ["numpy", "naive"]


def test_without_names_all_that_take_the_formats():
    found = registry.contenders([], ["cpu"], ("float64", "float64"))
    assert "numpy" in [each.name for each in found]
    assert all("float64" in each.formats for each in found)


@pytest.mark.parametrize(
    ("names", "backends", "said"),
    [
        (["nunpy"], ["cpu"], "unknown kernel `nunpy`\n\nhint: the nearest: numpy"),
        (["numpy"], ["gpu"], "unknown backend `gpu`"),
        ([], ["cpu"], "no kernel of cpu takes int4"),
        (["absent.py:f"], ["cpu"], "no file `absent.py`"),
        (["absent.py"], ["cpu"], "kernel `absent.py` names no function"),
    ],
)
def test_what_is_none_is_said(names, backends, said):
    with pytest.raises(GemmlabError) as caught:
        registry.contenders(names, backends, ("int4", "int4"))
    assert said in str(caught.value)


def test_a_file_of_ones_own_goes_to_the_backend_that_takes_its_language(tmp_path):
    for name in ("mine.py", "mine.wgsl"):
        (tmp_path / name).write_text("")
    (kernel,) = registry.contenders([f"{tmp_path}/mine.wgsl:main;tile=4x8"], ["cpu", "webgpu"])
    assert (kernel.backend, kernel.name) == ("webgpu", "main;tile=4x8")
    assert kernel.source.endswith(f"{tmp_path}/mine.wgsl:main;tile=4x8")
    (kernel,) = registry.contenders([f"{tmp_path}/mine.py:mine"], ["webgpu", "cpu"])
    assert kernel.backend == "cpu"
    with pytest.raises(GemmlabError, match=r"\.wgsl files do not run on cpu"):
        registry.contenders([f"{tmp_path}/mine.wgsl:main"], ["cpu"])


def test_kernels_of_one_name_are_told_apart_by_their_files(tmp_path):
    for name in ("one.py", "two.py", "other/one.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    one, two, other = (f"{tmp_path}/{name}:numpy" for name in ("one.py", "two.py", "other/one.py"))
    assert [each.name for each in registry.contenders([one, two], ["cpu"])] == ["one.py:numpy", "two.py:numpy"]
    assert [each.name for each in registry.contenders([one, "numpy"], ["cpu"])] == ["one.py:numpy", "numpy"]
    assert [each.name for each in registry.contenders([one, one], ["cpu"])] == ["numpy"]
    with pytest.raises(GemmlabError, match=r"two kernels are called one\.py:numpy"):
        registry.contenders([one, other], ["cpu"])


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="names there are bytes")
def test_a_file_whose_name_could_not_be_kept_is_refused(tmp_path):
    path = os.fsencode(tmp_path) + b"/\xff.py"
    with open(path, "w"):
        pass
    with pytest.raises(GemmlabError, match=r"is no UTF-8\n\nhint: rename the file"):
        registry.contenders([f"{os.fsdecode(path)}:f"], ["cpu"])
