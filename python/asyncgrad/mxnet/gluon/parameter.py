"""Parameters: arrays on one or several devices, whose shape may be known later."""
import re

import numpy

import asyncgrad as ag

from .. import autograd, npx
from .. import init as initialisers
from ..context import Context, current_context, device_of, or_cpu
from ..multiarray import check_no_others, dtype_of, wrapped
from ..np_creation import array as array_from


def _extents(shape):
    """A shape as a tuple, in which an extent that is not known is -1; None of None."""
    return None if shape is None else tuple(extent or -1 for extent in ((shape,) if isinstance(shape, int) else shape))


def _is_at(on, ctx):
    """Whether two Contexts are one device. The CPU has one, whatever its number."""
    return on == ctx or on.device_type == ctx.device_type == "cpu"


def _contexts(ctx):
    """A list of Contexts of different devices: of one, of several, or of None for the current one."""
    found = [current_context()] if ctx is None else [ctx] if isinstance(ctx, Context) else list(ctx)
    for place, later in enumerate(found):
        if any(_is_at(earlier, later) for earlier in found[:place]):
            raise ValueError(f"the contexts {found} name one device twice; cpu_as_gpus(n) divides the CPU into parts gpu(0), gpu(1), ...")
    return found


class DeferredInitializationError(RuntimeError):
    """The parameter's shape is not known before the first call of its block."""


