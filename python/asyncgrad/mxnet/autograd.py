"""Recording and gradients under MXNet's names: nothing is recorded outside of record()."""
import threading
import weakref

from .. import _core

# The native property, which ndarray replaces by one with MXNet's meaning.
_native_grad = _core.Tensor.grad.__get__


class _State(threading.local):
    """Each thread has its own, as in MXNet."""

    recording = False
    training = False


_state = _State()


class _Scope:
    def __init__(self, recording, training):
        self._wanted = (recording, training)

    def __enter__(self):
        self._outer = (_state.recording, _state.training)
        for name, wanted in zip(("recording", "training"), self._wanted):
            if wanted is not None:
                setattr(_state, name, wanted)
        _core._record(_state.recording)
        return self

    def __exit__(self, *_):
        _state.recording, _state.training = self._outer
        _core._record(_state.recording)


def record(train_mode=True):
    """A scope in which operations are recorded for backward() and layers train, or predict with train_mode=False."""
    return _Scope(True, train_mode)


def pause(train_mode=False):
    """A scope in which nothing is recorded and layers predict, or train with train_mode=True."""
    return _Scope(False, train_mode)


def train_mode():
    """A scope in which layers train."""
    return _Scope(None, True)


def predict_mode():
    """A scope in which layers predict."""
    return _Scope(None, False)


def is_recording():
    """Whether this thread records operations."""
    return _state.recording


def is_training():
    """Whether layers that this thread calls train."""
    return _state.training


def set_recording(is_record):
    """Switches recording on or off in this thread, and returns what it was."""
    old, _state.recording = _state.recording, is_record
    _core._record(is_record)
    return old


def set_training(train):
    """Switches training on or off in this thread, and returns what it was."""
    old, _state.training = _state.training, train
    return old


class _Variable:
    """What attach_grad() has noted of an array: how gradients are kept, and the one before the last backward()."""

    def __init__(self, array, grad_req):
        self.array, self.grad_req, self.kept = weakref.ref(array), grad_req, None


_variables = {}  # by the tensor's address


def _forget(address, variable):
    if _variables.get(address) is variable:
        del _variables[address]


def attach(array, grad_req):
    """Notes that an array is a variable whose gradient backward() replaces ("write") or adds to ("add")."""
    address = array._address()
    if grad_req == "null":
        _variables.pop(address, None)
        return
    if grad_req not in ("write", "add"):
        raise ValueError(f"grad_req is 'write', 'add' or 'null', not {grad_req!r}")
    _variables[address] = variable = _Variable(array, grad_req)
    weakref.finalize(array, _forget, address, variable)


def grad_of(array):
    """The gradient that MXNet shows: that of the last backward(), at first zeros."""
    native, variable = _native_grad(array), _variables.get(array._address())
    if native is not None or variable is None:
        return native
    if variable.kept is None:
        zeros = _core.zeros(array.shape, dtype=array.dtype, device=array.device)
        variable.kept = _core._as_type(zeros, type(array))
    return variable.kept


def drop_gradient(array):
    """Lets an array's gradient be zeros again."""
    array.zero_grad()
    variable = _variables.get(array._address())
    if variable is not None:
        variable.kept = None


def _plain(array):
    return _core._as_type(array, _core.Tensor)


def _listed(arrays):
    return list(arrays) if isinstance(arrays, (list, tuple)) else [arrays]


def _weighted_sum(heads, head_grads):
    """sum(head * head_grad) over all heads, with ones for None."""
    heads = _listed(heads)
    weights = [None] * len(heads) if head_grads is None else _listed(head_grads)
    if len(weights) != len(heads):
        raise ValueError(f"{len(weights)} gradients were given for {len(heads)} heads")
    total = None
    for head, weight in zip(heads, weights):
        head = _plain(head)
        term = _core.sum(head if weight is None else head * _plain(weight))
        total = term if total is None else total + term
    return total


def backward(heads, head_grads=None, retain_graph=False, train_mode=True):
    """Computes the gradients of sum(head * head_grad), with ones for None."""
    total = _weighted_sum(heads, head_grads)
    written = [(v, v.array()) for v in list(_variables.values()) if v.grad_req == "write"]
    written = [(variable, array) for variable, array in written if array is not None]
    for variable, array in written:
        native = _native_grad(array)
        if native is not None:
            variable.kept = native
        array.zero_grad()
    total.backward(None, retain_graph)
    for variable, array in written:
        if _native_grad(array) is not None:
            variable.kept = None


def grad(heads, variables, head_grads=None, retain_graph=None, create_graph=False, train_mode=True):
    """The gradients of sum(head * head_grad) with respect to variables, as a list of new arrays; their .grad stays.

    As in MXNet 1.9.1 it is a list for a single variable, too.
    """
    if create_graph:
        raise NotImplementedError("autograd.grad(create_graph=True)")
    wanted = _listed(variables)
    found = _core.grad(_weighted_sum(heads, head_grads), wanted, None, bool(retain_graph))
    return [_core._as_type(of, type(variable)) for of, variable in zip(found, wanted)]


def mark_variables(variables, gradients, grad_reqs="write"):
    """Makes arrays variables, as attach_grad() does; grad_reqs is one for all, or a list. `gradients` is not used."""
    for i, variable in enumerate(_listed(variables)):
        variable.attach_grad(grad_reqs if isinstance(grad_reqs, str) else grad_reqs[i])


class Function:
    """An operation whose forward() and backward() the program writes, over one result.

    backward(dy) gets the gradient of the result and returns that of the only input, or one for each input in a list.
    """

    def __call__(self, *inputs):
        with pause():
            value = self.forward(*inputs)
        if not is_recording():
            return value
        kind = type(value)

        def backward(dy):
            grads = self.backward(_core._as_type(dy, kind))
            return [grads] if isinstance(grads, _core.Tensor) else list(grads)

        return _core._as_type(
            _core._with_gradient(type(self).__name__, _plain(value), [_plain(x) for x in inputs], backward), kind)

    def save_for_backward(self, *args):
        """Keeps arrays for backward(), which finds them in saved_tensors."""
        self._saved = args

    @property
    def saved_tensors(self):
        """What save_for_backward() was given."""
        return self._saved
