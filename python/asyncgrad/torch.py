"""The names of PyTorch that the chapters use: randn, rand, ones, mm, Tensor.to, cuda.synchronize."""
import asyncgrad as ag
from asyncgrad import extend, nn  # noqa: F401  (from asyncgrad.torch import nn)


class Tensor(ag.Tensor):
    """A tensor that prints itself as PyTorch's do."""

    __slots__ = ()

    def __repr__(self):
        text = extend.text(self, "tensor")
        return text if self.device == "cpu" else f"{text[:-1]}, device='{self.device}')"

    __str__ = __repr__

    def to(self, target=None, *more, device=None, dtype=None, non_blocking=False, copy=False):
        """The tensor on a device, in a type, or both, itself if that is what it is: to("cpu:1"), to("float64"),
        to("cpu:1", "float64"), to(device="cpu:1", dtype="float64"), or to(other) for those of another tensor.

        non_blocking and copy may follow by place. Never blocks: non_blocking changes nothing.
        """
        wanted = [target.device, target.dtype] if isinstance(target, ag.Tensor) else [target]
        if more and not isinstance(more[0], bool):
            wanted.append(more[0])
            more = more[1:]
        if len(more) > 2:
            raise TypeError(f"[to] takes a device, a type or a tensor, then non_blocking and copy; got {more[2:]}, too")
        wanted = [one for one in (*wanted, device, dtype) if one is not None]
        if not wanted:
            raise TypeError("[to] takes a device, a type or a tensor, as in to(device='cpu:1', dtype='float64'); got none")
        result = self
        for one in wanted:
            result = ag.Tensor.to(result, one)
        if extend.address(result) != extend.address(self):
            return result
        return self.clone() if copy or more[1:] == (True,) else self


def _made(function, shape, size, dtype, device):
    if (size is not None) == bool(shape):
        name = function.__name__
        raise TypeError(f"{name} takes one shape, as in {name}(2, 3), {name}((2, 3)) or {name}(size=(2, 3)); got {shape} and size={size}")
    return extend.as_class(function(*(shape or (size,)), dtype=dtype, device=device), Tensor)


def randn(*shape, size=None, dtype=None, device=None):
    """Random numbers of N(0, 1): randn(2, 3), randn((2, 3)) or randn(size=(2, 3))."""
    return _made(ag.randn, shape, size, dtype, device)


def rand(*shape, size=None, dtype=None, device=None):
    """Random numbers in (0, 1]; shapes as those of randn()."""
    return _made(ag.rand, shape, size, dtype, device)


def ones(*shape, size=None, dtype=None, device=None):
    """Ones; shapes as those of randn()."""
    return _made(ag.ones, shape, size, dtype, device)


def zeros(*shape, size=None, dtype=None, device=None):
    """Zeros; shapes as those of randn()."""
    return _made(ag.zeros, shape, size, dtype, device)


def mm(x, y):
    """The product of two matrices."""
    return x.mm(y)


class cuda:
    """The GPUs, or the parts of the CPU that stand in for them."""

    @staticmethod
    def synchronize(device=None):
        """Waits until everything is finished."""
        ag.wait_all()

    @staticmethod
    def device_count():
        """How many there are."""
        return len(extend.gpus())

    @staticmethod
    def is_available():
        """Whether there is one."""
        return bool(extend.gpus())

    @staticmethod
    def get_device_name(device=0):
        """The name of GPU `device`, a number or "cuda:0"; None is the first."""
        known = extend.gpus()
        name = {None: 0, "cuda": 0, **{f"cuda:{i}": i for i in range(len(known))}}.get(device, device)
        if isinstance(name, int) and 0 <= name < len(known):
            name = known[name]
        for d in ag.devices():
            if d["device"] == name:
                return d["name"]
        raise ValueError(f"there is no GPU {device}; there are {', '.join(known) or 'none'}")
