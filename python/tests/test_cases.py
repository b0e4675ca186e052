"""The cases of cases.cpp in Python: the same names, defaults, values and errors, bit for bit.

The program is built beside the extension; a wheel has none, and these tests are skipped.
"""
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
    return struct.pack("d", value).hex() if isinstance(value, float) else str(value)


def given(shape):
    return ag.arange(int(np.prod(shape)), dtype="float32").reshape(shape) / 10 - 1


def layer(made, shape):
    return "".join(f"{path} {text(tensor)} " for path, tensor in made.state()) + text(made(given(shape)))


def optimizer(make):
    p = ag.parameter(ag.array([0.5, 1.0, 2.0]))
    rule = make([p])
    for _ in range(3):
        rule.zero_grad()
        (p * p).sum().backward()
        rule.step()
    return p


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


def defaults(made):
    numbers = {p.name: p.default for p in inspect.signature(made).parameters.values()
               if isinstance(p.default, (int, float))}
    return json.dumps(numbers)


def without_place(error):
    return re.sub(r", at \S+:\d+", "", error)


@pytest.mark.parametrize("case, expected", CASES, ids=[case for case, _ in CASES])
def test_case(case, expected):
    ag.manual_seed(7)
    names = {"ag": ag, "nn": ag.nn, "optim": ag.optim, "data": ag.data, "input": given, "layer": layer, "optimizer": optimizer,
             "factor": factor, "order": order, "rates_of_groups": rates_of_groups, "defaults": defaults}
    try:
        found = text(eval(case, names))
    except (ValueError, TypeError) as error:
        found = f"error {error}"
    if case.startswith("defaults"):
        assert json.loads(found) == json.loads(expected)
    else:
        assert without_place(found) == without_place(expected)


def test_there_are_cases_of_everything():
    for module in (ag.nn, ag.optim):
        for name, value in vars(module).items():
            if isinstance(value, type) and hasattr(value, "_parameters") and value._parameters:
                assert any(f".{name}(" in case for case, _ in CASES), name
    assert any(case.startswith("defaults") for case, _ in CASES)
    assert any(expected.startswith("error") for _, expected in CASES)
