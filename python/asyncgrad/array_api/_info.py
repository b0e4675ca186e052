"""What the namespace can do: its types and devices."""
from .. import _core
from ._types import dtype_of, named


class _Info:
    """The answers of __array_namespace_info__()."""

    def capabilities(self):
        """What the standard leaves open: masks as indices, shapes that depend on values, the number of axes."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 6}

    def default_device(self):
        """Where new tensors are made."""
        return _core.default_device()

    def devices(self):
        """The parts of the CPU."""
        parts = _core.engine_options()["cpu_parts"]
        return ["cpu", *(f"cpu:{i}" for i in range(1, parts))]

    def default_dtypes(self, *, device=None):
        """The types of new tensors, of the same kind on every device."""
        return {"real floating": _core.default_dtype(), "integral": dtype_of("int64"), "indexing": dtype_of("int64")}

    def dtypes(self, *, device=None, kind=None):
        """{name: type} of the types of a kind such as "integral", the same on every device."""
        return named(kind)


def __array_namespace_info__():
    """An object that says which types and devices there are."""
    return _Info()
