"""The module in which version 0.1.0 had its layers, for its pickles."""
from .containers import Recompute, Residual  # noqa: F401
from .layers import *  # noqa: F401, F403
