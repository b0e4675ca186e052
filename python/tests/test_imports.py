"""Modules of the package import each other at the top of the file and in no circle."""
import ast
import graphlib
import pathlib
import re

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


def fronts():
    """The files of other libraries' names, with the packages that each may import besides asyncgrad's public names."""
    for path in FILES:
        place = path.relative_to(PACKAGE)
        if place.parts[0] in ("mxnet", "torch.py", "d2l.py"):
            yield path, {"mxnet"} if place.parts[0] == "d2l.py" else {place.parts[0]}


def private_names_of(tree):
    """What a module takes from asyncgrad, or from a tensor, whose name begins with an underscore."""
    names = {"asyncgrad"} | {alias.asname for node in ast.walk(tree) if isinstance(node, ast.Import)
                             for alias in node.names if alias.name.split(".")[0] == "asyncgrad"}
    private = {name for kind in (ag.Tensor, ag.Generator, ag.nn.Module) for name in vars(kind) if name[:1] == "_" != name[1:2]}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module.split(".")[0] == "asyncgrad":
            parts = [*node.module.split("."), *(alias.name for alias in node.names)]
            yield from (part for part in parts if part.startswith("_"))
        elif isinstance(node, ast.Attribute) and node.attr[:1] == "_" != node.attr[1:2]:
            if node.attr in private or (isinstance(node.value, ast.Name) and node.value.id in names):
                yield node.attr
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "getattr":
            of, name = node.args[:2]
            if isinstance(of, ast.Name) and of.id in names and isinstance(name, ast.Constant) and name.value.startswith("_"):
                yield name.value


def test_other_libraries_names_stand_on_the_public_ones_alone():
    assert len(list(fronts())) > 30
    for path, own in fronts():
        tree = ast.parse(path.read_text())
        assert list(private_names_of(tree)) == [], path
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.level > 0:
                folder = path.parents[node.level - 1].joinpath(*(node.module or "").split("."))
                assert folder != PACKAGE and folder.relative_to(PACKAGE).parts[0] in own, (path, node.lineno)


def test_private_names_are_found():
    code = "import asyncgrad as ag\nfrom asyncgrad import _core\nfrom asyncgrad._scopes import no_grad\nag._core.ones(x._address())\ngetattr(ag, '_core')"
    assert sorted(private_names_of(ast.parse(code))) == ["_address", "_core", "_core", "_core", "_scopes"]


def test_the_package_reads_no_private_attribute_of_theirs():
    sources = "".join(path.read_text() for path in sorted((PACKAGE.parent / "src").iterdir()))
    read = set(re.findall(r'(?:attr|hasattr)\([^"()]*"(_[a-z]\w*)"', sources))
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
