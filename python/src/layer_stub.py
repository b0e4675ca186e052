"""Writes the stub of asyncgrad.nn.layers, whose classes follow from rows in src/: layer_stub.py CORE_STUB OUTPUT."""
import ast
import inspect
import pathlib
import sys

from asyncgrad.nn import layers

HEAD = """# Made by the build.
from typing import Any

from .._core import Tensor
from .module import Module

class NativeLayer(Module):
    def __deepcopy__(self, memo: dict[int, Any]) -> Any: ...
    def __getattr__(self, name: str) -> Any: ...
"""


def methods_of(core, kind):
    """The methods of a class of _core that its layer has, too, as the stub of _core has them."""
    (found,) = (node for node in core.body if isinstance(node, ast.ClassDef) and node.name == kind.__name__)
    return [node for node in found.body if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")]


def constructor_of(layer):
    parameters = list(inspect.signature(layer).parameters.values())
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return f"def __init__{inspect.Signature([own, *parameters], return_annotation=None)}: ..."


def stub_of(core, layer):
    parts = [repr(layer.__doc__), constructor_of(layer), *map(ast.unparse, methods_of(core, layer._kind))]
    body = "\n".join(parts).replace("\n", "\n    ")
    return f"class {layer.__name__}(NativeLayer):\n    {body}\n"


def main(core_stub, output):
    core = ast.parse(pathlib.Path(core_stub).read_text())
    stubs = [stub_of(core, layer) for layer in layers.NativeLayer.__subclasses__()]
    pathlib.Path(output).write_text("\n\n".join([HEAD, *stubs]))


if __name__ == "__main__":
    main(*sys.argv[1:])
