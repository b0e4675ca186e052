"""The names of PyTorch that the chapters use: randn, rand, ones, mm, Tensor.to, cuda.synchronize."""
from . import _core
from . import nn  # noqa: F401  (from asyncgrad.torch import nn)
from ._tensor import _text


class Tensor(_core.Tensor):
    """A tensor that prints itself as PyTorch's do."""

    __slots__ = ()

    def __repr__(self):
        text = _text(self, "tensor")
        return text if self.device == "cpu" else f"{text[:-1]}, device='{self.device}')"

    __str__ = __repr__


def _made(function, size, shape, dtype, device):
    return _core._as_type(function(shape if size is None else size, dtype=dtype, device=device), Tensor)


def randn(*shape, size=None, dtype=None, device=None):
    """Random numbers of N(0, 1)."""
    return _made(lambda s, **o: _core.randn(*_tuple(s), **o), size, shape, dtype, device)


def rand(*shape, size=None, dtype=None, device=None):
    """Random numbers in (0, 1]."""
    return _made(lambda s, **o: _core.rand(*_tuple(s), **o), size, shape, dtype, device)


def ones(*shape, size=None, dtype=None, device=None):
    """Ones."""
    return _made(lambda s, **o: _core.ones(*_tuple(s), **o), size, shape, dtype, device)


def zeros(*shape, size=None, dtype=None, device=None):
    """Zeros."""
    return _made(lambda s, **o: _core.zeros(*_tuple(s), **o), size, shape, dtype, device)


def _tuple(shape):
    return tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else tuple(shape)


def mm(x, y):
    """The matrix product."""
    return x @ y


class cuda:
    """Devices that parts of the CPU stand in for."""

    @staticmethod
    def synchronize(device=None):
        """Waits until everything is finished."""
        _core.wait_all()

    @staticmethod
    def device_count():
        return _core.engine_options()["cpu_parts"] - 1

    @staticmethod
    def is_available():
        return cuda.device_count() > 0
