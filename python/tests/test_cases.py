"""The cases of the folder cases in Python: the same names, defaults, values and errors, bit for bit.

The program is built beside the extension; a wheel has none, and these tests are skipped.
"""
import ast
import inspect
import json
import pathlib
import re
import struct
import subprocess

import numpy as np
import pytest

import asyncgrad as ag

PROGRAM = pathlib.Path(ag.__file__).parents[1] / "cases"
STUB = ast.parse((pathlib.Path(ag.__file__).parent / "_core.pyi").read_text())


def cases():
    """[(what Python evaluates, what came out in C++)]"""
    if not PROGRAM.exists():
        return []
    lines = subprocess.run([PROGRAM], capture_output=True, text=True, timeout=120, check=True).stdout.split("\n")
    found = []
    for line in lines[:-1]:  # a summary has several
        if line.startswith("case "):
            found.append([line[5:], []])
        else:
            found[-1][1].append(line)
    return [(case, "\n".join(result)) for case, result in found]


CASES = cases()
pytestmark = pytest.mark.skipif(not CASES, reason=f"there is no {PROGRAM}: the package was not built here")


def text(value):
    if isinstance(value, ag.Tensor):
        extents = ", ".join(map(str, value.shape))
        return f"({extents}) {np.asarray(value.detach()).tobytes().hex()}"
    if isinstance(value, tuple):
        return " ".join(map(text, value))
    return struct.pack("d", value).hex() if isinstance(value, float) else str(value)


def given(shape):
    return ag.arange(int(np.prod(shape)), dtype="float32").reshape(shape) / 10 - 1


def layer(made, *inputs):
    return "".join(f"{path} {text(tensor)} " for path, tensor in made.state()) + text(made(*inputs))


def optimizer(make):
    p = ag.parameter(ag.array([0.5, 1.0, 2.0]))
    rule = make([p])
    for _ in range(3):
        rule.zero_grad()
        (p * p).sum().backward()
        rule.step()
    return p


def clipped(clip):
    p = ag.parameter(ag.array([0.5, 1.0, 2.0]))
    (p * p).sum().backward()
    length = clip(p).item()
    return text(p.grad) + text(length)


def factor(make):
    function = make()
    return "".join(text(function(t)) for t in range(10))


def rates_of_groups():
    sgd = ag.optim.SGD([ag.parameter(ag.ones(1))], lr=0.1)
    sgd.add_group([ag.parameter(ag.ones(1))], lr=0.01)
    schedule = ag.optim.Schedule(sgd, ag.optim.warm_up(2, ag.optim.steps(2, 0.5)))
    rates = ""
    for _ in range(6):
        rates += text(sgd.get_lr(0)) + text(sgd.get_lr(1))
        schedule.step()
    return rates


def order(**options):
    batches = ag.data.Batches(range(10), **options)
    return "".join("".join(f"{i} " for i in x.tolist()) + "| " for _ in range(3) for (x,) in batches)


def parameters(made):
    """[(name, default)] of a class or a function; None for no default, too."""
    if isinstance(made, type):
        found = inspect.signature(made).parameters.values()
        return [(p.name, None if p.default is p.empty else p.default) for p in found]
    (function,) = (node for node in STUB.body if isinstance(node, ast.FunctionDef) and node.name == made.__name__)
    names = [arg.arg for arg in function.args.args + function.args.kwonlyargs]
    values = [ast.literal_eval(default) for default in function.args.defaults + function.args.kw_defaults]
    return list(zip(names, [None] * (len(names) - len(values)) + values))


def defaults(made):
    """Those that a text of JSON can say; None stands for the library's choice at the call, and for no function."""
    return json.dumps({name: default for name, default in parameters(made) if default is not None})


def typed(text):
    """1, 1.0 and True differ."""
    return {name: (type(value), value) for name, value in json.loads(text).items()}


def without_place(error):
    return re.sub(r", at \S+:\d+", "", error)


@pytest.mark.parametrize("case, expected", CASES, ids=[case for case, _ in CASES])
def test_case(case, expected):
    ag.manual_seed(7)
    names = {"ag": ag, "nn": ag.nn, "optim": ag.optim, "data": ag.data, "input": given, "layer": layer, "optimizer": optimizer,
             "clipped": clipped, "factor": factor, "order": order, "rates_of_groups": rates_of_groups, "defaults": defaults}
    try:
        found = text(eval(case, names))
    except (ValueError, TypeError, IndexError) as error:
        found = f"error {error}"
    if case.startswith("defaults"):
        assert typed(found) == typed(expected)
    else:
        assert without_place(found) == without_place(expected)


def functions(module):
    """The functions of the extension that a module of the package has, by name."""
    native = set(map(id, vars(ag._core).values()))
    return {name: value for name, value in vars(module).items()
            if id(value) in native and callable(value) and not isinstance(value, type)}


def bound():
    """(name, what it is, how a case of its values begins) of everything that the extension has a row for."""
    for kind in ag._core._Layer.__subclasses__():
        name = kind.__name__[1:]
        yield f"nn.{name}", getattr(ag.nn, name), f"layer(nn.{name}("
        for method in vars(kind):
            if not method.startswith("_"):
                yield f"nn.{name}.{method}", None, rf"nn.{name}(*).{method}("
    for kind in ag.optim.Optimizer.__subclasses__():
        yield f"optim.{kind.__name__}", kind, f"optimizer(lambda p: optim.{kind.__name__}("
    for name, function in functions(ag.optim).items():
        yield f"optim.{name}", function, f"*(lambda*: optim.{name}("
    for name, function in functions(ag.nn).items():
        yield f"nn.{name}", function, f"nn.{name}("
    for name in ag.nn.init.__all__:
        made = getattr(ag.nn.init, name)
        yield f"nn.init.{name}", None if name in ("zeros", "ones") else made, f"nn.init.{name}("


BOUND = list(bound())


def test_the_rows_are_found():
    names = {name for name, _, _ in BOUND}
    assert {"nn.Dense", "nn.Embedding.scores", "optim.Lion", "optim.cosine", "optim.clip_norm", "nn.l2_loss",
            "nn.half_squared_error", "nn.init.zeros", "nn.init.he_normal"} <= names
    assert len(names) > 40


@pytest.mark.parametrize("name, what, begins", BOUND, ids=[name for name, _, _ in BOUND])
def test_there_are_cases_of_everything(name, what, begins):
    pattern = re.escape(begins).replace(r"\*", "[^.]*")
    values = [case for case, expected in CASES if re.match(pattern, case) and not expected.startswith("error")]
    assert values, f"there is no case of the values of {name}"
    if what is not None and any(default is not None for _, default in parameters(what)):
        assert f"defaults({name})" in dict(CASES)


def test_there_are_cases_of_errors():
    assert any(expected.startswith("error") for _, expected in CASES)
