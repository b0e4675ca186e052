"""Recording and gradients under MXNet's names: nothing is recorded outside of record()."""
import weakref

from .. import _core


class _State:
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
    """Within it operations are recorded for backward()."""
    return _Scope(True, train_mode)


def pause(train_mode=False):
    """Within it nothing is recorded."""
    return _Scope(False, train_mode)


def train_mode():
    """Within it layers train."""
    return _Scope(None, True)


def predict_mode():
    """Within it layers predict."""
    return _Scope(None, False)


def is_recording():
    return _state.recording


def is_training():
    return _state.training


def set_recording(is_record):
    old, _state.recording = _state.recording, is_record
    _core._record(is_record)
    return old


def set_training(train):
    old, _state.training = _state.training, train
    return old


class _Variable:
    """What attach_grad() has noted of an array: how gradients are kept, and the one before the last backward()."""

    def __init__(self, array, grad_req):
        self.array, self.grad_req, self.kept = weakref.ref(array), grad_req, None


_variables = {}  # by the tensor's address


def attach(array, grad_req):
    address = array._address()
    if grad_req == "null":
        _variables.pop(address, None)
        return
    if grad_req not in ("write", "add"):
        raise ValueError(f"grad_req is 'write', 'add' or 'null', not {grad_req!r}")
    _variables[address] = _Variable(array, grad_req)
    weakref.finalize(array, _variables.pop, address, None)


def grad_of(array, native):
    """The gradient that MXNet shows: that of the last backward(), at first zeros."""
    variable = _variables.get(array._address())
    if native is not None or variable is None:
        return native
    if variable.kept is None:
        from . import np

        variable.kept = np.zeros_like(array)
    return variable.kept


def _run(heads, head_grads, retain_graph):
    from .multiarray import native_grad

    written = [v for v in list(_variables.values()) if v.grad_req == "write" and v.array() is not None]
    for variable in written:
        array = variable.array()
        variable.kept = native_grad(array) if native_grad(array) is not None else variable.kept
        array.zero_grad()
    total = None
    for head, head_grad in zip(heads, head_grads):
        term = _core.Tensor.__mul__(head, head_grad) if head_grad is not None else head
        term = _core.sum(_plain(term))
        total = term if total is None else total + term
    total.backward(None, retain_graph)
    for variable in written:
        array = variable.array()
        if array is not None and native_grad(array) is not None:
            variable.kept = None


def _plain(array):
    return _core._as_type(array, _core.Tensor)


def backward(heads, head_grads=None, retain_graph=False, train_mode=True):
    """Computes the gradients of sum(head * head_grad), with ones for None."""
    heads = list(heads) if isinstance(heads, (list, tuple)) else [heads]
    if head_grads is None:
        head_grads = [None] * len(heads)
    elif not isinstance(head_grads, (list, tuple)):
        head_grads = [head_grads]
    _run(heads, [g if g is None else _plain(g) for g in head_grads], retain_graph)


def grad(heads, variables, head_grads=None, retain_graph=None, create_graph=False, train_mode=True):
    """The gradients of the heads with respect to variables."""
    if create_graph:
        raise NotImplementedError("autograd.grad(create_graph=True)")
    single = not isinstance(variables, (list, tuple))
    wanted = [variables] if single else list(variables)
    backward(heads, head_grads, bool(retain_graph))
    grads = [v.grad for v in wanted]
    return grads[0] if single else grads


def mark_variables(variables, gradients, grad_reqs="write"):
    for i, variable in enumerate(variables if isinstance(variables, (list, tuple)) else [variables]):
        variable.attach_grad(grad_reqs if isinstance(grad_reqs, str) else grad_reqs[i])


class Function:
    """An operation with forward() and backward() of the program."""

    def __call__(self, *inputs):
        from .multiarray import ndarray

        with pause():
            value = self.forward(*inputs)
        if not is_recording():
            return value

        def backward(dy):
            grads = self.backward(_core._as_type(dy, ndarray))
            return [grads] if isinstance(grads, ndarray) else list(grads)

        return _core._as_type(
            _core._with_gradient(type(self).__name__, _plain(value), [_plain(x) for x in inputs], backward), ndarray)

    def save_for_backward(self, *args):
        self._saved = args

    @property
    def saved_tensors(self):
        return self._saved
