"""docs/mxnet.md tells the truth: names that it calls computed are there, and those that it calls missing are not."""
import functools
import importlib
import pathlib
import re
import subprocess
import sys
import types

import pytest

import asyncgrad.mxnet
from asyncgrad.mxnet import missing

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "mxnet.md"
ROWS = re.findall(r"^\| `([A-Za-z._]+)` \| `?([^|`]*)`? \| `?([^|`]*)`? \|$", PAGE.read_text(), re.M)


@pytest.mark.parametrize("module, computed, missing", ROWS, ids=[row[0] for row in ROWS])
def test_names(module, computed, missing):
    space = asyncgrad.mxnet
    for part in module.split("."):
        space = getattr(space, part)
    assert [name for name in computed.split() if not hasattr(space, name)] == []
    for name in missing.split():
        with pytest.raises(AttributeError, match=name):
            getattr(space, name)


def test_the_page_has_every_module():
    assert len(ROWS) == 24 and all(computed for _, computed, _ in ROWS)


def test_the_table_of_what_is_missing_is_that_of_the_page():
    listed = {module: set(names.split()) for module, _, names in ROWS}
    for module, rows in missing.NAMES.items():
        names = [name for row in rows for name in row.split()]
        assert len(names) == len(set(names)) and (module in ("", "nd") or set(names) == listed[module])
    modules = {module for module, *_ in ROWS if isinstance(functools.reduce(getattr, module.split("."), asyncgrad.mxnet), types.ModuleType)}
    assert {module for module in modules if listed[module]} <= set(missing.NAMES)


@pytest.mark.parametrize("name", [*missing.MODULES, *(f"{module}.{name}" if module else name for module, rows in missing.NAMES.items()
                                                      for row in rows for name in row.split())])
def test_what_is_missing_says_what_there_is_instead(name):
    *outer, last = name.split(".")
    space = functools.reduce(getattr, outer, asyncgrad.mxnet)
    assert not hasattr(space, last)
    with pytest.raises(NotImplementedError, match=rf"mxnet\.{re.escape(name)} is missing in asyncgrad\. Instead there is: ."):
        getattr(space, last)
    if name in missing.MODULES:
        for statement in (f"import asyncgrad.mxnet.{name}", f"from {'.'.join(['asyncgrad.mxnet', *outer])} import {last}",
                          f"from asyncgrad.mxnet.{name} import Something"):
            with pytest.raises(ImportError, match=rf"mxnet\.{re.escape(name)} is missing"):
                exec(statement)


def test_objects_and_classes_of_the_program_say_what_is_missing():
    class Net(asyncgrad.mxnet.gluon.HybridBlock):
        def save(self):
            return "saved"

    net = Net()
    assert net.save() == "saved" and not hasattr(net, "export") and not hasattr(asyncgrad.mxnet.np.ones(2), "sort")
    with pytest.raises(NotImplementedError, match=r"HybridBlock\.export is missing in asyncgrad\. Instead there is: save_parameters\(\)"):
        net.export("net")
    net.load = len
    assert net.load("abc") == 3 and "load" in dir(net) and "save" in dir(net)


def test_dir_has_only_attributes_that_are_there():
    """The book's programs look for parameters among all attributes of a block."""
    mxnet = asyncgrad.mxnet
    net = mxnet.gluon.nn.Dense(1, in_units=1)
    net.initialize()
    parameters = net.collect_params()
    for thing in (net, parameters, net.weight, mxnet.gluon.Trainer(parameters, "sgd"), mxnet.np.ones((2, 2))):
        assert len(dir(thing)) > 30 and [name for name in dir(thing) if not hasattr(thing, name)] == []


@pytest.mark.parametrize("space", [asyncgrad.mxnet, asyncgrad.mxnet.np, asyncgrad.mxnet.gluon.nn, asyncgrad.mxnet.nd])
def test_names_that_nobody_has(space):
    with pytest.raises(AttributeError, match=f"module '{space.__name__}' has no attribute 'nothing'"):
        assert space.nothing
    with pytest.raises(ImportError):
        importlib.import_module("asyncgrad.mxnet.nothing")


IMPORTS = """
import importlib
import mxnet as mx, mxnet.numpy as np, mxnet.numpy_extension as npx, mxnet.gluon.nn, mxnet.numpy.linalg
from mxnet import autograd, base, gluon, image, init, lr_scheduler, metric, nd, numpy, numpy_extension, util
from mxnet.base import MXNetError
from mxnet.gluon import data, loss, nn, rnn, utils
from mxnet.gluon.block import Block, HybridBlock
from mxnet.gluon.data.vision import transforms
from mxnet.gluon.parameter import Parameter
from mxnet.gluon.trainer import Trainer
from mxnet.initializer import Xavier
from mxnet.util import np_array, np_shape, use_np
from mxnet.base import mx_real_t
from mxnet.numpy.random import multinomial
import mxnet.ndarray, mxnet.metric, mxnet.rnd, mxnet.img
from mxnet.gluon.data.dataloader import DataLoader
from mxnet.gluon.data.dataset import ArrayDataset, Dataset
from mxnet.gluon.data.sampler import RandomSampler
from mxnet.gluon.data.vision.datasets import MNIST
from mxnet.gluon.nn.activations import ELU
from mxnet.gluon.nn.basic_layers import Dense
from mxnet.gluon.nn.conv_layers import Conv2D
from mxnet.gluon.rnn.rnn_cell import LSTMCell
from mxnet.gluon.rnn.rnn_layer import LSTM
from mxnet.gluon.data import dataloader, dataset
from mxnet.image.image import imresize
from mxnet.numpy.multiarray import ndarray
import mxnet.gluon.nn.basic_layers as layers, mxnet.numpy_extension.random
@use_np
class Net(HybridBlock): pass
with np_shape(True), np_array(): assert layers.Dense is nn.Dense is Dense and mx.gluon.data.dataset.Dataset is Dataset
assert ndarray is np.ndarray and dataloader.DataLoader is data.DataLoader is DataLoader and mx_real_t(1).dtype == "float32"
mx.nd.waitall(), mx.ndarray.waitall(), mx.npx.waitall(), mx.random.seed(1), Net()
assert isinstance(numpy.ones(2), mx.np.ndarray) and np is mx.np is mx.numpy and issubclass(MXNetError, Exception)
for name in ("optimizer", "gluon.model_zoo.vision", "symbol"):
    try: importlib.import_module(f"mxnet.{name}")
    except ImportError as error: assert "is missing in asyncgrad. Instead there is" in str(error), error
    else: raise AssertionError
assert mx.MXNetError is MXNetError and mx.rnd is mx.random and isinstance(1, base.numeric_types)
assert mx.np.random is np.random and mx.gluon.data.vision.transforms is transforms
"""


@pytest.mark.parametrize("installed", [True, False])
def test_programs_import_mxnet(installed):
    """After install(), or with the package's name in place of mxnet."""
    program = ("import asyncgrad.mxnet\nasyncgrad.mxnet.install()\n" + IMPORTS if installed
               else IMPORTS.replace("mxnet", "asyncgrad.mxnet"))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
