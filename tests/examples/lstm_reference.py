#!/usr/bin/env python3
"""Trains the model of examples/lstm_text.cpp in PyTorch and here, from the same parameters on the same text. Fails unless the
losses and the perplexity on held-out text agree to 1e-3, relatively. Needs the package torch.

    python3 tests/examples/lstm_reference.py build/release/lstm_text [--batches N] [--threads N]
"""
import argparse
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile

import torch
from gpt_reference import read_text, save
from torch import nn
from torch.nn import functional

HIDDEN, SAMPLES, STEPS, LR, MAX_NORM, HELD_OUT_PARTS = 256, 32, 32, 0.002, 1, 50


class Model(nn.Module):
    def __init__(self, characters):
        super().__init__()
        self.characters = nn.Embedding(characters, HIDDEN)
        self.lstm = nn.LSTM(HIDDEN, HIDDEN)
        self.out = nn.Linear(HIDDEN, characters)

    def forward(self, indices, states):
        output, states = self.lstm(self.characters(indices), states)
        return self.out(output), states

    def our_state(self):
        """Names and layouts as here: weights (in, out)."""
        state = {"characters.weight": self.characters.weight, "out.weight": self.out.weight.t(), "out.bias": self.out.bias}
        for name, tensor in self.lstm.named_parameters():
            state[f"lstm.weights.0.{name.removesuffix('_l0')}"] = tensor.t() if tensor.dim() == 2 else tensor
        return {name: tensor.detach() for name, tensor in state.items()}


def in_parts(codes, count):
    length = len(codes) // count
    return codes[: count * length].view(count, length).t()


def loss_of(model, sequences, states):
    scores, states = model(sequences[:-1], states)
    return functional.cross_entropy(scores.flatten(0, 1), sequences[1:].flatten()), states


def train(model, codes, batches):
    """The losses of all batches, and the perplexity of the text held out."""
    learned = len(codes) // 50 * 49
    sequences, held_out = in_parts(codes[:learned], SAMPLES), in_parts(codes[learned:], HELD_OUT_PARTS)
    optimizer = torch.optim.Adam(model.parameters(), lr=LR)
    states, losses = None, []
    for batch in range(batches):
        loss, states = loss_of(model, sequences[batch * STEPS : (batch + 1) * STEPS + 1], states)
        states = tuple(state.detach() for state in states)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), MAX_NORM)
        optimizer.step()
        losses.append(loss.item())
    with torch.no_grad():
        return losses, math.exp(loss_of(model, held_out, None)[0].item())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--batches", type=int, default=150)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    characters, codes = read_text()
    model = Model(characters)
    with tempfile.TemporaryDirectory() as folder:
        start, data, plot = (str(pathlib.Path(folder) / name) for name in ("start.safetensors", "data.json", "plot.svg"))
        save(pathlib.Path(start), model.our_state())
        command = [options.program, "--start", start, "--batches", str(options.batches), "--runs", "none", "--json", data,
                   "--plot", plot]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        [run] = json.loads(pathlib.Path(data).read_text())["runs"]
    losses, perplexity = train(model, codes, options.batches + 1)  # the first batch is not among those that are measured
    pairs = {"first loss": (run["first_loss"], losses[1]),
             "last loss": (run["last_loss"], losses[-1]),
             "perplexity": (float(re.search(r"perplexity ([0-9.]+)", output)[1]), perplexity)}
    for name, (found, expected) in pairs.items():
        print(f"{name}: asyncgrad {found:.4f}, PyTorch {expected:.4f}")
    if not all(abs(found - expected) < 1e-3 * expected for found, expected in pairs.values()):
        sys.exit("they differ")


if __name__ == "__main__":
    main()
