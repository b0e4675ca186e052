"""Modules of the package import each other at the top of the file and in no circle."""
import ast
import graphlib
import pathlib

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
