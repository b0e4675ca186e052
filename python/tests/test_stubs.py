"""The stub of the extension, which the build makes, and what type checkers make of programs with it."""
import ast
import importlib.util
import os
import pathlib
import re
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
y = (x @ x.T + 1 - 2 * x[0, 0] / 3) ** 2 % 5 // 2
y += 1
y[0] = 2
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


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
@pytest.mark.parametrize("which", ["the guide", "the guide, MXNet", "another"])
def test_a_type_checker_accepts_programs(which, tmp_path):
    *guide, mxnet = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(), re.M | re.S)
    program = {"the guide": "\n".join(guide), "the guide, MXNet": mxnet, "another": PROGRAM}[which]
    (tmp_path / "program.py").write_text(program)
    # The package alone: annotations of what it imports are not its own.
    done = subprocess.run([sys.executable, "-m", "mypy", "--check-untyped-defs", "--follow-imports=silent", "program.py"],
                          capture_output=True, text=True, cwd=tmp_path, timeout=300,
                          env={**os.environ, "MYPYPATH": str(PACKAGE.parent)})
    assert done.returncode == 0, done.stdout
    (tmp_path / "program.py").write_text("import asyncgrad as ag\nag.ones(2).no_such_method()\n")
    done = subprocess.run([sys.executable, "-m", "mypy", "program.py"], capture_output=True, text=True, cwd=tmp_path,
                          timeout=300, env={**os.environ, "MYPYPATH": str(PACKAGE.parent)})
    assert "no_such_method" in done.stdout
