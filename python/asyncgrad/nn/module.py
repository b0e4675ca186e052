"""The base class of layers, and layers in a row."""
import copy
import weakref
from collections.abc import Callable
from reprlib import recursive_repr
from typing import Any

from .. import _core
from .._html import Text

if "Module" in globals():
    raise ImportError("asyncgrad.nn.module cannot be reloaded: layers that were made before would have no parameters; "
                      "start a new process")

Tensor = _core.Tensor


_held = weakref.WeakValueDictionary()  # by address: the tensors of layers that the program holds


def as_held(tensor):
    """The object that the program holds for a tensor: the C++ library makes a new one each time that it is asked."""
    address = tensor._address()
    known = _held.get(address)
    if known is not None and known._address() == address:
        return known
    _held[address] = tensor
    return tensor


def _no_forward(self, *args):
    """Computes the layer."""
    raise NotImplementedError(f"{type(self).__name__} has no forward()")


class Module:
    """A layer: call it with tensors; its attributes are its members. Write `forward` in a class of your own."""

    training = True
    _scope: str | None = None
    forward: Callable[..., Any] = _no_forward

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value)
        if isinstance(value, Module):
            object.__setattr__(value, "_scope", name)

    def __call__(self, *args, **kwargs) -> Any:
        """forward(), whose errors name the layer's path."""
        if self._scope is None:
            return self.forward(*args, **kwargs)
        return _core._called_in_layer(self._scope, self.forward, args, kwargs)

    def members(self):
        """Its own members by name: tensors, layers, and lists and dicts of them."""
        return {name: value for name, value in vars(self).items() if name not in _NO_MEMBERS and _is_member(value)}

    def _own_members(self):
        """The members that the C++ library does not know of by itself."""
        return self.members()

    def modules(self):
        """This layer and all in it, by path."""
        return iter(_core._modules(self))

    def state(self):
        """All tensors with their paths, such as ("1.norm.weight", tensor), in the order of the attributes."""
        return [(path, as_held(tensor)) for path, tensor in _core._state(self)]

    def parameters(self):
        """The tensors that require a gradient, each once: what an optimiser takes; also those that requires_grad_(False) froze."""
        return list(map(as_held, _core._parameters(self)))

    def named_parameters(self):
        """The parameters with their paths."""
        return [(path, tensor) for path, tensor in self.state() if _core._is_parameter(tensor)]

    def train(self, mode=True):
        """Switches the layer and all in it to training, and returns it."""
        for _, module in self.modules():
            object.__setattr__(module, "training", mode)
        return self

    def eval(self):
        """Switches to evaluation: dropout keeps everything, normalisations use stored statistics."""
        return self.train(False)

    def zero_grad(self):
        """Drops the gradients of all parameters."""
        for tensor in _core._parameters(self):
            tensor.zero_grad()

    def clone(self):
        """A layer with tensors of its own and the same values. What two layers share their clones share."""
        return copy.deepcopy(self)

    def to(self, target):
        """Moves all tensors to a device, or converts floating ones to a type; returns the layer."""
        _core._to(self, target)
        return self

    def summary(self):
        """A table of layers, their tensors (buffers in brackets) and numbers of parameters, as text.

        The totals count a tensor that layers share once.
        """
        return Text(_core._summary(self))

    def _made_with(self):
        """What its repr shows beside its members, by name: functions among its attributes."""
        return {name: value for name, value in vars(self).items()
                if callable(value) and not isinstance(value, Module) and not name.startswith("_")}

    @recursive_repr()
    def __repr__(self):
        members = self._own_members()
        tensors = {name: value for name, value in members.items() if isinstance(value, Tensor)}
        inner = {name: value for name, value in members.items() if name not in tensors}
        return _nested(type(self).__name__, {**self._made_with(), **tensors}, inner)


_core._set_module_class(Module)
_NO_MEMBERS = ("_scope", "_arguments", "_following")  # what Modules keep of themselves


def _is_member(value):
    if isinstance(value, (Tensor, Module)):
        return True
    if isinstance(value, (list, tuple)):
        return any(_is_member(item) for item in value)
    return isinstance(value, dict) and any(_is_member(item) for item in value.values())


def _nested(kind, options, inner):
    """The text of a layer or a list: its options, and what is in it, each below the other."""
    shown = ", ".join(f"{name}={_text(value)}" for name, value in options.items())
    if not inner:
        return f"{kind}({shown})"
    lines = [f"({name}): {_text(value)}".replace("\n", "\n  ") for name, value in inner.items()]
    return "\n  ".join([f"{kind}(", *([shown] if shown else []), *lines]) + "\n)"


def _text(value):
    if isinstance(value, Tensor):
        return f"{value.dtype} {value.shape}"
    if isinstance(value, dict):
        return _nested("dict", {}, value)
    if isinstance(value, (list, tuple)) and _is_member(value):
        return _nested("list", {}, dict(enumerate(value)))
    return value.__name__ if hasattr(value, "__name__") else repr(value)


def checked_layer(layer):
    """A layer or function that another layer is to call."""
    if not callable(layer):
        raise TypeError(f"a layer can be called; {layer!r} cannot")
    return layer


class Sequential(Module):
    """Calls layers, or functions, one after the other. Its members are named "0", "1", ..."""

    def __init__(self, *layers):
        object.__setattr__(self, "layers", [])
        self.add(*layers)

    def add(self, *layers):
        """Appends layers, and returns the Sequential."""
        for layer in [checked_layer(layer) for layer in layers]:
            if isinstance(layer, Module):
                object.__setattr__(layer, "_scope", str(len(self.layers)))
            self.layers.append(layer)
        return self

    def members(self):
        layers = {str(i): layer for i, layer in enumerate(self.layers)}
        return layers | {name: value for name, value in super().members().items() if name != "layers"}

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

    def __len__(self):
        return len(self.layers)

    def __getitem__(self, index):
        return Sequential(*self.layers[index]) if isinstance(index, slice) else self.layers[index]

    def __iter__(self):
        return iter(self.layers)
