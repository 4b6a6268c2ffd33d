"""One step under way: the model without its weights, watched from three sides. Imported while tracing."""

from __future__ import annotations

import contextlib
import inspect
import sys
import warnings
from collections.abc import Mapping
from typing import Any

import torch
from torch.utils._pytree import tree_map

from gemmlab.record import GemmlabError
from gemmlab.workload.models import arithmetic, flexible, fusing
from gemmlab.workload.models.collecting import collected
from gemmlab.workload.models.failures import failure, place_of
from gemmlab.workload.models.inputs import described
from gemmlab.workload.models.optimizers import optimizer_step
from gemmlab.workload.models.outcome import outcome_of
from gemmlab.workload.models.places import Places
from gemmlab.workload.models.pretending import Pretending
from gemmlab.workload.models.reading import EVEN, GROUPED, Names
from gemmlab.workload.models.recorder import MOST_KNOWN, Recorder
from gemmlab.workload.models.sizes import sizes_of
from gemmlab.workload.models.stand_in import stand_ins
from gemmlab.workload.models.tracing import kept_strides
from gemmlab.workload.workload import Workload


class Step:
    """Forward and backward of a model, once."""

    def __init__(self, model: Any, source: str, notes: list[str]) -> None:
        self.model, self.source, self.notes = model, source, notes
        self.places, self.names = Places(model), Names()
        self.recorder = Recorder(self.places, self.names)
        self.pretending = Pretending()
        self.settings: dict[str, str] = {}

    def run(
        self, inputs: tuple[Any, ...], keywords: Mapping[str, Any], *, training: bool, loss: Any, autocast: str
    ) -> None:
        """Run the step; raises GemmlabError where it stops."""
        self.before(autocast)
        try:
            with contextlib.ExitStack() as stack:
                # what the program prints is not the answer, and its warnings are of a run that nobody asked for
                stack.enter_context(contextlib.redirect_stdout(sys.stderr))
                stack.enter_context(warnings.catch_warnings())
                warnings.simplefilter("ignore")
                stack.enter_context(torch.inference_mode(False))
                stack.enter_context(stand_ins(self.model, self.names, self.notes))
                args, words = tree_map(self.given, (inputs, dict(keywords)))
                self.check(args, words)
                self.settings["inputs"] = described(args, words)
                self.settings["memory format"] = kept_strides([*filter(is_image, self.model.parameters())])
                stack.enter_context(torch.set_grad_enabled(training))
                stack.enter_context(self.pretending.active())
                stack.enter_context(self.places.watched())
                stack.enter_context(self.recorder)
                self.forward_and_backward(args, words, training=training, loss=loss, autocast=autocast)
        except GemmlabError:
            raise
        except (Exception, SystemExit) as error:
            place = place_of(error, self.places.names, self.places.current)
            raise failure(error, self.source, place) from error

    def before(self, autocast: str) -> None:
        """What is told of the step whatever happens in it."""
        self.settings.update(arithmetic.told(arithmetic.arithmetic()))
        region = torch.is_autocast_enabled("cuda")
        self.settings["autocast"] = autocast or (str(torch.get_autocast_dtype("cuda"))[6:] if region else "")

    def given(self, value: Any) -> Any:
        """An input without its elements; small whole numbers keep theirs, in a copy."""
        if not isinstance(value, torch.Tensor):
            return value
        exact = not (value.is_floating_point() or value.is_complex() or value.is_meta)
        if exact and value.numel() <= MOST_KNOWN:
            return value.detach().cpu().clone()
        empty = torch.empty_strided(value.size(), value.stride(), dtype=value.dtype, device="meta")
        return empty.requires_grad_(value.requires_grad)

    def check(self, args: tuple[Any, ...], keywords: Mapping[str, Any]) -> None:
        """Raise GemmlabError where forward takes other arguments, which would else be said from deep inside PyTorch."""
        forward = getattr(self.model, "_orig_mod", self.model).forward
        try:
            signature = inspect.signature(forward)
        except (TypeError, ValueError):
            return
        try:
            signature.bind(*args, **keywords)
        except TypeError as error:
            takes = ", ".join(signature.parameters)
            raise GemmlabError(
                f"{self.source}: the model does not take these inputs: {error}", f"its forward takes: {takes}"
            ) from error

    def forward_and_backward(
        self, args: tuple[Any, ...], keywords: Mapping[str, Any], *, training: bool, loss: Any, autocast: str
    ) -> None:
        """The step itself."""
        cast = torch.autocast("cuda", dtype=getattr(torch, autocast)) if autocast else contextlib.nullcontext()
        with cast:
            output = self.model(*args, **keywords)
            if not training:
                return
            outcome = outcome_of(output, loss)
        self.settings["loss"] = outcome.told
        with self.recorder.pause():
            seeds = [torch.empty_like(tensor) for tensor in outcome.tensors]
        with self.recorder.backward():
            torch.autograd.backward(outcome.tensors, seeds)

    def workload(self, training: bool, optimizer: str) -> Workload:
        """What the step came to."""
        events: list[Any] = self.recorder.events
        kernels: list[fusing.Fused] = []
        if self.places.compiled:
            events, kernels = fusing.fused(events, self.places.region_of)
            self.notes.append(fusing.RULE)
            first, *more = sorted(self.places.compiled, key=lambda name: (len(name), name))
            self.settings["compiled"] = f"{first} and {len(more)} more" if len(more) > 2 else ", ".join([first, *more])
        if any(event.operation.name in GROUPED for event in events):
            self.notes.append(EVEN)
        if any(event.operation.name == flexible.FORWARD for event in events):
            self.notes.append(flexible.DENSE)
        found = collected(events)
        for kernel in kernels:
            found.add_other(fusing.NAME, kernel.phase, kernel.bytes, kernel.flop)
        others = list(found.others.values())
        if optimizer:
            step = optimizer_step(optimizer, self.model)
            others += [step] if step else []
            self.settings["optimizer"] = f"{optimizer}, fused"
        self.settings["step"] = "forward and backward" if training else "forward"
        self.settings["attention"] = ", ".join(sorted(self.pretending.kernels))
        if not self.settings["autocast"]:
            self.settings["autocast"] = ", ".join(sorted(self.pretending.autocast.seen))
        return Workload(
            source=self.source,
            kind="model",
            calls=tuple(found.calls.values()),
            others=tuple(others),
            unread=tuple(found.unread.values()),
            settings=tuple((name, value) for name, value in self.settings.items() if value),
            notes=tuple(self.notes),
            sizes=sizes_of(self.model),
        )


def is_image(value: Any) -> bool:
    """Whether it is a tensor that a memory format says something of."""
    return isinstance(value, torch.Tensor) and value.dim() == 4
