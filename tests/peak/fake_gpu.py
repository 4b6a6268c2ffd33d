"""A GPU in words: torch's tensors on the CPU, a clock that launches move on, graphs that replay what was captured."""

from contextlib import contextmanager
from types import SimpleNamespace


class Cuda:
    """What is used of torch.cuda."""

    def __init__(self):
        self.now, self.recording, self.launches = 0.0, None, 0

    def graph_pool_handle(self):
        return "pool"

    def synchronize(self):
        """Nothing is under way."""

    def current_stream(self, device=None):
        return SimpleNamespace(cuda_stream=0)

    def CUDAGraph(self):
        calls = []
        return SimpleNamespace(calls=calls, replay=lambda: [call() for call in calls])

    @contextmanager
    def graph(self, graph, pool=None):
        self.recording = graph.calls
        yield
        self.recording = None

    def Event(self, enable_timing):
        event = SimpleNamespace(at=0.0)
        event.record = lambda: setattr(event, "at", self.now)
        event.elapsed_time = lambda end: (end.at - event.at) * 1e3
        return event

    def run(self, call):
        """Do it now, or record it while a graph is captured."""
        if self.recording is None:
            call()
        else:
            self.recording.append(call)


class Torch:
    """torch, but for its GPU."""

    def __init__(self, torch):
        self.torch, self.cuda, self.known = torch, Cuda(), {}

    def __getattr__(self, name):
        return getattr(self.torch, name)


def chain_of(fake, seconds, multiply):
    """In place of `Chain`: launches that take `seconds(plan)` and put `multiply(plan, a, b)` into D.

    Operands are found by their addresses, at which memory lies that `fake.known` lists.
    """

    class Chain:
        buffer_bytes, zero_bytes = 512, 1 << 17

        def __init__(self, torch, plan, *operands):
            self.plan = plan

        def __call__(self, places, stream):
            a, b, d = (fake.known[place] for place in places[:3])

            def once():
                fake.cuda.now += seconds(self.plan)
                fake.cuda.launches += 1
                d.copy_(multiply(self.plan, a, b))

            fake.cuda.run(once)

    return Chain
