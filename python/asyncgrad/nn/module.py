"""The base class of layers, and layers in a row."""
import copy
from collections.abc import Callable
from typing import Any

from .. import _core
from .._html import Text

Tensor = _core.Tensor


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
        return _core._state(self)

    def parameters(self):
        """The tensors that require a gradient, each once: what an optimiser takes."""
        return _core._parameters(self)

    def named_parameters(self):
        """The parameters with their paths."""
        return [(path, tensor) for path, tensor in self.state() if tensor.requires_grad]

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
        for tensor in self.parameters():
            tensor.zero_grad()

    def clone(self):
        """A layer with tensors of its own and the same values. What two layers share their clones share."""
        return copy.deepcopy(self)

    def to(self, target):
        """Moves all tensors to a device, or converts floating ones to a type; returns the layer."""
        _core._convert(self, target)
        return self

    def summary(self):
        """A table of layers, their tensors (buffers in brackets) and numbers of parameters, as text.

        The totals count a tensor that layers share once.
        """
        return Text(_core._summary(self))

    def __repr__(self):
        inner = [f"  {name}: " + repr(value).replace("\n", "\n  ") for name, value in self.members().items()
                 if isinstance(value, Module)]
        own = [f"{name}{value.shape}" for name, value in self.members().items() if isinstance(value, Tensor)]
        text = f"{type(self).__name__}({', '.join(own)})"
        return "\n".join([text, *inner])


_core._set_module_class(Module)
_NO_MEMBERS = ("_scope", "_arguments", "_following")  # what Modules keep of themselves


def _is_member(value):
    if isinstance(value, (Tensor, Module)):
        return True
    if isinstance(value, (list, tuple)):
        return any(_is_member(item) for item in value)
    return isinstance(value, dict) and any(_is_member(item) for item in value.values())


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
        return {str(i): layer for i, layer in enumerate(self.layers)}

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