class Parameter:
    """A parameter: data(ctx), grad(ctx) and set_data() are arrays.

    An extent of 0 or -1 is not known yet: the first call of the block completes it.
    """

    _differentiable = True  # pickles of earlier versions lack it

    def __init__(self, name, grad_req="write", shape=None, dtype="float32", lr_mult=1.0, wd_mult=1.0, init=None,
                 allow_deferred_init=False, differentiable=True, stype="default", grad_stype="default", **others):
        check_no_others("Parameter", others)
        if (stype, grad_stype) != ("default", "default"):
            raise NotImplementedError(f"Parameter(stype={stype!r}, grad_stype={grad_stype!r})")
        self._data, self._pending, self._grad_req = None, None, None
        self.name, self._differentiable, self.grad_req = name, differentiable, grad_req
        self.shape = _extents(shape)
        self.dtype, self.lr_mult, self.wd_mult, self.init = dtype, lr_mult, wd_mult, init
        self._allow_deferred = allow_deferred_init

    def __repr__(self):
        return f"Parameter {self.name} (shape={self.shape}, dtype={self.dtype})"

    @property
    def grad_req(self):
        """Whether backward() replaces the gradient ("write"), adds to it ("add"), or computes none ("null").

        A parameter that is not differentiable, such as a running mean, keeps "null".
        """
        return self._grad_req

    @grad_req.setter
    def grad_req(self, wanted):
        wanted = wanted if self._differentiable else "null"
        if wanted == self._grad_req:
            return
        self._grad_req = wanted
        for array in self._data or []:
            array.attach_grad(wanted)

    def __setstate__(self, state):
        """For copies and pickles, whose arrays are variables as the parameter's own are, on the same devices.

        An array of a pickle is on the CPU at first, and stays there if its device is not here.
        """
        self.__dict__.update(state)
        self._grad_req = self.__dict__.pop("grad_req", None) or self._grad_req  # earlier versions had no property
        if self._data is not None:
            placed = {or_cpu(ctx): array for ctx, array in zip(self._contexts, self._data)}
            self._set([array.to(device_of(ctx)) for ctx, array in placed.items()], placed)

    def _is_known(self):
        return self.shape is not None and all(extent > 0 for extent in self.shape)

    def is_initialized(self):
        """Whether it has values."""
        return self._data is not None

    def initialize(self, init=None, ctx=None, default_init=None, force_reinit=False):
        """Gives it values, by its own initialiser first; now, or once its shape is known. Once only, unless forced."""
        if self._data is not None and not force_reinit:
            return
        ctx = _contexts(ctx)
        self._pending = (init or self.init, default_init, ctx)
        self._data = None
        if self._is_known():
            self._make()
        elif not self._allow_deferred:
            raise ValueError(f"Cannot initialize Parameter '{self.name}' because it has invalid shape: {self.shape}.")

    def _make(self):
        own, default, contexts = self._pending
        first = wrapped(ag.zeros(tuple(self.shape), dtype=dtype_of(self.dtype), device="cpu"))  # as in MXNet
        default = initialisers.create(default or initialisers.Uniform())
        with ag.no_grad():
            default(initialisers.InitDesc(self.name, {"__init__": own or default}), first)
        devices = [device_of(ctx) for ctx in contexts]
        self._set([first if device == first.device else first.to(device) for device in devices], contexts)
        self._pending = None

    def _set(self, arrays, contexts):
        self._data, self._contexts = arrays, list(contexts)
        for array in arrays:
            array.attach_grad(self.grad_req)

    def _may_have(self, shape):
        """Whether its array may have a shape, as far as the extents of both are known."""
        own = _extents(self.shape)
        return own is None or (len(own) == len(shape) and all(a == b or -1 in (a, b) for a, b in zip(own, shape)))

    def check_shape(self, shape):
        """Throws unless its array may have a shape."""
        if not self._may_have(shape):
            raise ValueError(f"Parameter '{self.name}' of shape {self.shape} cannot have the values of an array of shape {shape}")

    def complete(self, shape):
        """Takes the extents that are not known yet from a shape: that of an input, of a file, or of another block."""
        if self._is_known():
            return
        self.shape = tuple(own if own > 0 else found for own, found in zip(self.shape or shape, shape))
        if self._pending is not None and -1 not in self.shape:
            self._make()

    def share(self, shape=None, dtype=None, **_):
        """Checks what one more block that uses it wants it to be, and completes the shape."""
        if dtype is not None and dtype_of(dtype) != dtype_of(self.dtype):
            raise self._mismatch("dtype", dtype)
        if shape is not None:
            shape = _extents(shape)
            if not self._may_have(shape):
                raise self._mismatch("shape", shape)
            self.complete(shape)

    def _mismatch(self, attribute, desired):
        return AssertionError(f"Cannot retrieve Parameter '{self.name}' because desired attribute does not match with stored for "
                              f"attribute '{attribute}': desired '{desired}' vs stored '{getattr(self, attribute)}'.")

    def _check(self):
        if self._data is not None:
            return
        if self._pending is not None:
            raise DeferredInitializationError(
                f"Parameter '{self.name}' has not been initialized yet because initialization was deferred. Actual "
                "initialization happens during the first forward pass.")
        raise RuntimeError(f"Parameter '{self.name}' has not been initialized")

    def data(self, ctx=None):
        """The array on a device, or the only one."""
        self._check()
        if ctx is None:
            if len(self._data) == 1:
                return self._data[0]
            ctx = current_context()
        for array, on in zip(self._data, self._contexts):
            if _is_at(on, ctx):
                return array
        raise RuntimeError(f"Parameter '{self.name}' was not initialized on context {ctx}")

    def list_data(self):
        """The arrays on all devices."""
        self._check()
        return list(self._data)

    def mean_data(self):
        """The values, without a gradient: of several devices their mean, as running statistics differ between them."""
        arrays = [array.detach() for array in self.list_data()]
        if len(arrays) == 1:
            return arrays[0]
        with ag.no_grad():
            return (ag.reduce_add(arrays, arrays[0].device) / len(arrays)).astype(self.dtype, copy=False)

    def grad(self, ctx=None):
        """The gradient of the array on a device, or of the only one."""
        if self.grad_req == "null":
            raise RuntimeError(f"Cannot get gradient array for Parameter '{self.name}' because grad_req='null'")
        return self.data(ctx).grad

    def list_grad(self):
        """The gradients of the arrays on all devices."""
        return [array.grad for array in self.list_data()]

    def list_ctx(self):
        """The devices of the arrays."""
        if self._data is None and self._pending is not None:
            return self._pending[2]
        self._check()
        return list(self._contexts)

    def set_data(self, data):
        """Writes the values of an array of its shape, on all devices."""
        shape = tuple(data.shape)
        self.check_shape(shape)
        self.shape = shape
        if self._data is None:
            if self._pending is None:
                raise AssertionError(f"Parameter '{self.name}' has not been initialized")
            self._make()
        with ag.no_grad():
            for array in self._data:
                array[...] = data

    def zero_grad(self):
        """Lets the gradients be zeros."""
        for array in self._data or []:
            autograd.drop_gradient(array)

    def reset_ctx(self, ctx):
        """Moves it to a device, or to several; now, or once its shape is known."""
        ctx = _contexts(ctx)
        if self._data is None and self._pending is not None:
            self._pending = (*self._pending[:2], ctx)
            return
        value = self.mean_data()
        self._set([wrapped(value.to(device_of(c)).clone()) for c in ctx], ctx)

    def cast(self, dtype):
        """Converts it to a type."""
        self.dtype = dtype
        if self._data is not None:
            self._set([array.detach().astype(dtype, copy=False) for array in self._data], self._contexts)


