"""Where version 0.1.0 had its layers, for pickles of that."""
from .containers import Recompute, Residual  # noqa: F401
from .layers import *  # noqa: F401, F403
