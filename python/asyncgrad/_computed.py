"""Functions that NumPy computes on a thread of the library, as the library has no kernels for them."""
from . import _core
from ._custom import custom, with_gradient


def computed(name, function, inputs, shape, dtype):
    """function(*arrays), which has this shape and type, as an operation that runs when the inputs are computed.

    `function` is a function, or the name of one of numpy's. NumPy has no bfloat16: its values are computed in float32.
    """
    def run(out, *arrays):
        import numpy

        with numpy.errstate(all="ignore"):
            out[...] = (getattr(numpy, function) if isinstance(function, str) else function)(*arrays)

    narrow = [x.detach().astype("float32") if x.dtype == "bfloat16" else x.detach() for x in inputs]
    within = "float32" if dtype == "bfloat16" else dtype
    return custom(name, (shape, within), narrow, run).astype(dtype, copy=False)


def number_beside(like, number, dtype):
    """A number as a tensor of a type, with the device and the class of another tensor."""
    return _core._as_class(_core.full((), number, dtype, like.device), type(like))


def recorded(name, value, inputs, saved, backward):
    """The value with its gradient: backward(dy, *saved) gives that of the only input, or a list with one for each."""
    return with_gradient(name, value, inputs, backward, saved) if is_wanted(inputs) else value


def is_wanted(inputs):
    """Whether the gradient of an input is wanted here."""
    return _core.grad_enabled() and any(x.requires_grad for x in inputs)


def check_no_gradient(name, *inputs):
    """Raises if the gradient of an input is wanted, as the function `name` has none."""
    if is_wanted(inputs):
        raise TypeError(f"[{name}] has no gradient, and that of an input is wanted: pass x.detach()")
