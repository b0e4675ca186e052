"""Functions that need NumPy, which is imported when one is called for the first time."""


class _Memory:
    """An array's memory, as NumPy's array interface describes it."""

    def __init__(self, address, dtype, shape, owner, writable):
        self.owner = owner
        self.__array_interface__ = {
            "data": (address, not writable), "typestr": dtype.str, "shape": shape, "version": 3}


def view(address, name, shape, owner, writable):
    """An array over memory that `owner` keeps."""
    import numpy

    dtype = numpy.dtype(name)
    if 0 in shape:
        return numpy.empty(shape, dtype)
    return numpy.asarray(_Memory(address, dtype, shape, owner, writable))


def array_of(tensor):
    """The values as an array: of the same memory if NumPy has the type, else converted to float32."""
    import numpy

    if str(tensor.dtype) == "bfloat16":
        return numpy.asarray(memoryview(tensor.detach().astype("float32")))
    if not str(tensor.device).startswith("cpu"):
        tensor = tensor.detach().to("cpu")
    return numpy.asarray(memoryview(tensor))
