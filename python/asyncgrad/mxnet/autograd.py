"""Recording and gradients under MXNet's names: nothing is recorded outside of record()."""
import os
import threading
import weakref

import asyncgrad as ag
from asyncgrad import extend


# The native property, which ndarray replaces by one with MXNet's meaning.
_native_grad = ag.Tensor.grad.__get__


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
        try:
            for name, wanted in zip(("recording", "training"), self._wanted):
                if wanted is not None:
                    setattr(_state, name, wanted)
            extend.request_recording(_state.recording)
        except BaseException:  # an interrupt
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        _state.recording, _state.training = self._outer
        extend.request_recording(_state.recording)


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


def set_recording(is_recording):
    """Switches recording on or off in this thread, and returns what it was."""
    old, _state.recording = _state.recording, is_recording
    extend.request_recording(is_recording)
    return old


def set_training(train_mode):
    """Switches training on or off in this thread, and returns what it was."""
    old, _state.training = _state.training, train_mode
    return old


class _Variable:
    """What attach_grad() has noted of an array: its gradient, which None stands for as long as it is all zeros."""

    def __init__(self, array, grad_req, gradient=None):
        address, self.grad_req = extend.address(array), grad_req
        self.array = weakref.ref(array, lambda _: _variables.pop(address, None))
        # The program's object of the gradient, while it has one, is that in which it finds later gradients, too.
        self.gradient, self.shown = None, lambda: None
        self.fresh = False  # whether a backward() has written the gradient since a trainer took it
        if gradient is not None:
            self.gradient, self.shown = _plain(gradient), weakref.ref(gradient)

    def take(self, new):
        """Keeps what a backward() gave: in place of what there was, or added to it."""
        self.fresh = True
        if self.gradient is not None and self.grad_req == "add":
            with ag.no_grad():
                self.gradient += new
        else:
            self.put(new)

    def put(self, new):
        """Keeps a tensor in place of what there was, in the object that the program has."""
        if self.shown() is not None:
            self.gradient.copy_(new)
        else:
            self.gradient = new

    def show(self, array):
        """The gradient as an object of the array's class, the same one for as long as the program has it."""
        if self.gradient is None:
            self.gradient = ag.zeros(array.shape, dtype=array.dtype, device=array.device)
        shown = self.shown()
        if shown is None:
            shown = extend.as_class(self.gradient, type(array))
            self.shown = weakref.ref(shown)
        return shown


_variables = {}  # by the tensor's address; an array that dies takes its variable away


def attach(array, grad_req, gradient=None):
    """Notes that an array is a variable whose gradient backward() replaces ("write") or adds to ("add")."""
    if grad_req not in ("write", "add", "null"):
        raise ValueError(f"grad_req is 'write', 'add' or 'null', not {grad_req!r}")
    address = extend.address(array)
    if grad_req == "null":
        _variables.pop(address, None)
        return
    if not array.dtype.is_floating:
        raise NotImplementedError(f"attach_grad() of {array.dtype}")
    _variables[address] = _Variable(array, grad_req, gradient)


def grad_of(array):
    """The gradient that MXNet shows: that of the last backward(), at first zeros; None if the array is no variable."""
    variable = _variables.get(extend.address(array))
    return _native_grad(array) if variable is None else variable.show(array)


def is_fresh(array):
    """Whether a backward() has written the array's gradient since mark_used()."""
    variable = _variables.get(extend.address(array))
    return variable is not None and variable.fresh


def mark_used(array):
    """Notes that a trainer has taken the array's gradient, which is fresh again after the next backward()."""
    variable = _variables.get(extend.address(array))
    if variable is not None:
        variable.fresh = False


def replace_gradient(array, new):
    """Puts a tensor in the place of a variable's gradient."""
    variable = _variables.get(extend.address(array))
    if variable is not None:
        variable.put(_plain(new))


def drop_gradient(array):
    """Lets an array's gradient be zeros again."""
    ag.Tensor.zero_grad(array)
    variable = _variables.get(extend.address(array))
    if variable is not None and variable.shown() is not None:
        variable.gradient.fill_(0)
    elif variable is not None:
        variable.gradient = None


def _plain(array):
    return extend.as_class(array, ag.Tensor)


def _listed(arrays):
    return list(arrays) if isinstance(arrays, (list, tuple)) else [arrays]


def _sums(heads, head_grads):
    """The scalar sum(head * head_grad) of each head, with ones for None. Heads may lie on different devices."""
    heads = _listed(heads)
    grads = [None] * len(heads) if head_grads is None else _listed(head_grads)
    if len(grads) != len(heads):
        raise ValueError(f"{len(grads)} gradients were given for {len(heads)} heads")
    return [ag.sum(_plain(head) if grad is None else _plain(head) * _plain(grad).detach()) for head, grad in zip(heads, grads)]


# Held until all gradients of a backward() are taken: each thread looks at the variables of all.
_taking = threading.RLock()
os.register_at_fork(before=_taking.acquire, after_in_parent=_taking.release, after_in_child=_taking.release)


def backward(heads, head_grads=None, retain_graph=False, train_mode=True):
    """Computes the gradients of sum(head * head_grad), with ones for None."""
    with _taking:
        ag.backward(_sums(heads, head_grads), None, retain_graph)
        for variable in list(_variables.values()):
            array = variable.array()
            new = None if array is None else _native_grad(array)
            if new is not None:
                ag.Tensor.zero_grad(array)
                variable.take(_plain(new))


def grad(heads, variables, head_grads=None, retain_graph=None, create_graph=False, train_mode=True):
    """The gradients of sum(head * head_grad) with respect to variables, as a list of new arrays; their .grad stays.

    As in MXNet 1.9.1 it is a list for a single variable, too.
    """
    if create_graph:
        raise NotImplementedError("autograd.grad(create_graph=True)")
    wanted = _listed(variables)
    found = ag.grad(_sums(heads, head_grads), wanted, None, bool(retain_graph))
    return [extend.as_class(of, type(variable)) for of, variable in zip(found, wanted)]


def mark_variables(variables, gradients, grad_reqs="write"):
    """Makes arrays variables, as attach_grad() does; grad_reqs is one for all, or a list.

    backward() writes into the arrays `gradients`, or adds to them, for as long as the program has them.
    """
    variables, gradients = _listed(variables), _listed(gradients)
    grad_reqs = [grad_reqs] * len(variables) if isinstance(grad_reqs, str) else grad_reqs
    for variable, gradient, grad_req in zip(variables, gradients, grad_reqs, strict=True):
        variable.attach_grad(grad_req, gradient)


class Function:
    """An operation whose forward() and backward() the program writes, over one result.

    backward(dy) gets the gradient of the result and returns that of the only input, or one for each input in a list.
    """

    def __call__(self, *inputs):
        with pause():
            value = self.forward(*inputs)
        if isinstance(value, (list, tuple)):
            raise NotImplementedError("Function with several results")
        if not is_recording():
            return value
        kind = type(value)

        def backward(dy, *_):
            grads = self.backward(extend.as_class(dy, kind))
            return [grads] if isinstance(grads, ag.Tensor) else list(grads)

        saved = [_plain(x) for x in getattr(self, "_saved", ()) if isinstance(x, ag.Tensor)]
        return extend.as_class(
            ag.with_gradient(type(self).__name__, _plain(value), [_plain(x) for x in inputs], backward, saved), kind)

    def save_for_backward(self, *args):
        """Keeps arrays for backward(), which finds them in saved_tensors."""
        self._saved = args

    @property
    def saved_tensors(self):
        """What save_for_backward() was given."""
        return self._saved
