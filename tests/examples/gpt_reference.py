#!/usr/bin/env python3
"""Trains the model of examples/gpt.cpp in PyTorch and here, from the same values on the same batches without dropout.
Fails unless the losses of all steps agree to 1e-3, relatively. Prints how long a step takes, medians of interleaved
rounds. Needs the package torch.

    python3 tests/examples/gpt_reference.py build/release/tests/gpt_losses [--rounds N] [--threads N]
"""
import argparse
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import torch
from torch import nn
from torch.nn import functional

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "nn/references"))
from tensors import safetensors  # noqa: E402

LAYERS, FEATURES, HEADS, CONTEXT, SAMPLES, STEPS = 4, 128, 4, 128, 16, 50


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(FEATURES), nn.LayerNorm(FEATURES)
        self.qkv, self.out = nn.Linear(FEATURES, 3 * FEATURES), nn.Linear(FEATURES, FEATURES)
        self.up, self.down = nn.Linear(FEATURES, 4 * FEATURES), nn.Linear(4 * FEATURES, FEATURES)

    def forward(self, x):
        count, length, _ = x.shape
        q, k, v = (part.view(count, length, HEADS, -1).transpose(1, 2) for part in self.qkv(self.norm1(x)).split(FEATURES, 2))
        attended = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(count, length, FEATURES))
        return x + self.down(functional.gelu(self.up(self.norm2(x))))


class Model(nn.Module):
    def __init__(self, characters):
        super().__init__()
        self.characters, self.positions = nn.Embedding(characters, FEATURES), nn.Embedding(CONTEXT, FEATURES)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(FEATURES)
        nn.init.normal_(self.characters.weight, std=0.02)
        nn.init.normal_(self.positions.weight, std=0.02)

    def forward(self, indices):
        x = self.characters(indices) + self.positions.weight[: indices.shape[1]]
        for block in self.blocks:
            x = block(x)
        return functional.linear(self.norm(x), self.characters.weight)

    def our_state(self):
        """Names and layouts as here: weights of linear layers (in, out), attention's in a layer of its own."""
        state = {}
        for name, tensor in self.state_dict().items():
            is_linear = tensor.dim() == 2 and name.startswith("blocks")
            state[name.replace(".qkv.", ".attention.qkv.").replace(".out.", ".attention.out.")] = tensor.t() if is_linear else tensor
        return state


def read_text():
    """The number of different characters of the text, and their numbers as in examples/support/text_data.h."""
    text = (pathlib.Path(__file__).parents[2] / "examples/data/kjv.txt").read_text()
    alphabet = sorted(set(text))
    numbers = {character: number for number, character in enumerate(alphabet)}
    return len(alphabet), torch.tensor([numbers[character] for character in text])


def losses_of_pytorch(model, batches):
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.001)
    losses = []
    for step, batch in enumerate(batches):
        if step == 1:
            start = time.perf_counter()
        scores = model(batch[:, :-1])
        loss = functional.cross_entropy(scores.flatten(0, 1), batch[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, 1e3 * (time.perf_counter() - start) / (len(batches) - 1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    characters, codes = read_text()
    starts = torch.randint(len(codes) - CONTEXT - 1, (STEPS, SAMPLES, 1))
    batches = codes[starts + torch.arange(CONTEXT + 1)]
    model = Model(characters)
    start = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    times, worst = {"PyTorch": [], "asyncgrad": []}, 0
    with tempfile.TemporaryDirectory() as folder:
        files = [pathlib.Path(folder) / name for name in ("start.safetensors", "batches.safetensors")]
        files[0].write_bytes(safetensors(model.our_state()))
        files[1].write_bytes(safetensors({"indices": batches}))
        for _ in range(options.rounds):
            model.load_state_dict(start)
            expected, elapsed_ms = losses_of_pytorch(model, batches)
            times["PyTorch"].append(elapsed_ms)
            command = [options.program, *map(str, files), str(characters), str(STEPS), str(SAMPLES)]
            *found, elapsed_ms = map(float, subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())
            times["asyncgrad"].append(elapsed_ms)
            if len(found) != len(expected):
                sys.exit(f"{len(found)} losses for {len(expected)} steps")
            worst = max(worst, *(abs(x - y) / y for x, y in zip(found, expected)))
    print(f"losses {expected[0]:.4f} to {expected[-1]:.4f}; the largest relative difference is {worst:.1e}")
    medians = {name: statistics.median(values) for name, values in times.items()}
    print("a step: " + ", ".join(f"{name} {value:.1f} ms" for name, value in medians.items()) +
          f", ratio {medians['asyncgrad'] / medians['PyTorch']:.2f}")
    if not worst < 1e-3:
        sys.exit("the losses differ")


if __name__ == "__main__":
    main()
