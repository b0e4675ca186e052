"""Training with asynchronous autograd and bounded memory.

Every call returns at once; its values are computed meanwhile by threads of the library. Shapes, types and devices are
known at once, and mistakes in them raise at the call. item(), numpy(), print() and wait() wait for values; an operation
that fails later raises asyncgrad.Error there, with the line that queued it.

    import asyncgrad as ag

    net = ag.nn.Sequential(ag.nn.Dense(4, 8, "relu"), ag.nn.Dense(8, 1))
    adam = ag.optim.Adam(net.parameters(), lr=0.01)
    x, y = ag.randn(64, 4), ag.randn(64, 1)
    for _ in range(100):
        loss = ag.nn.l2_loss(net(x), y).mean()
        loss.backward()
        adam.step()
        adam.zero_grad()
    print(loss)                       # the only wait
    ag.save("net.safetensors", net)   # C++ programs and PyTorch read it, too

Tensors follow NumPy: names, broadcasting, indices, types of results. Arrays of NumPy and PyTorch share memory with them:
numpy.asarray(x), asyncgrad.from_numpy(a), torch.from_dlpack(x), asyncgrad.from_dlpack(t).
"""
import atexit as _atexit
import platform as _platform
import sys as _sys

if not _sys.platform.startswith("linux") or _platform.machine() != "x86_64":
    raise ImportError(f"asyncgrad is built for Linux on x86-64; this is {_sys.platform} on {_platform.machine()}")

from . import _core
from ._dtypes import DType, bfloat16, bool, float32, float64, int32, int64, uint8  # noqa: A004
from ._errors import Error, Warning, recover  # noqa: A004
from ._core import *  # noqa: F403
from ._core import Tensor, __version__
from ._tensor import dot_of as dot
from ._tensor import std
from ._scopes import GeneratorScope, detect_nan, enable_grad, evaluation, inference, no_grad
from ._functions import (allclose, array_equal, divide, empty, eye, linspace, meshgrid, multiply, add, negative, outer,
                         repeat, roll, subtract)
from ._custom import custom, source, with_gradient
from ._files import Checkpoint, load, save
from . import _fork, _pickling, _protocols, array_api, data, dist, experiment, nn, optim, profiler  # noqa: F401

newaxis = None
_atexit.register(_core._end)
