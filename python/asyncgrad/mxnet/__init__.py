"""MXNet's names over asyncgrad: `from asyncgrad.mxnet import autograd, gluon, np, npx`.

A name either computes what MXNet 1.9.1 computes, or is missing. install() stands in for the package mxnet, so that
programs that import it run unmodified; cpu_as_gpus(n) lets parts of the CPU stand in for GPUs.
"""
from . import autograd, context, init, lr_scheduler, nd, np, npx, random
from .context import Context, cpu, cpu_as_gpus, current_context, gpu, num_gpus
from .multiarray import ndarray
from . import gluon, image
from .gluon import metric

initializer = init
__version__ = "1.9.1"


def install():
    """Makes `import mxnet` and its parts import this package."""
    import importlib
    import sys

    sys.modules["mxnet"] = sys.modules[__name__]
    for name in ("autograd", "context", "gluon", "gluon.data", "gluon.data.vision", "gluon.loss", "gluon.nn", "gluon.rnn",
                 "gluon.utils", "image", "init", "lr_scheduler", "np", "npx", "random"):
        sys.modules[f"mxnet.{name}"] = importlib.import_module(f"{__name__}.{name}")
    sys.modules["mxnet.initializer"] = init
    sys.modules["mxnet.numpy"], sys.modules["mxnet.numpy_extension"] = np, npx
    sys.modules["mxnet.metric"] = metric
    sys.modules["mxnet.nd"] = sys.modules["mxnet.ndarray"] = nd
    for package in ("np", "numpy"):
        sys.modules[f"mxnet.{package}.random"], sys.modules[f"mxnet.{package}.linalg"] = random, np.linalg
