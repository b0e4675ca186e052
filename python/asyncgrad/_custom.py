"""Operations that the program writes."""
import numbers
from typing import Any

from . import _core


def _outputs(output):
    """[(shape, dtype)] of (shape, dtype), a shape, or a list of such pairs."""
    if isinstance(output, list):
        return [pair for one in output for pair in _outputs(one)]
    if isinstance(output, tuple) and len(output) == 2 and not isinstance(output[1], numbers.Integral):
        return [output]
    return [(output, _core.default_dtype())]


def custom(name, output, inputs, function) -> Any:
    """An operation that a function computes with NumPy: function(out, *inputs) writes the array `out`.

    output: the result's shape, or (shape, dtype), or a list of these for several results, whose arrays come first in
    the call. The function runs later on a thread of the library, with the interpreter's lock. It writes every element
    of its outputs, keeps no array, and neither waits nor calls this library, nor waits for a thread that does. What it
    raises is the operation's error.
    The result has no history. Pass detach() of inputs that require a gradient, and use with_gradient() for that.
    """
    results = _core._custom(name, _outputs(output), list(inputs), function)
    return results if isinstance(output, list) else results[0]


def source(name, output, function) -> Any:
    """Data that a function makes: function(out) may read files and sleep, and runs ahead of the program.

    `output` is the same as that of custom().
    """
    results = _core._source(name, _outputs(output), function)
    return results if isinstance(output, list) else results[0]


def with_gradient(name, value, inputs, backward, saved=()) -> _core.Tensor:
    """`value` as a result whose gradient a function of the program computes.

    backward(dy, *saved) gets the gradient of the value, and then the tensors in `saved`, without history. It returns the
    gradient of the only input, or a list with one, or None, for each. The tensor's backward() calls it in no_grad, and
    raises if a tensor in `saved` was written in place meanwhile; of others that the function reads it does not know. The
    history of `value` is not used.

        def round_through(x):  # rounds; the gradient is as if it did not
            return ag.with_gradient("round_through", x.detach().round(), [x], lambda dy: dy)
    """
    return _core._with_gradient(name, value, list(inputs), backward, list(saved))
