"""The stub of the extension, which the build makes, and what type checkers make of programs with it."""
import ast
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import asyncgrad as ag

PACKAGE = pathlib.Path(ag.__file__).parent
GUIDE = pathlib.Path(__file__).parents[2] / "docs" / "python.md"
PROGRAM = """
import numpy as np
import asyncgrad as ag

x = ag.randn(3, 4, dtype=ag.float32)
rows: list[ag.Tensor] = [row for row in x]
mean = x.sum().item() / 8
values: np.ndarray = x.numpy()
nested = x.reshape(-1).tolist()
xp = x.__array_namespace__()
z: ag.Tensor = -x * (x > 0) + xp.linalg.inv(x @ x.mT) ** 2
y = (x @ x.T + 1 - 2 * x[0, 0] / 3) ** 2 % 5 // 2
y += 1
y[0] = 2
ordered, places = ag.sort(x)
largest: ag.Tensor = x.topk(2)[0]
by_x: ag.Tensor = ag.grad((x * x).sum(), x)
itemsize: int = ag.default_dtype().itemsize
names = [str(dtype) for dtype in (ag.float64, ag.bool, ag.int64, x.dtype)]
if x.grad is not None:
    print(x.grad.shape, float(y.std()), np.asarray(x), mean, names, y.flatten().view(3, -1).mm(x))
"""


def test_the_stub_names_everything():
    tree = ast.parse((PACKAGE / "_core.pyi").read_text())
    named = {node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    public = {name for name, value in vars(ag._core).items() if callable(value) and not name.startswith("_")}
    assert public <= named, public - named
    of_tensor = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Tensor")
    methods = {node.name for node in of_tensor.body if isinstance(node, ast.FunctionDef)}
    assert {name for name in vars(ag.Tensor) if not name.startswith("_")} <= methods
    assert not methods & {alias.asname for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names}


def test_the_stub_of_layers_has_what_their_rows_say():
    tree = ast.parse((PACKAGE / "nn" / "layers.pyi").read_text())
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    assert {kind.__name__[1:] for kind in ag._core._Layer.__subclasses__()} < set(classes)
    for name, node in classes.items():
        layer = getattr(ag.nn, name)
        methods = {part.name: part for part in node.body if isinstance(part, ast.FunctionDef)}
        assert {method for method in vars(layer) if not method.startswith("_")} - set(vars(ag.nn.Module)) <= set(methods)
        if layer is not ag.nn.NativeLayer:
            parameters = [row[0] for row in layer._kind._parameters]
            assert [arg.arg for arg in methods["__init__"].args.args] == ["self", *parameters]
            assert ast.get_docstring(node, clean=False) == layer.__doc__


with_mypy = pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
LAYERS = "from asyncgrad import nn\nlayer: nn.Dense = nn.Dense(4, 8)\nprint(layer.weight, nn.LSTM(4, 8).run)\n"
WRONG = """import asyncgrad as ag
from asyncgrad import nn
ag.ones(2).no_such_method()
nn.Dense(4, 8, bais=False)
nn.Dense('4', 8)
"""


def programs():
    *guide, mxnet = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(), re.M | re.S)
    return {"guide": "\n".join(guide), "guide_to_mxnet": mxnet, "tensors": PROGRAM, "layers": LAYERS}


def write_programs(folder, wrong):
    """Writes the programs and a wrong one; the files' names."""
    files = {f"{name}.py": program for name, program in {**programs(), "wrong": wrong}.items()}
    for name, program in files.items():
        (folder / name).write_text(program)
    return list(files)


@with_mypy
def test_a_type_checker_accepts_programs(tmp_path):
    files = write_programs(tmp_path, WRONG)
    # Of a package that PYTHONPATH names mypy says nothing.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"MYPYPATH": str(PACKAGE.parent)}
    # The package alone: annotations of what it imports are not its own.
    done = subprocess.run([sys.executable, "-m", "mypy", "--check-untyped-defs", "--follow-imports=silent", *files], capture_output=True,
                          text=True, cwd=tmp_path, timeout=300, env=env)
    found = [line for line in done.stdout.splitlines() if ": error: " in line]
    assert all(line.startswith("wrong.py:") for line in found) and len(found) == 3, done.stdout + done.stderr
    assert "no_such_method" in found[0]
    assert 'Unexpected keyword argument "bais" for "Dense"' in found[1]
    assert 'Argument 1 to "Dense" has incompatible type "str"; expected "int"' in found[2]


def test_pyright_accepts_programs(tmp_path):
    pyright = shutil.which("basedpyright", path=os.pathsep.join([str(pathlib.Path(sys.executable).parent), os.environ["PATH"]]))
    if pyright is None:
        pytest.skip("basedpyright is not installed; it takes 280 MB: pip install basedpyright")
    write_programs(tmp_path, "import asyncgrad as ag\n(ag.ones(2) + 1).no_such_method()\n")
    settings = {"typeCheckingMode": "standard", "extraPaths": [str(PACKAGE.parent)]}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    done = subprocess.run([pyright, "--pythonpath", sys.executable, "--outputjson"], capture_output=True, text=True, cwd=tmp_path, timeout=300)
    found = {(pathlib.Path(message["file"]).name, message["message"]) for message in json.loads(done.stdout)["generalDiagnostics"]}
    assert len(found) == 1 and "no_such_method" in str(found), found


# What stubtest cannot know.
EXPECTED = [
    r"^asyncgrad\._core\..* (is not a function|metaclass differs|is a disjoint base at runtime, but .*)$",  # nanobind has own types for these
    r"_(named|chosen) is inconsistent, stub is a staticmethod but runtime is not$",  # as above
    r'__init__ is inconsistent, stub does not have \*args parameter "args"$',  # of classes that programs do not make
    r"\.__signature__ ",  # it is computed for inspect.signature()
    r"Tensor\.__iter__ is not present at runtime$",  # Python iterates by x[0], x[1] ...
]


@with_mypy
def test_stubtest_finds_nothing(tmp_path):
    (tmp_path / "mypy.ini").write_text("[mypy]\nignore_errors = True\n")  # of the package's modules, which are no stubs
    done = subprocess.run([sys.executable, "-m", "mypy.stubtest", "asyncgrad._core", "asyncgrad.nn.layers", "--concise", "--mypy-config-file", "mypy.ini"],
                          capture_output=True, text=True, cwd=tmp_path, timeout=300, env={**os.environ, "MYPYPATH": str(PACKAGE.parent)})
    assert done.stderr == "" and "asyncgrad._core.Tensor is inconsistent, metaclass differs" in done.stdout
    assert [line for line in done.stdout.splitlines() if not any(re.search(reason, line) for reason in EXPECTED)] == []