class Constant(Parameter):
    """An array that is not trained."""

    def __init__(self, name, value):
        self.value = value if hasattr(value, "asnumpy") else array_from(value)
        super().__init__(name, shape=self.value.shape, dtype=self.value.dtype, init=None, differentiable=False)

    def _make(self):
        contexts = self._pending[2]
        self._set([self.value.detach().to(device_of(ctx)).clone() for ctx in contexts], contexts)
        self._pending = None


def fill(parameters, stored, filename, ctx=None, allow_missing=False, ignore_extra=False, cast_dtype=False, dtype_source="current"):
    """Gives parameters by name the values of a file; initialises those that have none.

    Where types differ, cast_dtype converts the values, or with dtype_source="saved" the parameters.
    """
    if dtype_source not in ("current", "saved"):
        raise ValueError(f"dtype_source is 'current' or 'saved', not {dtype_source!r}")
    missing, extra = sorted(parameters.keys() - stored.keys()), sorted(stored.keys() - parameters.keys())
    if (missing and not allow_missing) or (extra and not ignore_extra):
        raise ValueError(f"{filename}: missing are {missing}, left over are {extra}")
    found = {name: parameter for name, parameter in parameters.items() if name in stored}
    for name, parameter in found.items():
        _check_stored(parameter, stored[name], ctx, cast_dtype)
    for name, parameter in found.items():
        if cast_dtype and dtype_source == "saved":
            parameter.cast(stored[name].dtype)
        if not parameter.is_initialized():
            parameter.complete(stored[name].shape)
            parameter.initialize(ctx=ctx)
        parameter.set_data(stored[name])


def _check_stored(parameter, values, ctx, cast_dtype):
    if not cast_dtype and dtype_of(parameter.dtype) != values.dtype:
        raise AssertionError(f"Failed loading Parameter '{parameter.name}' from saved params: dtype incompatible expected "
                             f"{parameter.dtype} vs saved {values.dtype}. Set cast_dtype=True to cast the dtype of saved params.")
    parameter.check_shape(tuple(values.shape))
    if ctx is None or (parameter._data is None and parameter._pending is None):
        return
    own = parameter.list_ctx()
    wanted = _contexts(ctx)
    if len(own) != len(wanted) or not all(any(_is_at(a, b) for b in own) for a in wanted):
        raise AssertionError(f"Failed to load Parameter '{parameter.name}' on {wanted} because it was previously initialized on "
                             f"{own}; reset_ctx() moves it.")


