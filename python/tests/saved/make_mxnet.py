"""Writes mxnet.pickle beside it: blocks, parameters and arrays under MXNet's names, as version 0.1.0 pickled them."""
import pathlib
import pickle

from asyncgrad.mxnet import gluon, init, np
from asyncgrad.mxnet.gluon import nn

net = nn.HybridSequential(prefix="net_")
with net.name_scope():
    net.add(nn.Conv2D(2, 2), nn.BatchNorm(), nn.MaxPool2D(), nn.GlobalAvgPool2D(), nn.Dense(3, "relu", in_units=2), nn.Dropout(0.5))
net.initialize(init.Constant(0.5))
x = np.array([[[[1, 2, 3], [4, 5, 6], [7, 8, 9]]]])
y = net(x)
adding = gluon.Parameter("w", grad_req="add", shape=(2,))
adding.initialize(init.One())
pathlib.Path(__file__).with_name("mxnet.pickle").write_bytes(
    pickle.dumps({"net": net, "x": x, "y": y, "adding": adding, "names": list(net.collect_params())}))
