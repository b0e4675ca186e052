"""mxnet.gluon.rnn: see tier iii; a name that is missing here raises AttributeError with it."""