class ParameterDict:
    """Parameters by name, with a prefix for new ones."""

    def __init__(self, prefix="", shared=None):
        self._prefix, self._shared, self._params = prefix, shared, {}

    prefix = property(lambda self: self._prefix, doc="What the names of new parameters begin with.")
    shared = property(lambda self: self._shared, doc="The parameters of another block that this one uses, or None.")

    def _found(self, name):
        """The parameter of a whole name, or None. A shared one belongs to these, too, from now on."""
        if self._shared is not None and name in self._shared._params:
            self._params.setdefault(name, self._shared._params[name])
        return self._params.get(name)

    def get(self, name, **kwargs):
        """The parameter of a name, made if there is none; shared ones come first."""
        name = self._prefix + name
        parameter = self._found(name)
        if parameter is None:
            parameter = self._params[name] = Parameter(name, **kwargs)
        else:
            parameter.share(**kwargs)
        return parameter

    def get_constant(self, name, value=None):
        """The constant of a name, made of a value if there is none; shared ones come first."""
        name = self._prefix + name
        constant = self._found(name)
        if constant is None:
            if value is None:
                raise KeyError(f"there is no constant '{name}'; a value makes one")
            constant = self._params[name] = Constant(name, value)
        elif not isinstance(constant, Constant):
            raise ValueError(f"'{name}' is a parameter, not a constant")
        elif value is not None and not numpy.array_equal(constant.value.asnumpy(), array_from(value).asnumpy()):
            raise ValueError(f"the constant '{name}' has another value")
        return constant

    def update(self, other):
        """Adds the parameters of another one. Throws if a name stands for another parameter there."""
        for name, parameter in other._params.items():
            if self._params.get(name, parameter) is not parameter:
                raise AssertionError(f"Cannot update self with other because they have different Parameters with the same name '{name}'")
        self._params.update(other._params)

    def initialize(self, init=None, ctx=None, verbose=False, force_reinit=False):
        """Gives all parameters values; those with an initialiser of their own by that."""
        for parameter in self.values():
            parameter.initialize(None, ctx, init, force_reinit)

    def zero_grad(self):
        """Lets all gradients be zeros."""
        for parameter in self.values():
            parameter.zero_grad()

    def setattr(self, name, value):
        """Sets an attribute of all parameters."""
        for parameter in self.values():
            setattr(parameter, name, value)

    def reset_ctx(self, ctx):
        """Moves all parameters to a device, or to several."""
        for parameter in self.values():
            parameter.reset_ctx(ctx)

    def selected(self, pattern):
        """The parameters whose names begin with what the pattern matches."""
        chosen = ParameterDict(self._prefix)
        chosen._params = {name: p for name, p in self._params.items() if pattern is None or re.match(pattern, name)}
        return chosen

    def save(self, filename, strip_prefix=""):
        """Writes all parameters, as safetensors. Blocks until they are on the disk."""
        npx.save(filename, {name.removeprefix(strip_prefix): p.mean_data() for name, p in self.items()})

    def load(self, filename, ctx=None, allow_missing=False, ignore_extra=False, restore_prefix="", cast_dtype=False,
             dtype_source="current"):
        """Gives the parameters the values of a file that save() wrote, in which their names lack restore_prefix."""
        stored = {restore_prefix + name: values for name, values in npx.load(filename).items()}
        fill(self, stored, filename, ctx, allow_missing, ignore_extra, cast_dtype, dtype_source)

    def __getitem__(self, name):
        return self._params[name]

    def __iter__(self):
        return iter(self._params)

    def __len__(self):
        return len(self._params)

    def __contains__(self, name):
        return name in self._params

    def keys(self):
        """The names."""
        return self._params.keys()

    def values(self):
        """The parameters."""
        return self._params.values()

    def items(self):
        """The names with their parameters."""
        return self._params.items()

    def __repr__(self):
        rows = "\n".join(f"  {p}" for p in self.values())
        return f"{self._prefix} (\n{rows}\n)"
