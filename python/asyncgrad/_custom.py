"""Operations that the program writes."""
import numbers

from . import _core


def _outputs(output):
    """[(shape, dtype)] of (shape, dtype), a shape, or a list of such pairs."""
    if isinstance(output, list):
        return [pair for one in output for pair in _outputs(one)]
    if isinstance(output, tuple) and len(output) == 2 and not isinstance(output[1], numbers.Integral):
        return [output]
    return [(output, "float32")]


def custom(name, output, inputs, function):
    """An operation that a function of NumPy computes: function(out, *inputs), with arrays that it reads and writes.

    output: the result's shape, or (shape, dtype), or a list of these for several results, whose arrays come first in
    the call. The function runs later on a thread of the library, with the interpreter's lock. It writes every element
    of its outputs, keeps no array, and neither waits nor calls this library. What it raises is the operation's error.
    The inputs need no gradient, as the result has no history: pass detach() of them, see with_gradient().
    """
    results = _core._custom(name, _outputs(output), list(inputs), function)
    return results if isinstance(output, list) else results[0]


def source(name, output, function):
    """Data that a function makes: function(out), which may read files and sleep; it runs ahead of the program.

    output as for custom().
    """
    results = _core._source(name, _outputs(output), function)
    return results if isinstance(output, list) else results[0]


def with_gradient(name, value, inputs, backward):
    """`value`, with gradients by a function of the program.

    backward(dy) gets the gradient of the value and returns that of the only input, or a list with one, or None, for
    each. It is called by backward(), in no_grad. What `value` has of a history is left out.

        def round_through(x):  # rounds; the gradient is as if it did not
            return ag.with_gradient("round_through", x.detach().round(), [x], lambda dy: dy)
    """
    return _core._with_gradient(name, value, list(inputs), backward)
