"""Element types of tensors."""
from . import _core


class DType:
    """An element type, such as asyncgrad.float32. Equal to its name and to NumPy's type of that name."""

    __slots__ = ("name", "itemsize", "is_floating")

    def __init__(self, name, itemsize, is_floating):
        self.name, self.itemsize, self.is_floating = name, itemsize, is_floating

    @property
    def dtype(self):
        """NumPy's type, so that numpy.dtype() takes this one."""
        import numpy

        return numpy.dtype(self.name)

    def __eq__(self, other):
        if isinstance(other, str):
            return other == self.name
        if isinstance(other, DType):
            return other is self
        name = other.name if hasattr(other, "name") else getattr(other, "__name__", None)
        return name == self.name or (self.name == "bool" and name == "bool_")

    def __hash__(self):
        return hash(self.name)

    def __repr__(self):
        return f"asyncgrad.{self.name}"

    def __str__(self):
        return self.name

    def __reduce__(self):
        return _named, (self.name,)


ALL = {row[0]: DType(*row) for row in _core._dtypes}
_core._set_dtypes(list(ALL.values()))
# By name, so that type checkers know them.
float32, float64, bfloat16 = ALL["float32"], ALL["float64"], ALL["bfloat16"]
int64, int32, uint8, bool = ALL["int64"], ALL["int32"], ALL["uint8"], ALL["bool"]  # noqa: A001


def _named(name):
    return ALL[name]
