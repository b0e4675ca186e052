"""Layers of the C++ library as Modules: its parameters, defaults, formulas and errors.

A new one is a row in src/layers.cpp, which says what its parameters are called: its class follows, here and in the stub
that src/layer_stub.py makes. All names without an underscore are names of the package asyncgrad.nn.
"""
import copy as _copy

from .. import _core
from .._scopes import evaluation as _evaluation
from .._signature import Signature as _Signature
from . import _pickles
from .containers import Lambda  # noqa: F401  (where pickles of version 0.1.0 look for it)
from .module import Module, as_held


class NativeLayer(Module):
    """A layer of the C++ library. Its tensors and what it was made with are attributes by their names there."""

    _kind = None  # of _core
    _following = None  # a function of Python that is applied to what the layer computes

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        kind = cls.__dict__.get("_kind")
        if kind is not None:
            cls.__doc__ = cls.__doc__ or kind.__doc__
            cls._parameters, cls._options_by_name = kind._parameters, kind._options_by_name
            cls.__signature__ = _Signature(cls)
            for name in vars(kind):
                if not name.startswith("_"):
                    setattr(cls, name, _method(name, getattr(kind, name)))

    def __init__(self, *args, **kwargs):
        self._make(self._kind._named(*args, **kwargs))

    def _make(self, arguments):
        object.__setattr__(self, "_arguments", arguments)
        object.__setattr__(self, "_layer", self._kind(**arguments))
        activation = arguments.get("activation")
        if callable(activation) and not any(activation is getattr(_core, name) for name in _core._activations):
            object.__setattr__(self, "_following", activation)
            if isinstance(activation, Module):
                Module.__setattr__(self, "activation", activation)

    def members(self):
        tree = {}
        for path, tensor in self._layer._tensors().items():
            if tensor is not None:
                node = tree
                *outer, last = path.split(".")
                for name in outer:
                    node = node.setdefault(name, {})
                node[last] = as_held(tensor)
        return {**tree, **self._own_members()}

    def _own_members(self):
        return Module.members(self)

    def __setattr__(self, name, value):
        is_bound = value is None or isinstance(value, _core.Tensor)
        is_tensor = "_layer" in self.__dict__ and name in self._layer._tensors()
        if is_bound and is_tensor:
            self._layer._rebind({name: value if value is None else as_held(value)})
        elif any(name == row[0] for row in self._kind._parameters):
            raise AttributeError(f"{name} of a {type(self).__name__} is chosen when the layer is made")
        elif is_tensor:
            raise TypeError(f"{name} of a {type(self).__name__} is a tensor, such as asyncgrad.parameter(asyncgrad.array(values)), or None, "
                            f"not {type(value).__name__}")
        else:
            super().__setattr__(name, value)

    def __getattr__(self, name):
        if name == "_layer" and not self._kind._parameters:  # a pickle of version 0.1.0 has nothing of a layer without parameters
            self._make({})
            return self._layer
        if not name.startswith("_"):
            tensors = self._layer._tensors()
            if name in tensors:
                return None if tensors[name] is None else as_held(tensors[name])
            members = self.members()
            if name in members:
                return members[name]
            for known, _, *default in self._kind._parameters:
                if name == known:
                    return self._arguments.get(name, *default)
        raise AttributeError(f"{type(self).__name__} has no attribute {name}")

    def forward(self, *inputs, **named):
        if self.training and self._following is None:  # the shortest way, as small networks notice each call
            return self._layer(*inputs, **named)
        y = self._called(self._layer, *inputs, **named)
        return y if self._following is None else self._following(y)

    def _called(self, function, *args, **kwargs):
        if self.training or not _core.is_training():
            return function(*args, **kwargs)
        with _evaluation():
            return function(*args, **kwargs)

    def __deepcopy__(self, memo):
        copied = object.__new__(type(self))
        memo[id(self)] = copied
        layer = self._layer._copy()
        layer._rebind({path: _copy.deepcopy(tensor, memo) for path, tensor in layer._tensors().items()})
        shared = {"_layer": layer, "_arguments": dict(self._arguments)}
        if "activation" in self._arguments:
            shared["_arguments"]["activation"] = _copy.deepcopy(self._arguments["activation"], memo)
        for name, value in self.__dict__.items():
            object.__setattr__(copied, name, shared[name] if name in shared else _copy.deepcopy(value, memo))
        return copied

    def __getstate__(self):
        state = {name: value for name, value in self.__dict__.items() if name not in ("_layer", "_following")}
        arguments = {name: value for name, value in self._arguments.items() if name != "initialiser"}
        return {**state, "_arguments": arguments, "_tensors": self._layer._tensors()}

    def __setstate__(self, state):
        state, arguments, tensors = _pickles.parts_of(self._kind, dict(state))
        initial = {"initialiser": _without_drawing} if _has_initialiser(self._kind) else {}
        self._make({**arguments, **initial})
        self.__dict__.update(state, _arguments=arguments)
        self._layer._rebind(tensors)

    def _made_with(self):
        """What it was made with, as far as it has a say in what the layer computes."""
        options = self._kind._chosen(**self._arguments)
        options.pop("initialiser", None)
        tensors = self._layer._tensors()  # those that it has now, such as the class_weight of a loss
        options.update((name, tensors[name]) for name, kind, *_ in self._kind._parameters
                       if kind == "object" and tensors.get(name) is not None)
        if self._following is not None and not isinstance(self._following, Module):
            options["activation"] = self._following
        return options


def _method(name, native):
    def method(self, *args, **kwargs):
        return self._called(getattr(self._layer, name), *args, **kwargs)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = native.__doc__
    return method


def _has_initialiser(kind):
    return any(row[0] == "initialiser" for row in kind._parameters)


def _without_drawing(shape, dtype, device):
    """For weights that get their values afterwards: takes no random numbers."""
    return _core.zeros(shape, dtype=dtype, device=device)


for _kind in _core._Layer.__subclasses__():  # Dense of _core._Dense
    _name = _kind.__name__[1:]
    globals()[_name] = type(_name, (NativeLayer,), {"_kind": _kind, "__module__": __name__})
del _kind, _name
