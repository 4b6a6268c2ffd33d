"""PyTorch's models as workloads: one step is traced with tensors that have no elements, so no GPU and no weights."""

from gemmlab.workload.models.inputs import parse_inputs
from gemmlab.workload.models.loading import load_model
from gemmlab.workload.models.tracing import trace_model

__all__ = ["load_model", "parse_inputs", "trace_model"]
