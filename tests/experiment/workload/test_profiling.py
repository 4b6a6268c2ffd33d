"""`gemmlab.profile_model`: a model's step answered, and what is told before anything heavy loads."""

import subprocess
import sys

import pytest

import gemmlab
from gemmlab.record import GemmlabError


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()


def test_its_name_loads_nothing_heavy():
    heavy = "[m for m in ('torch', 'numba', 'matplotlib') if m in sys.modules]"
    assert run(f"import sys, gemmlab; gemmlab.profile_model; print(*{heavy})") == []


def test_a_wrong_chip_is_told_before_torch_loads():
    code = (
        "import sys, gemmlab\n"
        "try: gemmlab.profile_model(None, chip='h300')\n"
        "except Exception as error: print(type(error).__name__, 'h300' in str(error), 'torch' in sys.modules)"
    )
    assert run(code) == ["GemmlabError", "True", "False"]


def test_a_small_model():
    torch = pytest.importorskip("torch", reason="pip install torch")
    model = torch.nn.Sequential(torch.nn.Linear(768, 3001), torch.nn.GELU(), torch.nn.Linear(3001, 768))
    answer = gemmlab.profile_model(model, torch.zeros(8192, 768), chip="h200-sxm", autocast="bfloat16")
    assert answer.chip == "h200-sxm"
    assert len(answer.rows) == 5  # forward, and gradients of both weights and of what lies between
    assert [change.line for change in answer.changes] == [
        "nn.Linear(768, 3008)  # 0: 3001 outputs before\nnn.Linear(3008, 768)  # 2: 3001 inputs before"
    ]
    forward = gemmlab.profile_model(model, torch.zeros(8192, 768), training=False)
    assert len(forward.rows) == 2
    assert forward.chip == "h100-sxm"
    with pytest.raises(GemmlabError, match="model is 3"):
        gemmlab.profile_model(3)
