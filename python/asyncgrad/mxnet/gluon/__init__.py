"""Gluon: blocks, parameters, losses, trainers and data under MXNet's names."""
from . import data, loss, metric, nn, rnn, utils
from .block import Block, HybridBlock
from .parameter import Constant, Parameter, ParameterDict
from .trainer import Trainer
