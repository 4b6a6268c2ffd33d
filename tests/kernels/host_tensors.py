"""NumPy's arrays with as much of a tensor as Triton's interpreter asks for: no framework is needed for it."""


class Tensor:
    """A matrix, with any strides, in the memory that it has already: what is written to it is written there."""

    def __init__(self, array):
        self.array = array
        self.shape, self.dtype = array.shape, array.dtype

    @property
    def T(self):
        return Tensor(self.array.T)

    def stride(self, axis=None):
        strides = tuple(size // self.array.itemsize for size in self.array.strides)
        return strides if axis is None else strides[axis]

    def data_ptr(self):
        return self.array.ctypes.data

    # what the interpreter calls to bring a tensor to the host, where this one is

    def new_empty(self, *sizes, **where):
        return self

    def untyped_storage(self):
        return self

    def cpu(self):
        return self

    def storage_offset(self):
        return 0

    def size(self):
        return self.shape

    def set_(self, *parts):
        return self

    def copy_(self, other):
        return self
