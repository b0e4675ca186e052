"""Layers and trainings in files of the format safetensors, which C++ programs and PyTorch read, too."""
import os

from . import _core
from .nn.module import Module


class FileNotFound(FileNotFoundError, ValueError):
    """What load() raises for a missing file; a ValueError, too, as in version 0.1.0."""


def _check_exists(path):
    try:
        os.stat(path)
    except FileNotFoundError as error:
        raise FileNotFound(error.errno, error.strerror, error.filename) from None


def save(path, layer):
    """Writes the tensors of a layer, or of a dict by name. Blocks until they are on the disk.

    The file appears whole or not at all.
    """
    _core._save(path, layer)


def load(path, layer=None, strict=_core._load_strict, rename=()):
    """Gives a layer's tensors, or those of a dict, the values of a file; without a layer returns a dict of tensors.

    strict: whether both must have the same tensors. rename: (name in the file, name here[, transpose]), for files of
    other frameworks. A load that raises has changed nothing.
    """
    if layer is None and (rename or strict is not _core._load_strict):
        raise TypeError("strict and rename are for the tensors of a layer or a dict, and none is given")
    _check_exists(path)
    if layer is None:
        return _core._read(path)
    _core._load(path, layer, strict, rename)
    return layer


class Checkpoint:
    """A training in a file: it goes on later as if it had never stopped.

        progress = {"epoch": 0}
        checkpoint = ag.Checkpoint(net=net, optimizer=adam, random=ag.default_generator(), progress=progress)
        if os.path.exists(path):
            checkpoint.load(path)

    Parts are layers, optimisers, schedules, weight averages, Batches, dist.Parts, generators, tensors, and dicts of
    numbers, texts and tensors, which load() changes; and objects with get_state(), which gives such a dict, and
    set_state(), which takes it. Of a layer the file has the tensors, and what get_state() of the layers in it gives.
    Their other attributes are the program's: numbers, and generators, each of which is a part of its own.
    """

    def __init__(self, **parts):
        self._parts = {}
        for name, part in parts.items():
            self.add(name, part)

    def add(self, name, part):
        """Adds a part, and returns the checkpoint."""
        if name in self._parts:
            raise ValueError(f"there is a part {name} already; each needs a name of its own")
        if isinstance(part, (int, float, str)):
            raise TypeError(f"load() could not change {name}, which is {part!r}; a dict keeps it: progress = {{{name!r}: {part!r}}}")
        self._parts[name] = part
        return self

    def save(self, path):
        """Writes everything as it is after what is queued. Blocks until it is on the disk."""
        _core._save_checkpoint(path, self._kept())

    def load(self, path):
        """Gives every part what the file has for it. A load that raises has changed nothing, unless a set_state() raises."""
        _check_exists(path)
        values = _core._load_checkpoint(path, self._kept())
        for name, part in self._parts.items():
            if isinstance(part, dict):
                _update(part, values[name])
            elif isinstance(part, Module):
                for i, layer in enumerate(_with_state(part)):
                    layer.set_state(values[name + _OF_LAYERS][str(i)])
            elif _has_own_state(part):
                part.set_state(values[name])

    def _kept(self):
        kept = {}
        for name, part in self._parts.items():
            if not isinstance(part, Module):
                kept[name] = part.get_state() if _has_own_state(part) else part
                continue
            kept[name] = part
            if layers := _with_state(part):
                kept[name + _OF_LAYERS] = {str(i): layer.get_state() for i, layer in enumerate(layers)}
        return kept


_OF_LAYERS = " state of layers"  # follows the name of a part; a space is in no path of a tensor


def _has_own_state(part):
    return hasattr(part, "get_state") and hasattr(part, "set_state") and not isinstance(part, (_core.Schedule, _core._Batches, _core._Parts))


def _with_state(net):
    """The layers of a net that have a state of their own, each once."""
    return list({id(layer): layer for _, layer in net.modules() if _has_own_state(layer)}.values())


def _update(target, values):
    """Writes the values into a dict, whose tensors have theirs already; a file has its keys as texts."""
    for key, held in list(target.items()):
        if isinstance(held, dict):
            _update(held, values[str(key)])
        elif str(key) in values and not isinstance(held, _core.Tensor):
            target[key] = values[str(key)]
