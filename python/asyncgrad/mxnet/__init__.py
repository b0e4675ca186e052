"""MXNet's names over asyncgrad: `from asyncgrad.mxnet import autograd, gluon, np, npx`.

A name either computes what MXNet 1.9.1 computes, or is missing, and then the error says what there is instead. install() lets programs that import the package mxnet
run unmodified, and cpu_as_gpus(n) lets parts of the CPU stand in for GPUs.
"""
import sys as _sys

from . import autograd, base, context, gluon, image, init, lr_scheduler, missing, nd, np, npx, random, util
from .base import MXNetError
from .context import Context, cpu, cpu_as_gpus, cpu_pinned, current_context, gpu, num_gpus
from .gluon import metric
from .util import is_np_array, is_np_shape, use_np, use_np_array, use_np_shape

numpy, numpy_extension, ndarray, initializer, rnd, img = np, npx, nd, init, random, image
__version__ = "1.9.1"

# Programs also import names from the modules that MXNet keeps them in. The package's own module stands for them.
_KEPT_IN = {"numpy": "multiarray fallback", "numpy_extension": "random", "ndarray": "ndarray", "image": "image",
            "gluon.nn": "activations basic_layers conv_layers", "gluon.rnn": "rnn_cell rnn_layer",
            "gluon.data": "dataloader dataset sampler", "gluon.data.vision": "datasets"}


def _tell_where_names_are_kept():
    for path, modules in _KEPT_IN.items():
        package = _sys.modules[__name__]
        for part in path.split("."):
            package = getattr(package, part)
        for module in modules.split():
            if not hasattr(package, module):
                setattr(package, module, package)
            for prefix in {f"{__name__}.{path}", package.__name__}:
                _sys.modules.setdefault(f"{prefix}.{module}", getattr(package, module))


_tell_where_names_are_kept()

for _name in ("numpy", "numpy_extension", "ndarray", "initializer", "metric", "rnd", "img"):
    _sys.modules[f"{__name__}.{_name}"] = globals()[_name]
for _name in ("random", "linalg"):
    _sys.modules[f"{__name__}.numpy.{_name}"] = getattr(np, _name)


def install():
    """Makes `import mxnet` and its parts import this package."""
    _sys.modules["mxnet"] = _sys.modules[__name__]
    for name, module in list(_sys.modules.items()):
        if name.startswith(f"{__name__}."):
            _sys.modules[name.replace(__name__, "mxnet", 1)] = module


missing.tell(__name__)
