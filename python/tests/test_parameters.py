"""The parameters of layers, optimisers, schedules, losses and the like have the names of the C++ headers."""
import ast
import pathlib
import re

import pytest

import asyncgrad as ag
from test_cases import BOUND, STUB, parameters

LIBRARY = pathlib.Path(__file__).parents[2]
FOLDERS = {"nn.init": ["nn"], "nn": ["nn", "autograd"], "optim": ["optim"], "": ["autograd"]}


def headers(folder):
    text = "\n".join(path.read_text() for path in sorted((LIBRARY / folder).glob("*.h")))
    return re.sub(r"//.*", "", text)


def parts(text):
    """The parts between the commas that are in no brackets, up to the closing bracket around them."""
    found, depth = [""], 0
    for letter in text:
        depth += (letter in "(<{[") - (letter in ")>}]")
        if depth < 0:
            break
        if letter == "," and depth == 0:
            found.append("")
        else:
            found[-1] += letter
    return [part for part in found if part.strip()]


def name_in(declaration):
    return re.findall(r"\w+", declaration.split("=")[0])[-1]


def fields_of(options, text):
    pattern = rf"struct {options} (?::[^{{]*)?{{(.*?)\n}};"
    found = re.search(pattern, text, re.S) or re.search(pattern, headers("autograd"), re.S)
    return [name_in(part) for line in found[1].split(";") for part in parts(line)]


def declared(name, text):
    """The names of the parameters in each declaration of a function, or constructor; options stand for their fields."""
    for place in re.finditer(rf"^ *(?:\w+ )?{name}\((?!\))", text, re.M):
        names = []
        for part in parts(text[place.end():]):
            options = re.search(r"\b(\w+Options)\b", part)
            if options:
                names += fields_of(options[1], text)
            elif name_in(part) != "where":
                names.append(name_in(part))
        yield names


ROWS = [(name, what) for name, what, _ in BOUND if what is not None and parameters(what)]


@pytest.mark.parametrize("name, what", ROWS, ids=[name for name, _ in ROWS])
def test_the_names_are_those_of_the_header(name, what):
    module, _, last = name.rpartition(".")
    found = [parameter for parameter, _ in parameters(what)]
    folders = FOLDERS[module]
    declarations = [names for folder in folders for names in declared(last, headers(folder))]
    assert any(sorted(found) == sorted(names) for names in declarations), (found, declarations)


# Functions of NumPy's, whose parameters have the names that they have there.
OF_NUMPY = {"transpose", "flip", "tile", "pad", "tril", "triu", "clip"}


def test_functions_have_the_names_of_the_header_or_numpys():
    """Some have fewer parameters than in C++, some more, such as a dtype."""
    text = headers("autograd")
    names = [node.name for node in STUB.body if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")]
    known = {name: list(declared(name, text)) for name in names}
    assert sum(map(bool, known.values())) > 80
    for name, declarations in known.items():
        found = {parameter for parameter, _ in parameters(getattr(ag._core, name))}
        same = any(found <= set(one) or found >= set(one) for one in declarations)
        assert not declarations or same != (name in OF_NUMPY), (name, found, declarations)


def test_another_name_is_found():
    assert ["length", "min_factor"] in list(declared("cosine", headers("optim")))
    assert "groups" in next(declared("GroupNorm", headers("nn")))
