"""CUDA's driver by ctypes, so that a launch costs the host little: modules, tensor maps, prepared launches."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

from gemmlab.record import GemmlabError

SHARED_SIZE, WIDE_CLUSTERS = (
    8,
    14,
)  # CUfunction_attribute: MAX_DYNAMIC_SHARED_SIZE_BYTES, NON_PORTABLE_CLUSTER_SIZE_ALLOWED
EARLY_START = 6  # CUlaunchAttributeID: PROGRAMMATIC_STREAM_SERIALIZATION
SWIZZLE_128 = 3  # CUtensorMapSwizzle; 0 is none
PROMOTION = 3  # CUtensorMapL2promotion: 256 bytes

#: CUtensorMapDataType of elements by their bytes: only zeros are made of them, so that integers do for all
ELEMENTS = {1: 0, 2: 1, 4: 2}


class Attribute(ctypes.Structure):
    """CUlaunchAttribute: a number of the driver's, and a value of 64 bytes."""

    _fields_ = (("id", ctypes.c_uint), ("pad", ctypes.c_uint), ("value", ctypes.c_int), ("rest", ctypes.c_byte * 60))


class Config(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = (
        *((name, ctypes.c_uint) for name in ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "shared")),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(Attribute)),
        ("count", ctypes.c_uint),
    )


@cache
def library() -> Any:
    """The driver's library, initialised; raises GemmlabError where there is none."""
    try:
        found = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise GemmlabError("no NVIDIA driver is found", "run it on a machine with an NVIDIA GPU") from error
    checked(found.cuInit(0), found)
    return found


def checked(status: int, of: Any = None) -> None:
    """Raise GemmlabError with the driver's name of a status that is not success."""
    if not status:
        return
    name = ctypes.c_char_p()
    (of or library()).cuGetErrorName(status, ctypes.byref(name))
    raise GemmlabError(f"CUDA's driver: {name.value.decode() if name.value else status}")


def enter(device: int) -> None:
    """Give a thread that has used no GPU the context of a device, as CUDA's runtime does at a thread's first call."""
    api, context = library(), ctypes.c_void_p()
    checked(api.cuCtxGetCurrent(ctypes.byref(context)))
    if not context:
        checked(api.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
        checked(api.cuCtxSetCurrent(context))


class Kernel:
    """One function of a module in the current context."""

    def __init__(self, code: bytes, name: str, shared_bytes: int = 0, *, wide_clusters: bool = False) -> None:
        self.api = library()
        self.context, self.module, self.function = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        checked(self.api.cuCtxGetCurrent(ctypes.byref(self.context)))
        checked(self.api.cuModuleLoadData(ctypes.byref(self.module), code))
        checked(self.api.cuModuleGetFunction(ctypes.byref(self.function), self.module, name.encode()))
        self.shared_bytes = shared_bytes
        if shared_bytes:
            checked(self.api.cuFuncSetAttribute(self.function, SHARED_SIZE, shared_bytes))
        if wide_clusters:
            checked(self.api.cuFuncSetAttribute(self.function, WIDE_CLUSTERS, 1))

    def prepare(self, grid: Sequence[int], threads: int, arguments: Sequence[Any], *, early: bool = False) -> Launch:
        """A launch of `grid` blocks of `threads`; arguments are ctypes values, which it keeps alive."""
        return Launch(self, (*grid, 1, 1)[:3], threads, arguments, early=early)


class Launch:
    """A launch that is ready but for its stream."""

    def __init__(
        self, kernel: Kernel, grid: Sequence[int], threads: int, arguments: Sequence[Any], *, early: bool
    ) -> None:
        self.kernel, self.arguments = kernel, arguments
        self.early = Attribute(EARLY_START, 0, 1) if early else None
        attributes = ctypes.pointer(self.early) if self.early is not None else None
        self.config = Config(*grid, threads, 1, 1, kernel.shared_bytes, None, attributes, int(early))
        self.pointers = (ctypes.c_void_p * len(arguments))(*(ctypes.addressof(each) for each in arguments))
        # ctypes passes what byref and from_param made as it is; all else it would convert at each launch
        function = ctypes.c_void_p.from_param(kernel.function.value)
        self.put: Callable[[], int] = partial(
            kernel.api.cuLaunchKernelEx, ctypes.byref(self.config), function, ctypes.byref(self.pointers), None
        )

    def __call__(self, stream: int) -> None:
        """Put it on a stream; raises GemmlabError where the driver refuses. Arguments are copied before it returns."""
        self.to(stream)
        if self.put():
            self.put_again()

    def to(self, stream: int) -> None:
        """Have `put` put it on a stream; `put` itself returns the driver's status."""
        self.config.stream = stream

    def put_again(self) -> None:
        """Lend a thread that has used no GPU yet, or another one, the context of the kernel.

        Asked only once it was refused, so that others pay nothing. Raises GemmlabError where it is refused again.
        """
        checked(self.kernel.api.cuCtxPushCurrent_v2(self.kernel.context))
        try:
            checked(self.put())
        finally:
            checked(self.kernel.api.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p())))


def tensor_map(
    address: int,
    rows: int,
    columns: int,
    ld: int,
    element_bytes: int,
    box: tuple[int, int],
    batch: tuple[int, int] | None = None,
) -> Any:
    """A CUtensorMap of a matrix stored in rows, `ld` elements apart, and boxes of (rows, columns).

    With `batch`, how many matrices there are and how many elements apart, it has three axes, boxes of one matrix. The
    address must be a multiple of 16 bytes, and so must all that lies apart; boxes whose rows are 128 bytes are
    swizzled. Raises GemmlabError where the driver refuses.
    """
    count, step = batch or (1, 0)
    rank = 3 if batch else 2
    memory = (ctypes.c_ubyte * 192)()
    offset = -ctypes.addressof(memory) % 64
    found = (ctypes.c_ubyte * 128).from_buffer(memory, offset)
    status = library().cuTensorMapEncodeTiled(
        found,
        ELEMENTS[element_bytes],
        rank,
        ctypes.c_void_p(address),
        (ctypes.c_uint64 * 3)(columns, rows, count),
        (ctypes.c_uint64 * 2)(ld * element_bytes, step * element_bytes),
        (ctypes.c_uint32 * 3)(box[1], box[0], 1),
        (ctypes.c_uint32 * 3)(1, 1, 1),
        0,
        SWIZZLE_128 if box[1] * element_bytes == 128 else 0,
        PROMOTION,
        0,
    )
    if status:
        checked(status)
    return found
