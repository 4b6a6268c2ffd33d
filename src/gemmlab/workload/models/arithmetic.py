"""What PyTorch's switches let float32 arithmetic be, as they stand at a call."""

from __future__ import annotations

from typing import Any

from gemmlab.workload.operation import Settings


def arithmetic() -> Settings:
    """The switches now: TensorFloat-32 in multiplications, and in convolutions."""
    import torch

    precise = legacy_matmul()
    return Settings(
        matmul_tf32=allowed(torch.backends.cuda.matmul, precise),
        convolution_tf32=allowed(getattr(torch.backends.cudnn, "conv", None), legacy_convolution()),
    )


def legacy_matmul() -> bool:
    """What torch.set_float32_matmul_precision allows; torch refuses to say where only the newer switch was set."""
    import torch

    try:
        return bool(torch.get_float32_matmul_precision() != "highest")
    except RuntimeError:
        return False


def legacy_convolution() -> bool:
    """What torch.backends.cudnn.allow_tf32 allows, by the same rule."""
    import torch

    try:
        return bool(torch.backends.cudnn.allow_tf32)
    except RuntimeError:
        return False


def allowed(switch: Any, legacy: bool) -> bool:
    """What a switch `fp32_precision`, of PyTorch 2.9 and later, allows; the older one's word where it is not set."""
    import torch

    chosen = getattr(switch, "fp32_precision", "none")
    if chosen == "none":  # it follows the switch for all
        chosen = getattr(torch.backends, "fp32_precision", "none")
    return bool(chosen == "tf32") if chosen != "none" else legacy


def told(settings: Settings) -> tuple[tuple[str, str], ...]:
    """The switches as a workload tells them."""
    return (
        ("float32 multiplications", "tfloat32" if settings.matmul_tf32 else "float32"),
        ("float32 convolutions", "tfloat32" if settings.convolution_tf32 else "float32"),
    )
