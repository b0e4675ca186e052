"""Modules of the package import each other at the top of the file and in no circle."""
import ast
import graphlib
import pathlib
import re
import subprocess
import sys

import pytest

import asyncgrad as ag

PACKAGE = pathlib.Path(__file__).parents[1] / "asyncgrad"
FILES = sorted(PACKAGE.rglob("*.py"))


def imported(path, node):
    """The files of the package that an import statement names."""
    if not isinstance(node, ast.ImportFrom) or node.level == 0:
        return
    folder = path.parents[node.level - 1].joinpath(*(node.module or "").split("."))
    for name in [folder, *(folder / alias.name for alias in node.names)]:
        for file in (name.with_suffix(".py"), name / "__init__.py"):
            # That of a package above runs anyway, before the modules in it.
            if file in FILES and not (file.name == "__init__.py" and file.parent in path.parents):
                yield file


def test_no_circle():
    graph = {path: {file for node in ast.walk(ast.parse(path.read_text())) for file in imported(path, node)} for path in FILES}
    assert sum(map(len, graph.values())) > 50
    graphlib.TopologicalSorter(graph).prepare()  # raises CycleError with the circle


def test_only_numpy_is_imported_later():
    for path in FILES:
        for function in ast.walk(ast.parse(path.read_text())):
            if isinstance(function, (ast.FunctionDef, ast.Lambda)):
                for node in ast.walk(function):
                    assert not isinstance(node, ast.ImportFrom), (path, node.lineno)
                    assert not isinstance(node, ast.Import) or node.names[0].name == "numpy", (path, node.lineno)


def test_numpy_is_imported_when_it_is_needed():
    subprocess.run([sys.executable, "-c", "import sys, asyncgrad; assert 'numpy' not in sys.modules"], check=True)


def fronts():
    """The files of other libraries' names, with the packages that each may import besides asyncgrad's public names."""
    for path in FILES:
        place = path.relative_to(PACKAGE)
        if place.parts[0] in ("mxnet", "torch.py", "d2l.py"):
            yield path, {"mxnet"} if place.parts[0] == "d2l.py" else {place.parts[0]}


def is_private(name):
    return isinstance(name, str) and name[:1] == "_" != name[1:2]


