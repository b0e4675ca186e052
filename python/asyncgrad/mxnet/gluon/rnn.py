"""Recurrent layers under MXNet's names."""
import asyncgrad as ag

from .. import autograd, np
from ..multiarray import check_no_others, ndarray
from .block import HybridBlock
from .rnn_cells import (DropoutCell, GRUCell, HybridSequentialRNNCell, LSTMCell, RecurrentCell, RNNCell,  # noqa: F401
                        SequentialRNNCell)


class _Recurrent(HybridBlock):
    """x (T, N, I), or (N, T, I) with layout="NTC" -> (T, N, D H); with states also the states after the last step.

    Parameters are {l|r}{layer}_i2h_weight (G H, I), _h2h_weight (G H, H), _i2h_bias and _h2h_bias (G H) for G gates,
    where r is the direction from the last step to the first.
    """

    _states = 1

    def __init__(self, hidden_size, num_layers=1, layout="TNC", dropout=0, bidirectional=False, input_size=0,
                 i2h_weight_initializer=None, h2h_weight_initializer=None, i2h_bias_initializer="zeros",
                 h2h_bias_initializer="zeros", dtype="float32", use_sequence_length=False, prefix=None, params=None, **others):
        super().__init__(prefix, params)
        check_no_others(f"gluon.rnn.{type(self).__name__}", others)
        if layout not in ("TNC", "NTC"):
            raise ValueError(f"Invalid layout {layout}; must be one of ['TNC' or 'NTC']")
        self._hidden, self._layers, self._layout, self._dropout = hidden_size, num_layers, layout, dropout
        self._sides, self._dtype, self._with_lengths = "lr" if bidirectional else "l", dtype, use_sequence_length
        rows = self._gates * hidden_size
        for layer in range(num_layers):
            inputs = input_size if layer == 0 else hidden_size * len(self._sides)
            for side in self._sides:
                for part, shape, init in (("i2h_weight", (rows, inputs), i2h_weight_initializer),
                                          ("h2h_weight", (rows, hidden_size), h2h_weight_initializer),
                                          ("i2h_bias", (rows,), i2h_bias_initializer),
                                          ("h2h_bias", (rows,), h2h_bias_initializer)):
                    name = f"{side}{layer}_{part}"
                    setattr(self, name, self.params.get(name, shape=shape, init=init, dtype=dtype, allow_deferred_init=True))

    def __repr__(self):
        inputs = self.l0_i2h_weight.shape[1] or None
        layers = f", num_layers={self._layers}" if self._layers != 1 else ""
        dropout = f", dropout={self._dropout}" if self._dropout else ""
        sides = ", bidirectional" if len(self._sides) == 2 else ""
        return f"{type(self).__name__}({inputs} -> {self._hidden}, {self._layout}{layers}{dropout}{sides})"

    def _weights(self, x):
        """The parameters' values as the library's functions take them, whose matrices are transposed."""
        rows = []
        for number in range(self._layers):
            for side in self._sides:
                ih, hh, *biases = (getattr(self, f"{side}{number}_{part}")
                                   for part in ("i2h_weight", "h2h_weight", "i2h_bias", "h2h_bias"))
                ih.complete((ih.shape[0], x.shape[2]))
                rows.append((ih.data(x.ctx).T, hh.data(x.ctx).T, *(bias.data(x.ctx) for bias in biases)))
        return rows

    def __call__(self, inputs, states=None, sequence_length=None):
        lengths = (sequence_length,) if self._with_lengths else ()
        return super().__call__(inputs, states, *lengths)  # what hooks get

    def state_info(self, batch_size=0):
        shape = (self._layers * len(self._sides), batch_size, self._hidden)
        return [{"shape": shape, "__layout__": "LNC", "dtype": self._dtype} for _ in range(self._states)]

    def begin_state(self, batch_size=0, func=None, ctx=None, **kwargs):
        """Zeros, or what `func` makes."""
        return [(func or np.zeros)(**{"shape": info["shape"], "dtype": info["dtype"], "ctx": ctx, **kwargs})
                for info in self.state_info(batch_size)]

    def forward(self, x, states=None, sequence_length=None):
        if x.ndim != 3:
            axes = "(T, N, I)" if self._layout == "TNC" else "(N, T, I)"
            raise ValueError(f"{type(self).__name__} with layout={self._layout!r} takes x of 3 axes, {axes}, not {x.shape}")
        if self._layout == "NTC":
            x = x.swapaxes(0, 1)
        given = [states] if isinstance(states, ndarray) else list(states or [None] * self._states)
        lengths = sequence_length.astype("int64") if self._with_lengths and sequence_length is not None else None
        output, *after = self._run(x, self._weights(x), lengths, *given, both_directions=len(self._sides) == 2,
                                   dropout=self._dropout if autograd.is_training() else 0)
        if self._layout == "NTC":
            output = output.swapaxes(0, 1)
        return output if states is None else (output, after)


class RNN(_Recurrent):
    _gates = 1

    def __init__(self, hidden_size, num_layers=1, activation="relu", **kwargs):
        if activation not in ("relu", "tanh"):
            raise ValueError(f"an RNN's activation is relu or tanh, not {activation}")
        self._activation = activation
        super().__init__(hidden_size, num_layers, **kwargs)

    def _run(self, *args, **kwargs):
        return ag.rnn(*args, activation=self._activation, **kwargs)


class GRU(_Recurrent):
    _run, _gates = staticmethod(ag.gru), 3


class LSTM(_Recurrent):
    _run, _gates, _states = staticmethod(ag.lstm), 4, 2


RNN.__doc__ = GRU.__doc__ = LSTM.__doc__ = _Recurrent.__doc__
