"""MXNet's names against MXNet 1.9.1 itself, in the environment .peers/mxnet, which scripts/python.sh --mxnet makes.

ASYNCGRAD_MXNET=PYTHON names another Python that has it.
"""
import functools
import json
import os
import pathlib
import subprocess

import numpy
import pytest

import asyncgrad as ag
import mxnet_expressions

INTEGERS = {"bool", "int32", "int64"}
TYPES = {name for name, value in vars(ag).items() if isinstance(value, ag.DType)}
ROOT = pathlib.Path(__file__).resolve().parents[2]


@functools.cache
def from_mxnet():
    """What MXNet gives for each expression, or why it is not here."""
    python = os.environ.get("ASYNCGRAD_MXNET", ROOT / ".peers" / "mxnet" / "bin" / "python")
    script = pathlib.Path(mxnet_expressions.__file__)
    try:
        done = subprocess.run([python, script, "mxnet"], capture_output=True, text=True, timeout=300)
    except OSError as error:
        return str(error)
    return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


@functools.cache
def space():
    return mxnet_expressions.space_of("asyncgrad.mxnet")


def compare(ours, theirs):
    if isinstance(theirs, dict) and "quantiles" in theirs:  # of a distribution around 0, of numbers that are drawn
        a, b = (numpy.array(one["quantiles"]) for one in (ours, theirs))
        numpy.testing.assert_allclose(a, b, rtol=0, atol=0.02 * (b[-2] - b[1]) / 2)
    elif isinstance(theirs, dict) and "one_ulp" in theirs:
        numpy.testing.assert_array_max_ulp(*(numpy.array(one["one_ulp"], "float32") for one in (ours, theirs)), 1)
    elif isinstance(theirs, dict):
        assert ours["shape"] == theirs["shape"]
        numpy.testing.assert_allclose(ours["values"], theirs["values"], rtol=2e-4, atol=2e-5)
        # Without a type bool a comparison gives ones and zeros of the type of its inputs.
        stands_for = INTEGERS if "bool" in TYPES else INTEGERS | {"float32"}
        assert ours["dtype"] == theirs["dtype"] or (theirs["dtype"] in INTEGERS and ours["dtype"] in stands_for)
    elif isinstance(theirs, list):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs):
            compare(a, b)
    elif isinstance(theirs, float):
        assert ours == pytest.approx(theirs, rel=1e-4, abs=1e-6)
    else:
        assert ours == theirs


@pytest.mark.parametrize("expression", mxnet_expressions.EXPRESSIONS)
def test_beside_mxnet(expression):
    theirs = from_mxnet()
    if isinstance(theirs, str):
        pytest.skip(f"MXNet is not here, see scripts/python.sh --mxnet: {theirs}")
    theirs = theirs[expression]
    assert not (isinstance(theirs, dict) and "raised" in theirs), theirs
    compare(mxnet_expressions.described(eval(expression, space())), theirs)
