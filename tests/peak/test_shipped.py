"""Every tuned plan that is shipped answers its request: one that no longer did would be passed over in silence."""

from pathlib import Path

import msgspec
import pytest

import gemmlab
from gemmlab.peak import store

FILES = sorted((Path(gemmlab.__file__).parent / "peak" / "tuned").glob("*.json"))


def test_there_are_some():
    assert FILES


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_entry_answers_its_request(path):
    told = msgspec.json.decode(path.read_bytes())
    device = msgspec.convert(told["device"], store.Device)
    assert device.file == path.name
    entries = store.read(path, device)
    assert len(entries) == len(told["entries"]) == len({entry.request for entry in entries})
    for entry in entries:
        plan = store.plan_of(entry)
        assert plan is not None, entry
        assert plan.kernel == store.kernel_of(entry.kernel)
        assert entry.model_s is None or entry.measured_s < entry.model_s
