"""Blocks: parts of a network that hold parameters and other blocks."""
import re
import threading

from .. import np, npx
from .parameter import Parameter, ParameterDict

_names = threading.local()


def _counted(hint):
    counts = _names.__dict__.setdefault("counts", {})
    counts[hint] = counts.get(hint, -1) + 1
    return f"{hint}{counts[hint]}_"


class _NameScope:
    """New blocks within it get names below the block's."""

    def __init__(self, block):
        self._block = block

    def __enter__(self):
        self._outer = getattr(_names, "prefix", "")
        self._counts = _names.__dict__.get("counts", {})
        _names.prefix, _names.counts = self._block.prefix, self._block._inner_counts
        return self

    def __exit__(self, *_):
        _names.prefix, _names.counts = self._outer, self._counts


class Block:
    """Write forward() in a class of your own; attributes that are blocks or parameters belong to it."""

    def __init__(self, prefix=None, params=None):
        hint = type(self).__name__.lower()
        self._prefix = getattr(_names, "prefix", "") + (_counted(hint) if prefix is None else prefix)
        self._params = ParameterDict(self._prefix if params is None else params.prefix, params)
        self._children, self._reg_params, self._inner_counts = {}, {}, {}
        self._forward_hooks = []

    def __setattr__(self, name, value):
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
        """Lets every call of the block end with hook(block, inputs, output)."""
        self._forward_hooks.append(hook)

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

    def apply(self, function):
        """Calls the function with every block in it, and then with this one, which it returns."""
        for child in self._children.values():
            child.apply(function)
        function(self)
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
        """Writes all parameters, as safetensors. Blocks until they are on the disk."""
        npx.save(filename, {name: p.list_data()[0] for name, p in self.structured().items()})

    def load_parameters(self, filename, ctx=None, allow_missing=False, ignore_extra=False, **_):
        """Gives the parameters the values of a file that save_parameters() wrote."""
        stored, own = npx.load(filename), self.structured()
        missing, extra = sorted(own.keys() - stored.keys()), sorted(stored.keys() - own.keys())
        if (missing and not allow_missing) or (extra and not ignore_extra):
            raise ValueError(f"{filename}: missing are {missing}, left over are {extra}")
        for name, parameter in own.items():
            if name in stored:
                if parameter._data is None:
                    parameter.complete(stored[name].shape)
                    parameter.initialize(ctx=ctx)
                parameter.set_data(stored[name])

    save_params, load_params = save_parameters, load_parameters

    def __call__(self, *args):
        result = self.forward(*args)
        for hook in self._forward_hooks:
            hook(self, args, result)
        return result

    def forward(self, *args):
        """What the block computes."""
        raise NotImplementedError("forward")

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
        return self.hybrid_forward(_F, x, *args, **values)

    def infer_shape(self, *args):
        """Completes the shapes of parameters for these inputs."""
        raise NotImplementedError(f"{type(self).__name__} has parameters of unknown shape")

    def export(self, path, epoch=0):
        """Raises NotImplementedError."""
        raise NotImplementedError("HybridBlock.export")


class _Functions:
    """What hybrid_forward() gets as F: np, npx, and their names."""

    np, npx = np, npx

    def __getattr__(self, name):
        return getattr(npx, name, None) or getattr(np, name)


_F = _Functions()
