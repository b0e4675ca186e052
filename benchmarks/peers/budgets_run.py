"""Trains a deep network in little memory, and prints its figures as JSON: SYSTEM NETWORK NUMBER.

asyncgrad keeps a memory budget of NUMBER of its serial peak (0: no budget); by_hand it computes NUMBER of its blocks again
by nn.recompute; PyTorch computes the activations of NUMBER segments of blocks again (0: of none).
"""
import importlib
import json
import sys
import time

import stopwatch

STEPS = 3
SIZES = {"residual_mlp": {"batch": 8192, "blocks": 16, "features": 256},
         "gpt": {"batch": 32, "blocks": 6, "features": 256, "heads": 8, "length": 256, "characters": 65}}


class Asyncgrad:
    """The network in asyncgrad, within a budget, or with blocks that are computed again."""

    def __init__(self, network, share=0.0, by_hand=0):
        import asyncgrad as ag
        self.ag, self.share = ag, share
        sizes = SIZES[network]
        features = sizes["features"]
        if network == "residual_mlp":
            blocks = [ag.nn.Residual(ag.nn.Sequential(ag.nn.Dense(features, 4 * features, "relu"),
                                                      ag.nn.Dense(4 * features, features)))
                      for _ in range(sizes["blocks"])]
            self.net = ag.nn.Sequential(*self.some_by_hand(blocks, by_hand))
            x = ag.randn(sizes["batch"], features)
            self.loss = lambda: self.net(x).square().mean()
        else:
            blocks = [ag.nn.TransformerBlock(features, sizes["heads"], causal=True) for _ in range(sizes["blocks"])]
            self.net = ag.nn.Sequential(ag.nn.Embedding(sizes["characters"], features), *self.some_by_hand(blocks, by_hand),
                                        ag.nn.LayerNorm(features), ag.nn.Dense(features, sizes["characters"]))
            x = ag.randint(0, sizes["characters"], (sizes["batch"], sizes["length"]))
            self.loss = lambda: ag.nn.softmax_cross_entropy(self.net(x).reshape(-1, sizes["characters"]), x.reshape(-1)).mean()
        self.sgd = ag.optim.SGD(self.net.parameters(), lr=1e-3)

    def some_by_hand(self, blocks, count):
        return [self.ag.nn.Recompute(block) for block in blocks[:count]] + blocks[count:]

    def figures(self):
        return {"serial_peak_bytes": self.ag.memory()["serial_peak_bytes"]}

    def step(self):
        self.loss().backward()
        self.sgd.step()
        self.sgd.zero_grad()

    def prepare(self):
        if self.share > 0:
            budget = self.ag.memory_prices(self.step, [self.share])[0]["budget_bytes"]
            self.ag.set_engine_options(memory_budget=budget, recompute_to_fit=True)
        self.ag.wait_all()

    def wait(self):
        self.ag.wait_all()


class Pytorch:
    """The same in PyTorch, with checkpoints."""

    def __init__(self, network, segments):
        import torch
        from system_pytorch import Attention
        from torch import nn
        from torch.nn import functional
        from torch.utils.checkpoint import checkpoint_sequential
        torch.manual_seed(0)
        sizes = SIZES[network]
        features = sizes["features"]

        class Residual(nn.Module):
            def __init__(self, *layers):
                super().__init__()
                self.layers = nn.Sequential(*layers)

            def forward(self, x):
                return x + self.layers(x)

        def dense_part(*first, activation):
            return Residual(*first, nn.Linear(features, 4 * features), activation, nn.Linear(4 * features, features))

        def through(blocks, x):
            return checkpoint_sequential(blocks, segments, x, use_reentrant=False) if segments > 0 else blocks(x)

        if network == "residual_mlp":
            blocks = nn.Sequential(*[dense_part(activation=nn.ReLU()) for _ in range(sizes["blocks"])])
            x = torch.randn(sizes["batch"], features)
            self.loss, layers = lambda: through(blocks, x).square().mean(), [blocks]
        else:
            blocks = nn.Sequential(*[nn.Sequential(
                Residual(nn.LayerNorm(features), Attention(features, sizes["heads"], causal=True)),
                dense_part(nn.LayerNorm(features), activation=nn.GELU())) for _ in range(sizes["blocks"])])
            embedding = nn.Embedding(sizes["characters"], features)
            scores = nn.Sequential(nn.LayerNorm(features), nn.Linear(features, sizes["characters"]))
            x = torch.randint(0, sizes["characters"], (sizes["batch"], sizes["length"]))
            self.loss = lambda: functional.cross_entropy(scores(through(blocks, embedding(x))).flatten(0, 1), x.flatten())
            layers = [embedding, blocks, scores]
        self.sgd = torch.optim.SGD([p for layer in layers for p in layer.parameters()], lr=1e-3)

    def step(self):
        self.loss().backward()
        self.sgd.step()
        self.sgd.zero_grad()

    def prepare(self):
        pass

    def figures(self):
        return {}

    def wait(self):
        pass


def main():
    system, network, number = sys.argv[1:]
    makers = {"asyncgrad": lambda: Asyncgrad(network, share=float(number)),
              "by_hand": lambda: Asyncgrad(network, by_hand=int(number)),
              "pytorch": lambda: Pytorch(network, int(number))}
    training = makers[system]()
    training.prepare()
    growth = stopwatch.ResidentGrowth()
    training.step()
    training.wait()
    started = time.perf_counter()
    for _ in range(STEPS):
        training.step()
    training.wait()
    seconds = (time.perf_counter() - started) / STEPS
    version = importlib.import_module("torch" if system == "pytorch" else "asyncgrad").__version__
    print(json.dumps({"version": version, "seconds": seconds, "growth_bytes": growth.peak_bytes()} | training.figures()))


if __name__ == "__main__":
    main()
