"""Record a trace of a small training step on a CPU with the PyTorch at hand: python tests/workload/record_cpu.py

Writes data/cpu_torch_VERSION.json.gz, and beside the trace's own keys `flop`, what torch.utils.flop_counter counts.
"""

import gzip
import json
import tempfile
from pathlib import Path

import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.profiler import ProfilerActivity, profile, schedule
from torch.utils.flop_counter import FlopCounterMode

DATA = Path(__file__).parent / "data"


class Net(nn.Module):
    """A convolution, attention of its pixels, and a linear layer."""

    def __init__(self):
        super().__init__()
        self.pixels, self.parts, self.out = nn.Conv2d(3, 16, 3, 2), nn.Linear(16, 48), nn.Linear(16, 5)

    def forward(self, x):
        y = self.pixels(x).flatten(2).transpose(1, 2)
        q, k, v = (each.unsqueeze(1) for each in self.parts(y).chunk(3, -1))
        with sdpa_kernel(SDPBackend.MATH):
            mixed = nn.functional.scaled_dot_product_attention(q, k, v)
        return self.out(torch.einsum("bhlc->bc", mixed))


def main():
    torch.manual_seed(0)
    network = Net()
    optimizer = torch.optim.SGD(network.parameters(), 0.1)
    flop = []
    options = {"schedule": schedule(wait=0, warmup=1, active=2), "record_shapes": True, "with_stack": True}
    with profile(activities=[ProfilerActivity.CPU], **options) as profiler:
        for turn in range(3):
            with FlopCounterMode(display=False) as counter:
                network(torch.ones(2, 3, 9, 9)).sum().backward()
            flop.append(counter.get_total_flops())
            optimizer.step()
            optimizer.zero_grad()
            if turn < 2:
                profiler.step()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(path))
        trace = json.loads(path.read_text())
    host = {"hostname", "host_name", "trace_id", "traceName"}
    trace = {name: value for name, value in trace.items() if name not in host} | {"flop": sum(flop[1:])}
    kept = ("cpu_op", "user_annotation")
    trace["traceEvents"] = [
        event for event in trace["traceEvents"] if event.get("cat") in kept or "nn.Module" in event.get("name", "")
    ]
    version = ".".join(torch.__version__.split(".")[:2])
    target = DATA / f"cpu_torch_{version}.json.gz"
    target.write_bytes(gzip.compress(json.dumps(trace, separators=(",", ":")).encode(), 9, mtime=0))
    print(f"{target}: {target.stat().st_size:,} bytes, {trace['flop']:,} FLOP")


if __name__ == "__main__":
    main()
