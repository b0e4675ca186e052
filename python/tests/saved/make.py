"""Wrote the files of this folder with version 0.1.0, whose layers had other names of arguments; they must still load."""
import pathlib
import pickle

import numpy as np

import asyncgrad as ag

HERE = pathlib.Path(__file__).parent
LAYERS = {
    "Dense": (ag.nn.Dense(4, 3, "relu"), (2, 4)),
    "Dense of sequences": (ag.nn.Dense(4, 3, "tanh", bias=False), (2, 5, 4)),
    "Flatten": (ag.nn.Flatten(), (2, 3, 4)),
    "MaxPool2d": (ag.nn.MaxPool2d(3, stride=1, padding=1), (2, 4, 5, 5)),
    "AvgPool2d": (ag.nn.AvgPool2d((1, 3)), (2, 4, 5, 6)),
    "GlobalAvgPool2d": (ag.nn.GlobalAvgPool2d(), (2, 4, 5, 6)),
    "LayerNorm": (ag.nn.LayerNorm((3, 4), epsilon=0.5, bias=False), (2, 3, 4)),
    "RMSNorm": (ag.nn.RMSNorm(4, epsilon=0.5), (2, 4)),
    "Conv2d": (ag.nn.Conv2d(2, 4, (3, 2), "relu", stride=2, padding=(1, 0), groups=2), (2, 2, 5, 6)),
    "Conv1d": (ag.nn.Conv1d(2, 3, 3, "sigmoid", dilation=2, bias=False), (2, 2, 9)),
    "BatchNorm": (ag.nn.BatchNorm(4, epsilon=0.5, momentum=0.25, affine=False), (3, 4)),
    "Dropout": (ag.nn.Dropout(0.25), (3, 4)),
    "Embedding": (ag.nn.Embedding(5, 3), None),
    "RNN": (ag.nn.RNN(3, 4, layers=2, activation="relu"), (2, 3, 3)),
    "GRU": (ag.nn.GRU(3, 4, both_directions=True, bias=False), (2, 3, 3)),
    "LSTM": (ag.nn.LSTM(3, 4), (2, 3, 3)),
    "MultiHeadAttention": (ag.nn.MultiHeadAttention(4, 2, causal=True, bias=False), (2, 3, 4)),
    "TransformerBlock": (ag.nn.TransformerBlock(4, 2, hidden=5, norm_first=False, activation="silu", dtype="float64"), (2, 3, 4)),
    "PositionalEncoding": (ag.nn.PositionalEncoding(8, 4), (2, 3, 4)),
    "Residual": (ag.nn.Residual(ag.nn.Recompute(ag.nn.Dense(4, 4, "gelu_tanh"))), (2, 4)),
    "Sequential": (ag.nn.Sequential(ag.nn.Conv2d(1, 2, 3), ag.nn.BatchNorm(2), ag.nn.Flatten(), ag.nn.Dense(8, 2)),
                   (2, 1, 4, 4)),
}


def layers():
    rows = {}
    for name, (layer, shape) in LAYERS.items():
        x = np.array([[0, 4]]) if shape is None else np.random.default_rng(1).normal(size=shape)
        x = x.astype("int64" if shape is None else "float64" if name == "TransformerBlock" else "float32")
        layer.eval()
        rows[name] = pickle.dumps(layer), x, np.array(layer(ag.array(x)))
    (HERE / "layers.pickle").write_bytes(pickle.dumps(rows))


def training():
    ag.manual_seed(3)
    net = ag.nn.Sequential(ag.nn.Dense(3, 4, "relu"), ag.nn.TransformerBlock(4, 2), ag.nn.Dense(4, 1))
    adam = ag.optim.Adam(net.parameters(), lr=0.5)
    schedule = ag.optim.Schedule(adam, ag.optim.warm_up(4, ag.optim.cosine(10)))
    batches = ag.data.Batches(np.arange(12.0).reshape(4, 3), batch_size=2)
    progress = {"step": 0, "name": "first", 7: {"best": 0.5}}
    for _ in range(2):
        for (x,) in batches:
            adam.zero_grad()
            net(x.reshape(1, 2, 3).astype("float32")).sum().backward()
            adam.step()
            schedule.step()
            progress["step"] += 1
    ag.Checkpoint(net=net, adam=adam, schedule=schedule, batches=batches, random=ag.default_generator(),
                  progress=progress).save(HERE / "training.checkpoint")
    ag.save(HERE / "net.safetensors", net)


if __name__ == "__main__":
    ag.manual_seed(1)
    layers()
    training()
