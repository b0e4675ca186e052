"""The contents of pickles of layers, also those of version 0.1.0."""


def parts_of(kind, state):
    """(attributes of Python, arguments by name, tensors by path) of the state of a layer of `kind`, a class of _core."""
    names = [row[0] for row in kind._parameters]
    if "_tensors" not in state:
        return _of_python(names, state)
    arguments, tensors = state.pop("_arguments"), state.pop("_tensors")
    if isinstance(arguments, tuple):
        arguments = _named(names, arguments, state)
    return state, arguments, tensors


def _named(names, values, state):
    """The arguments of version 0.1.0, by place. It had no generators, and initialisers of Dense alone."""
    activation = {"activation": state.pop("activation")} if "activation" in state else {}
    places = [name for name in names if name not in ("initialiser", "generator", *activation)]
    arguments = {**dict(zip(places, values)), **activation}
    if arguments.get("device") == "":
        del arguments["device"]
    if isinstance(arguments.get("activation"), bool):  # of an RNN
        arguments["activation"] = "relu" if arguments["activation"] else "tanh"
    return arguments


def _of_python(names, state):
    """Dense and the pools of version 0.1.0, which were written in Python."""
    state.pop("_fused", None)
    if "weight" in state:
        weight, bias = state.pop("weight"), state.pop("bias")
        arguments = {"in_features": weight.shape[0], "out_features": weight.shape[1], "bias": bias is not None,
                     "activation": state.pop("activation"), "dtype": str(weight.dtype), "device": str(weight.device)}
        return state, arguments, {"weight": weight, "bias": bias}
    if "kernel" in state:
        state["kernel_size"] = state.pop("kernel")
    return state, {name: state.pop(name) for name in names if name in state}, {}
