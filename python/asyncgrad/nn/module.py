"""What a layer is, and layers in a row."""
import copy

from .. import _core

Tensor = _core.Tensor


class Module:
    """A layer: call it with tensors; its attributes are its members. Write `forward` in a class of your own."""

    training = True
    _scope = None

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value)
        if isinstance(value, Module):
            object.__setattr__(value, "_scope", name)

    def __call__(self, *args, **kwargs):
        """forward(), whose errors name the layer's path."""
        if self._scope is None:
            return self.forward(*args, **kwargs)
        _core._enter_layer(self._scope)
        try:
            return self.forward(*args, **kwargs)
        finally:
            _core._leave()

    def forward(self, *args):
        """What the layer computes."""
        raise NotImplementedError(f"{type(self).__name__} has no forward()")

    def members(self):
        """Its own members by name: tensors, layers, and lists and dicts of them."""
        return {name: value for name, value in vars(self).items() if name != "_scope" and _is_member(value)}

    def modules(self):
        """This layer and all in it, by path."""
        yield from _modules("", self)

    def state(self):
        """All tensors with their paths, such as ("1.norm.weight", tensor), in the order of the attributes."""
        return list(_state("", self))

    def parameters(self):
        """The tensors that require a gradient, each once: what an optimiser takes."""
        seen, found = set(), []
        for _, tensor in self.state():
            if tensor.requires_grad and tensor._address() not in seen:
                seen.add(tensor._address())
                found.append(tensor)
        return found

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
        """A layer with tensors of its own and the same values."""
        return copy.deepcopy(self)

    def to(self, target):
        """Moves all tensors to a device, or converts floating ones to a type; returns the layer."""
        is_device = hasattr(target, "_asyncgrad_device") or (isinstance(target, str) and target.startswith(("cpu", "cuda")))
        moved = {}

        def convert(tensor):
            if tensor._address() not in moved:
                wanted = tensor.requires_grad
                result = tensor.detach().to(target) if is_device or tensor.dtype.is_floating else tensor
                moved[tensor._address()] = result.requires_grad_() if wanted else result
            return moved[tensor._address()]

        for _, module in self.modules():
            module._convert(convert)
        return self

    def _convert(self, convert):
        for name, value in list(vars(self).items()):
            object.__setattr__(self, name, _replaced(value, convert))

    def summary(self):
        """A table of layers, shapes and numbers of parameters, as text."""
        rows, total = [], 0
        for path, module in self.modules():
            tensors = [v for v in module.members().values() if isinstance(v, Tensor)]
            count = sum(t.size for t in tensors if t.requires_grad)
            total += count
            rows.append(f"{path or '-':<20} {type(module).__name__:<16} {count:>10}  "
                        + ", ".join(str(t.shape) for t in tensors))
        return "\n".join([f"{'path':<20} {'layer':<16} {'parameters':>10}  shapes", *rows, f"{'total':<37} {total:>10}"])

    def __repr__(self):
        inner = [f"  {name}: " + repr(value).replace("\n", "\n  ") for name, value in self.members().items()
                 if isinstance(value, Module)]
        own = [f"{name}{value.shape}" for name, value in self.members().items() if isinstance(value, Tensor)]
        text = f"{type(self).__name__}({', '.join(own)})"
        return "\n".join([text, *inner])


def _is_member(value):
    if isinstance(value, (Tensor, Module)):
        return True
    if isinstance(value, (list, tuple)):
        return any(_is_member(item) for item in value)
    return isinstance(value, dict) and any(_is_member(item) for item in value.values())


def _items(value):
    if isinstance(value, Module):
        return value.members().items()
    if isinstance(value, dict):
        return ((str(name), item) for name, item in value.items())
    return ((str(i), item) for i, item in enumerate(value))


def _modules(path, value):
    if isinstance(value, Module):
        yield path, value
    elif not isinstance(value, (list, tuple, dict)):
        return
    for name, item in _items(value):
        yield from _modules(f"{path}.{name}" if path else name, item)


def _state(path, value):
    if isinstance(value, Tensor):
        yield path, value
    elif isinstance(value, (Module, list, tuple, dict)):
        for name, item in _items(value):
            yield from _state(f"{path}.{name}" if path else name, item)


def _replaced(value, convert):
    if isinstance(value, Tensor):
        return convert(value)
    if isinstance(value, list):
        return [_replaced(item, convert) for item in value]
    if isinstance(value, tuple):
        return tuple(_replaced(item, convert) for item in value)
    if isinstance(value, dict):
        return {name: _replaced(item, convert) for name, item in value.items()}
    return value


class Sequential(Module):
    """Calls layers, or functions, one after the other. Its members are named "0", "1", ..."""

    def __init__(self, *layers):
        object.__setattr__(self, "layers", [])
        self.add(*layers)

    def add(self, *layers):
        """Appends layers, and returns the Sequential."""
        for layer in layers:
            if not callable(layer):
                raise TypeError(f"a layer can be called; {layer!r} cannot")
            if isinstance(layer, Module):
                object.__setattr__(layer, "_scope", str(len(self.layers)))
            self.layers.append(layer)
        return self

    def members(self):
        return {str(i): layer for i, layer in enumerate(self.layers) if _is_member(layer)}

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
