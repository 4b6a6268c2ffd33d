"""The events of a trace's text, decoded one by one: a large file never stands in memory as Python values."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import msgspec

from gemmlab.record import GemmlabError
from gemmlab.workload.traces.devices import devices_of
from gemmlab.workload.traces.foreign import refuse_keys
from gemmlab.workload.traces.mending import mended, pieces

Text = bytes | bytearray
BROKEN = (msgspec.DecodeError, UnicodeDecodeError)


class Event(msgspec.Struct, gc=False):
    """One event as the Chrome trace format has it; times in microseconds, whatever displayTimeUnit says."""

    ph: str = ""
    cat: str = ""
    name: str = ""
    ts: msgspec.Raw = msgspec.Raw()  #: undecoded: a float64 of microseconds since boot tells no nanoseconds apart
    dur: float | None = None
    pid: int | str = 0
    tid: int | str = 0
    args: msgspec.Raw = msgspec.Raw()


class Head(msgspec.Struct):
    """What stands beside the events."""

    traceEvents: list[msgspec.Raw] | None = None  # noqa: N815 - the file's own key
    deviceProperties: msgspec.Raw = msgspec.Raw()  # noqa: N815


decode_event = msgspec.json.Decoder(Event, strict=False).decode
decode_head = msgspec.json.Decoder(Head).decode
decode_list = msgspec.json.Decoder(list[msgspec.Raw]).decode


class Events:
    """All events of a text, in its order, and the devices it names.

    `mended` counts events whose JSON was broken in a way that Kineto is known for. Raises GemmlabError for a text that
    is cut off, that is broken otherwise, or that is JSON without events.
    """

    def __init__(self, path: Path, text: Text) -> None:
        self.path = path
        self.mended = 0
        self.devices: list[dict[str, Any]] = []
        self.raw: list[msgspec.Raw] | list[Text] = []
        bare = text.lstrip()[:1] == b"[" if len(text) < 64 else bytes(text[:64]).lstrip()[:1] == b"["
        try:
            if bare:
                self.raw = decode_list(text)
                return
            head = decode_head(text)
        except msgspec.ValidationError:
            raise GemmlabError(f"{path} has `traceEvents` that are no list", "give a trace of torch.profiler") from None
        except BROKEN as error:
            self.raw = self.rescued(text, error)
            return
        except RecursionError:
            raise self.nested() from None
        if head.traceEvents is None:
            refuse_keys(path, msgspec.json.decode(text, type=dict[str, msgspec.Raw]).keys())
        self.raw = head.traceEvents
        self.devices = devices_of(bytes(head.deviceProperties))

    def rescued(self, text: Text, error: Exception) -> list[Text]:
        """The events of a text that is no valid JSON as a whole; raises GemmlabError where it is cut off."""
        if "truncated" in str(error) or text.rstrip(b" \t\r\n\0")[-1:] not in (b"}", b"]"):
            raise self.cut(text)
        if not holds_events(text):
            raise GemmlabError(f"{self.path} is no JSON: {error}", "give a trace of torch.profiler") from None
        found = re.search(rb'"deviceProperties"\s*:\s*(\[.*?\])\s*,\s*"', text[:100_000], re.DOTALL)
        self.devices = devices_of(found[1]) if found else []
        return pieces(text)

    def cut(self, text: Text) -> GemmlabError:
        """The error for a text that ends before its JSON does: after how much, and in which event."""
        whole = pieces(text) if holds_events(text) else []
        named = re.findall(rb'"name"\s*:\s*"([^"]{0,60})', whole[-1] if whole else b"")
        event = f", in event {len(whole):,}" if whole else ", before its first event"
        event += f" (`{named[0].decode('utf-8', 'replace')}`)" if named else ""
        return GemmlabError(
            f"{self.path} is cut off after {len(text):,} bytes{event}",
            "export it again, with room on the disk, and wait until export_chrome_trace has returned",
        )

    def __iter__(self) -> Iterator[Event]:
        for number, raw in enumerate(self.raw):
            try:
                event = decode_event(raw)
            except BROKEN:
                event = self.lenient(number, bytes(raw))
            except RecursionError:
                raise self.nested() from None
            yield event

    def nested(self) -> GemmlabError:
        """The error for lists in lists in lists."""
        return GemmlabError(f"{self.path} nests lists deeper than any profiler does", "give a trace of torch.profiler")

    def lenient(self, number: int, raw: bytes) -> Event:
        """An event with broken JSON, mended; or with fields of odd types, as far as they mean something."""
        try:
            fields = msgspec.json.decode(raw)
        except BROKEN:
            self.mended += 1
            try:
                fields = mended(raw)
            except ValueError:
                start = raw[:120].decode("utf-8", "replace")
                raise GemmlabError(
                    f"event {number + 1:,} of {self.path} is no JSON: {start}",
                    "newer versions of PyTorch escape names in full; export with one, or mend that event",
                ) from None
        return event_of(fields) if isinstance(fields, dict) else Event()


def holds_events(text: Text) -> bool:
    """Whether a text that is no JSON as a whole has a list of events all the same."""
    return b'"traceEvents"' in text or text.lstrip().startswith(b"[")


def event_of(fields: dict[str, Any]) -> Event:
    """An event by its fields, each left out where it has a type of its own."""
    event = Event()
    for name in ("ph", "cat", "name"):
        value = fields.get(name)
        if isinstance(value, str):
            setattr(event, name, value)
    for name in ("pid", "tid"):
        value = fields.get(name)
        if isinstance(value, int | str):
            setattr(event, name, value)
    with contextlib.suppress(TypeError, ValueError):
        event.dur = float(fields["dur"]) if "dur" in fields else None
    if isinstance(fields.get("ts"), int | float | str):
        event.ts = msgspec.Raw(msgspec.json.encode(fields["ts"]))
    if isinstance(fields.get("args"), dict):
        event.args = msgspec.Raw(msgspec.json.encode(fields["args"]))
    return event


def nanoseconds(recorded: msgspec.Raw) -> int:
    """A time of an event, recorded in microseconds, in whole nanoseconds; raises ValueError where it is no number."""
    text = bytes(recorded)
    if text[-4:-3] == b"." and text[:1] != b'"':
        return int(text[:-4]) * 1000 + int(text[-3:])
    if text.isdigit():
        return int(text) * 1000
    try:
        return round(Decimal(text.strip(b'"').decode()) * 1000)
    except (InvalidOperation, OverflowError):
        raise ValueError(text.decode("utf-8", "replace")) from None