def text_of(node):
    """The text of a constant, or None."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def called(node):
    """The last name of what is called: "import_module" of importlib.import_module(...)."""
    function = node.func if isinstance(node, ast.Call) else None
    return getattr(function, "id", None) or getattr(function, "attr", None)


def leads_to_the_package(node, names):
    """Whether an expression is asyncgrad or a part of it: a chain of attributes, items and getattr() from one of the names."""
    if isinstance(node, ast.Name):
        return node.id in names
    if isinstance(node, (ast.Attribute, ast.Subscript, ast.NamedExpr)):
        texts = [text_of(node.slice)] if isinstance(node, ast.Subscript) else []
        return any(text and text.split(".")[0] == "asyncgrad" for text in texts) or leads_to_the_package(node.value, names)
    if isinstance(node, ast.IfExp):
        return leads_to_the_package(node.body, names) or leads_to_the_package(node.orelse, names)
    if called(node) in ("import_module", "__import__"):
        return (text_of(node.args[0]) or "").split(".")[0] == "asyncgrad"
    return called(node) in ("getattr", "vars") and leads_to_the_package(node.args[0], names)


def names_of_the_package(tree):
    """The names by which a module knows asyncgrad and parts of it, aliases included."""
    names = {"asyncgrad"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.asname for alias in node.names if alias.asname and alias.name.split(".")[0] == "asyncgrad"}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module.split(".")[0] == "asyncgrad":
            names |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):  # what another module of theirs calls the package
            names |= {alias.asname or alias.name for alias in node.names if alias.name in ("ag", "_ag", "asyncgrad")}
    assigned = [pair for node in ast.walk(tree) for pair in assignments(node)]
    while more := {name for name, value in assigned if name not in names and leads_to_the_package(value, names)}:
        names |= more
    return names


def assignments(node):
    """(name, value) for each name to which a statement or an expression assigns a value."""
    if not isinstance(node, (ast.Assign, ast.AnnAssign, ast.NamedExpr)) or node.value is None:
        return
    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
        several = isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
        for one, value in zip(target.elts, node.value.elts) if several else [(target, node.value)]:
            if isinstance(one, ast.Name):
                yield one.id, value


def private_names_of(tree):
    """The names with a leading underscore that a module takes from asyncgrad, or from a tensor."""
    names = names_of_the_package(tree)
    private = {name for kind in (ag.Tensor, ag.Generator, ag.nn.Module) for name in vars(kind) if is_private(name)} | {"_core"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (part for alias in node.names for part in alias.name.split(".") if "asyncgrad." in alias.name and is_private(part))
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module.split(".")[0] == "asyncgrad":
            yield from filter(is_private, [*node.module.split("."), *(alias.name for alias in node.names)])
        elif isinstance(node, ast.Attribute) and is_private(node.attr):
            if node.attr in private or leads_to_the_package(node.value, names):
                yield node.attr
        elif isinstance(node, ast.Subscript) and is_private(text_of(node.slice)) and leads_to_the_package(node.value, names):
            yield text_of(node.slice)
        elif called(node) in ("getattr", "hasattr", "attrgetter"):
            of_the_package = called(node) == "attrgetter" or leads_to_the_package(node.args[0], names)
            yield from (text_of(name) for name in node.args if of_the_package and is_private(text_of(name)))
        elif text_of(node):
            parts = text_of(node).split(".")
            yield from (part for part in parts if part == "_core" or parts[0] == "asyncgrad" and is_private(part))


def test_other_libraries_names_stand_on_the_public_ones_alone():
    assert len(list(fronts())) > 30
    for path, own in fronts():
        tree = ast.parse(path.read_text())
        assert list(private_names_of(tree)) == [], path
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.level > 0:
                folder = path.parents[node.level - 1].joinpath(*(node.module or "").split("."))
                assert folder != PACKAGE and folder.relative_to(PACKAGE).parts[0] in own, (path, node.lineno)


@pytest.mark.parametrize("code, found", [
    ("from asyncgrad import _core", {"_core"}),
    ("from asyncgrad._scopes import no_grad", {"_scopes"}),
    ("import asyncgrad._scopes", {"_scopes"}),
    ("import asyncgrad._scopes as scopes", {"_scopes"}),
    ("ag._scopes.no_grad()", {"_scopes"}),
    ("x._address()", {"_address"}),
    ("ag.ones(3)._address()", {"_address"}),
    ("ag.nn.layers._core", {"_core"}),
    ("ag.nn.layers._Linear", {"_Linear"}),
    ("from asyncgrad import nn\nnn.module._core", {"_core"}),
    ("from asyncgrad import nn as layers\nlayers.module._own_members", {"_own_members"}),
    ("from asyncgrad.nn import module\nmodule._own_members", {"_own_members"}),
    ("getattr(ag, '_core')", {"_core"}),
    ("getattr(ag.nn, '_core')", {"_core"}),
    ("getattr(ag.nn, '_pickles', None)", {"_pickles"}),
    ("getattr(getattr(ag, 'nn'), '_pickles')", {"_pickles"}),
    ("hasattr(ag.nn, '_pickles')", {"_pickles"}),
    ("operator.attrgetter('_scopes')(ag)", {"_scopes"}),
    ("name = '_core'\ngetattr(ag, name)", {"_core"}),
    ("other = ag\nother._scopes", {"_scopes"}),
    ("other = another = ag.nn\nanother._pickles", {"_pickles"}),
    ("first, second = 1, ag\nsecond._scopes", {"_scopes"}),
    ("later = other.nn\nother = ag\nlater._pickles", {"_pickles"}),
    ("other: object = ag\nother._scopes", {"_scopes"}),
    ("from .multiarray import ag as other\nother._scopes", {"_scopes"}),
    ("(other := ag)._scopes", {"_scopes"}),
    ("def f():\n    other = ag.nn\n    return lambda: other._pickles", {"_pickles"}),
    ("vars(ag)['_scopes']", {"_scopes"}),
    ("ag.__dict__['_scopes']", {"_scopes"}),
    ("import sys\nsys.modules['asyncgrad']._scopes", {"_scopes"}),
    ("import sys\nsys.modules['asyncgrad._scopes']", {"_scopes"}),
    ("import importlib\nimportlib.import_module('asyncgrad')._scopes", {"_scopes"}),
    ("import importlib\nimportlib.import_module('asyncgrad._scopes')", {"_scopes"}),
    ("__import__('asyncgrad')._scopes", {"_scopes"}),
])
def test_private_names_are_found(code, found):
    assert set(private_names_of(ast.parse(f"import asyncgrad as ag\n{code}"))) == found


@pytest.mark.parametrize("code", [
    "self._values", "from .random import _generator\n_generator()", "from . import random\nrandom._generator", "ag.Tensor.grad.__get__",
    "getattr(self, '_values')", "values['_core_']", "ag.nn.Linear(2, 3).weight", "import numpy\nnumpy._NoValue"])
def test_own_private_names_are_allowed(code):
    assert list(private_names_of(ast.parse(f"import asyncgrad as ag\n{code}"))) == []


def test_the_package_reads_no_private_attribute_of_theirs():
    sources = "".join(path.read_text() for path in sorted((PACKAGE.parent / "src").iterdir()))
    read = set(re.findall(r'(?:attr|hasattr)\([^"()]*"(_[a-z]\w*)"', sources)) - {"_fields"}  # of Python's named tuples
    assert "_own_members" in read  # of the package's own classes
    own = "".join(path.read_text() for path in FILES if path not in {path for path, _ in fronts()})
    theirs = "".join(path.read_text() for path, _ in fronts())
    for name in read:
        assert re.search(rf"\b{name}\b", own) and not re.search(rf"\bdef {name}\b|\b{name} = ", theirs), name


def test_the_package_knows_no_other_libraries_names():
    fronts_files = {path for path, _ in fronts()}
    for path in [*FILES, *sorted((PACKAGE.parent / "src").iterdir())]:
        if path not in fronts_files:
            assert "mxnet" not in path.read_text().lower(), path
