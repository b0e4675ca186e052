"""MXNet's names over asyncgrad: `from asyncgrad.mxnet import autograd, gluon, np, npx`.

A name either computes what MXNet 1.9.1 computes, or is missing. install() lets programs that import the package mxnet
run unmodified, and cpu_as_gpus(n) lets parts of the CPU stand in for GPUs.
"""
import importlib as _importlib
import sys as _sys

from . import autograd, context, init, lr_scheduler, nd, np, npx, random
from .context import Context, cpu, cpu_as_gpus, current_context, gpu, num_gpus
from .multiarray import ndarray
from . import gluon, image
from .gluon import metric

initializer = init
__version__ = "1.9.1"


def install():
    """Makes `import mxnet` and its parts import this package."""
    _sys.modules["mxnet"] = _sys.modules[__name__]
    for name in ("autograd", "context", "gluon", "gluon.data", "gluon.data.vision", "gluon.loss", "gluon.nn", "gluon.rnn",
                 "gluon.utils", "image", "init", "lr_scheduler", "np", "npx", "random"):
        _sys.modules[f"mxnet.{name}"] = _importlib.import_module(f"{__name__}.{name}")
    _sys.modules["mxnet.initializer"], _sys.modules["mxnet.metric"] = init, metric
    _sys.modules["mxnet.numpy"], _sys.modules["mxnet.numpy_extension"] = np, npx
    _sys.modules["mxnet.nd"] = _sys.modules["mxnet.ndarray"] = nd
    for package in ("np", "numpy"):
        _sys.modules[f"mxnet.{package}.random"], _sys.modules[f"mxnet.{package}.linalg"] = random, np.linalg
