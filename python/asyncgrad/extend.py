"""How other libraries' names are built on this package.

Such a package derives a class of tensors from asyncgrad.Tensor, and registers it with the rules that the library has:

    class ndarray(ag.Tensor):
        __slots__ = ()

    extend.register(ndarray, keeps_types=True, records_on_request=True)
    extend.as_class(ag.ones(3), ndarray) + 1   # is an ndarray, too

The result of an operation has the class of its first operand. That of an operator, as in x + y, has the class of the
first operand whose class is registered, or derived from one that is.

Where a device is asked for, an object whose attribute __asyncgrad_device__ is a text such as "cpu:1" stands for that.
"""
from . import _core
from ._tensor import _text as text

__all__ = ["address", "as_class", "gpus", "register", "request_recording", "text"]


def register(kind, keeps_types=False, records_on_request=False, takes_floating_indices=False):
    """Lets operations whose result has a class derived from Tensor follow that library's rules; once more replaces them.

    keeps_types: a number takes the type of the tensor beside it, and of two types the floating one wins; else types are
    those of NumPy. records_on_request: operations are recorded for backward() only while request_recording(True) holds
    in the thread; else always, outside of no_grad. takes_floating_indices: whole numbers of a floating type are indices.
    """
    _core._register_class(kind, keeps_types, records_on_request, takes_floating_indices)


def request_recording(wanted):
    """Says whether this thread records operations of classes with records_on_request, and returns what held before."""
    return _core._request_recording(wanted)


def as_class(x, kind):
    """The same tensor, with its values and its history, as an object of another class derived from Tensor."""
    return _core._as_class(x, kind)


def address(x):
    """A number that tells live tensors apart: objects of the same tensor have the same, whatever their classes are."""
    return x._address()


def gpus():
    """The names of the devices that gpu(0), gpu(1) and so on stand for: the parts of the CPU that stand in for GPUs, or,
    if it has no such parts, the GPUs."""
    parts = _core.engine_options()["cpu_parts"]
    if parts > 1:
        return [f"cpu:{i}" for i in range(1, parts)]
    return [device["device"] for device in _core.devices() if device["device"].startswith("cuda")]
