"""Blocks: parts of a network that hold parameters and other blocks."""
import re
import threading

from .. import np, npx
from ..base import unwritten
from .parameter import Parameter, ParameterDict, fill

_names = threading.local()


def _counted(hint):
    counts = _names.__dict__.setdefault("counts", {})
    counts[hint] = counts.get(hint, -1) + 1
    return f"{hint}{counts[hint]}_"


class _NameScope:
    """New blocks within it get names below the block's, unless the block has the prefix ""."""

    def __init__(self, block):
        self._block = block

    def __enter__(self):
        if self._block._has_empty_prefix:
            return self
        self._outer = dict(_names.__dict__)
        _names.prefix, _names.params, _names.counts = self._block.prefix, self._block.params, self._block._inner_counts
        return self

    def __exit__(self, *_):
        if self._block._has_empty_prefix:
            return
        _names.__dict__.clear()
        _names.__dict__.update(self._outer)


class HookHandle:
    """What registering a hook gives: detach() removes the hook."""

    def __init__(self, block, hooks, hook):
        self._block, self._hooks, self._hook = block, hooks, hook
        setattr(block, hooks, [*getattr(block, hooks), self])

    def __call__(self, *args):
        return self._hook(*args)

    def detach(self):
        """Removes the hook; it may have been removed before."""
        setattr(self._block, self._hooks, [other for other in getattr(self._block, self._hooks) if other is not self])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.detach()


class Block:
    """Write forward() in a class of your own; attributes that are blocks or parameters belong to it."""

    _forward_hooks = _forward_pre_hooks = ()
    _has_empty_prefix = False
    _alias = None  # what the names of its parameters begin with, unless it is the name of the class

    def __init__(self, prefix=None, params=None):
        hint = self._alias or type(self).__name__.lower()
        name, outer = _counted(hint) if prefix is None else prefix, getattr(_names, "params", ParameterDict())
        self._prefix, self._has_empty_prefix = getattr(_names, "prefix", "") + name, prefix == ""
        if params is None:  # below the block whose name_scope() this is, the parameters that it shares are shared
            self._params = ParameterDict(outer.prefix + name, outer.shared)
        else:
            self._params = ParameterDict(params.prefix, params)
        self._children, self._reg_params, self._inner_counts = {}, {}, {}

    def __setattr__(self, name, value):
        existing = getattr(self, name, None)
        if isinstance(existing, (Block, Parameter)) and not isinstance(value, type(existing)):
            raise TypeError(f"Changing attribute type for {name} from {type(existing)} to {type(value)} is not allowed.")
        if isinstance(value, Parameter) and name in self._reg_params:
            raise AssertionError(f"Overriding Parameter attribute {name} is not allowed. If you want to share parameters between "
                                 "blocks, please set 'params' at Block construction instead.")
        object.__setattr__(self, name, value)
        if isinstance(value, Block):
            self.register_child(value, name)
        elif isinstance(value, Parameter):
            self._reg_params[name] = value

    prefix = property(lambda self: self._prefix, doc="What the names of its parameters begin with.")
    name = property(lambda self: self._prefix.rstrip("_"), doc="The prefix without the _ at its end.")
    params = property(lambda self: self._params, doc="The parameters of the block itself.")

    def name_scope(self):
        """A scope in which new blocks get names below this one's."""
        return _NameScope(self)

    def register_child(self, block, name=None):
        """Adds a block, under a name or the next number."""
        self._children[str(len(self._children)) if name is None else name] = block

    def register_forward_hook(self, hook):
        """Lets every call of the block end with hook(block, inputs, output), until detach() of what it returns."""
        return HookHandle(self, "_forward_hooks", hook)

    def register_forward_pre_hook(self, hook):
        """Lets every call of the block begin with hook(block, inputs), until detach() of what it returns."""
        return HookHandle(self, "_forward_pre_hooks", hook)

    def collect_params(self, select=None):
        """The parameters of the block and all in it, by name; `select` is a pattern."""
        found = ParameterDict(self._params.prefix)
        found.update(self._params.selected(select))
        for name, parameter in self._reg_params.items():
            if parameter.name not in found and (select is None or re.match(select, parameter.name)):
                found._params[parameter.name] = parameter
        for child in self._children.values():
            found.update(child.collect_params(select))
        return found

    def initialize(self, init=None, ctx=None, verbose=False, force_reinit=False):
        """Gives all parameters values by an initialiser, on a device or several; now, or once their shapes are known."""
        self.collect_params().initialize(init, ctx, verbose, force_reinit)

    def hybridize(self, active=True, **_):
        """Does nothing: there is no other way to run."""

    def apply(self, fn):
        """Calls fn with every block in it, and then with this one, which it returns."""
        for child in self._children.values():
            child.apply(fn)
        fn(self)
        return self

    def cast(self, dtype):
        """Converts all parameters to a type."""
        for parameter in self.collect_params().values():
            parameter.cast(dtype)

    def zero_grad(self):
        """Lets the gradients of all parameters be zeros."""
        self.collect_params().zero_grad()

    def structured(self, prefix=""):
        """The parameters by the names of attributes: "0.weight"."""
        found = {prefix + name: parameter for name, parameter in self._reg_params.items()}
        for name, child in self._children.items():
            found.update(child.structured(f"{prefix}{name}."))
        return found

    def save_parameters(self, filename, deduplicate=False):
        """Writes all parameters, as safetensors: of several devices their means. Blocks until they are on the disk."""
        npx.save(filename, {name: p.mean_data() for name, p in self.structured().items()})

    def load_parameters(self, filename, ctx=None, allow_missing=False, ignore_extra=False, cast_dtype=False,
                        dtype_source="current"):
        """Gives the parameters the values of a file that save_parameters(), or save() of collect_params(), wrote."""
        stored, own = npx.load(filename), self.structured()
        if stored and not any("." in name for name in stored) and not own.keys() & stored.keys():
            own = self.collect_params()
            stored = {name if name in own else self.prefix + name: values for name, values in stored.items()}
        fill(own, stored, filename, ctx, allow_missing, ignore_extra, cast_dtype, dtype_source)

    save_params, load_params = save_parameters, load_parameters

    def __call__(self, *args):
        for hook in self._forward_pre_hooks:
            hook(self, args)
        result = self.forward(*args)
        for hook in self._forward_hooks:
            hook(self, args, result)
        return result

    def forward(self, *args):
        """What the block computes."""
        raise unwritten(self, "forward")

    def __repr__(self):
        rows = "\n".join(f"  ({name}): " + repr(child).replace("\n", "\n  ") for name, child in self._children.items())
        return f"{type(self).__name__}(\n{rows}\n)"

    def summary(self, *inputs):
        """Prints the blocks that it consists of."""
        print(self)


class HybridBlock(Block):
    """A block whose hybrid_forward(F, x, ..., **parameters) may stand for forward()."""

    def forward(self, x, *args):
        """hybrid_forward() with np and npx as F, and with the values of the parameters."""
        values = {}
        for name, parameter in self._reg_params.items():
            if parameter._data is None and parameter._pending is not None:
                self.infer_shape(x, *args)
            values[name] = parameter.data(x.ctx)
        return self.hybrid_forward(F, x, *args, **values)

    def infer_shape(self, *args):
        """Completes the shapes of parameters for these inputs."""
        raise NotImplementedError(f"{type(self).__name__} has parameters of unknown shape: give them shapes, or write infer_shape()")


class _Functions:
    """What hybrid_forward() gets as F: np, npx, and their names."""

    np, npx = np, npx

    def __getattr__(self, name):
        return getattr(npx, name, None) or getattr(np, name)


F = _Functions()
