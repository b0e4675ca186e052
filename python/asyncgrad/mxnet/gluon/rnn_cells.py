"""Recurrent cells under MXNet's names: one step at a time, x (N, I) and states (N, H) -> output (N, H) and states."""
import asyncgrad as ag

from .. import np, npx
from ..base import unwritten
from ..multiarray import check_no_others
from .block import HybridBlock


class RecurrentCell(HybridBlock):
    """What cells have in common: begin_state() and unroll()."""

    def state_info(self, batch_size=0):
        """The shape and layout of each state, as dicts."""
        raise unwritten(self, "state_info")

    def begin_state(self, batch_size=0, func=None, ctx=None, **kwargs):
        """Zeros, or what `func` makes."""
        return [(func or np.zeros)(shape=info["shape"], ctx=ctx, **kwargs) for info in self.state_info(batch_size)]

    def reset(self):
        """Does nothing: a cell keeps no state."""

    def unroll(self, length, inputs, begin_state=None, layout="NTC", merge_outputs=None, valid_length=None):
        """Calls the cell for each step of inputs (N, T, I), or (T, N, I) with layout="TNC", or a list of steps.

        Returns the outputs, as a list or with merge_outputs=True in the layout, and the last states.
        """
        if valid_length is not None:
            raise NotImplementedError("unroll(valid_length): gluon.rnn.LSTM, GRU or RNN with use_sequence_length=True")
        axis = layout.index("T")
        if not isinstance(inputs, (list, tuple)):
            before = (slice(None),) * axis
            inputs = [inputs[before + (t,)] for t in range(length)]
        states = begin_state or self.begin_state(inputs[0].shape[0], ctx=inputs[0].ctx)
        outputs = []
        for x in inputs[:length]:
            output, states = self(x, states)
            outputs.append(output)
        return (ag.stack(outputs, axis) if merge_outputs else outputs), states


class _Cell(RecurrentCell):
    """Parameters are i2h_weight (G H, I), h2h_weight (G H, H), i2h_bias and h2h_bias (G H) for G gates."""

    _states = 1

    def __init__(self, hidden_size, i2h_weight_initializer=None, h2h_weight_initializer=None,
                 i2h_bias_initializer="zeros", h2h_bias_initializer="zeros", input_size=0, prefix=None, params=None,
                 **others):
        super().__init__(prefix, params)
        check_no_others(f"gluon.rnn.{type(self).__name__}", others)
        self._hidden = hidden_size
        rows = self._gates * hidden_size
        make = lambda name, shape, init: self.params.get(name, shape=shape, init=init, allow_deferred_init=True)
        self.i2h_weight = make("i2h_weight", (rows, input_size), i2h_weight_initializer)
        self.h2h_weight = make("h2h_weight", (rows, hidden_size), h2h_weight_initializer)
        self.i2h_bias = make("i2h_bias", (rows,), i2h_bias_initializer)
        self.h2h_bias = make("h2h_bias", (rows,), h2h_bias_initializer)

    def state_info(self, batch_size=0):
        return [{"shape": (batch_size, self._hidden), "__layout__": "NC"} for _ in range(self._states)]

    def forward(self, x, states):
        i2h, h2h, *biases = self._values(x)
        first = [ag.expand_dims(state, 0) for state in states]
        after = self._run(ag.expand_dims(x, 0), [(i2h.T, h2h.T, *biases)], None, *first)[1:]
        states = [ag.squeeze(state, 0) for state in after]
        return states[0], states

    def _values(self, x):
        self.i2h_weight.complete((self._gates * self._hidden, x.shape[-1]))
        return [p.data(x.ctx) for p in (self.i2h_weight, self.h2h_weight, self.i2h_bias, self.h2h_bias)]

    def __repr__(self):
        rows, inputs = self.i2h_weight.shape
        return f"{type(self).__name__}({inputs or None} -> {rows})"


class RNNCell(_Cell):
    """h = activation(W x + b + V h + c)."""

    _gates, _alias = 1, "rnn"

    def __init__(self, hidden_size, activation="tanh", **kwargs):
        self._activation = activation
        super().__init__(hidden_size, **kwargs)

    def forward(self, x, states):
        if self._activation in ("relu", "tanh"):
            return super().forward(x, states)
        i2h, h2h, i2h_bias, h2h_bias = self._values(x)
        h = npx.activation(npx.fully_connected(x, i2h, i2h_bias) + npx.fully_connected(states[0], h2h, h2h_bias), self._activation)
        return h, [h]

    def _run(self, *args):
        return ag.rnn(*args, activation=self._activation)

    def __repr__(self):
        return f"{super().__repr__()[:-1]}, {self._activation})"


class LSTMCell(_Cell):
    """Hochreiter and Schmidhuber 1997; the gates are input, forget, cell, output."""

    _run, _gates, _states, _alias = staticmethod(ag.lstm), 4, 2, "lstm"


class GRUCell(_Cell):
    """Cho et al. 2014; the gates are reset, update, new."""

    _run, _gates, _alias = staticmethod(ag.gru), 3, "gru"


class SequentialRNNCell(RecurrentCell):
    """Cells one above the other; the states are those of all cells in one list."""

    def add(self, cell):
        """Puts a cell above the others."""
        self.register_child(cell)

    def state_info(self, batch_size=0):
        return [info for cell in self._children.values() for info in cell.state_info(batch_size)]

    def __len__(self):
        return len(self._children)

    def __getitem__(self, i):
        return list(self._children.values())[i]

    def forward(self, x, states):
        after, begin = [], 0
        for cell in self._children.values():
            end = begin + len(cell.state_info())
            x, own = cell(x, states[begin:end])
            after += own
            begin = end
        return x, after

    def __repr__(self):
        rows = "\n".join(f"({name}): " + repr(cell).replace("\n", "\n  ") for name, cell in self._children.items())
        return f"{type(self).__name__}(\n{rows}\n)"


class HybridSequentialRNNCell(SequentialRNNCell):
    __doc__ = SequentialRNNCell.__doc__


class DropoutCell(RecurrentCell):
    """Dropout between cells; it has no state."""

    _alias = "dropout"

    def __init__(self, rate, axes=(), prefix=None, params=None):
        super().__init__(prefix, params)
        self._rate, self._axes = rate, axes

    def state_info(self, batch_size=0):
        return []

    def forward(self, x, states):
        return npx.dropout(x, self._rate, axes=self._axes), states

    def __repr__(self):
        return f"{type(self).__name__}(rate={self._rate}, axes={self._axes})"
