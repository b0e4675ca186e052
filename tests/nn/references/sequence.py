#!/usr/bin/env python3
"""Writes sequence.safetensors: what PyTorch's layers for sequences make of random float64 tensors, with the gradients of
sum(result * dy). Weights lie as here: (in, out). Needs the package torch.

    python3 tests/nn/references/sequence.py
"""
import torch
from torch import nn

from tensors import keep, write

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)


def random(*shape):
    return torch.randn(*shape, requires_grad=True)


def randomise(module):
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn(parameter.shape) / 2)
    return module


def keep_state(case, names, module):
    """Values and gradients, by our names; a weight of two axes of a linear layer is transposed."""
    parameters = dict(module.named_parameters())
    for ours, theirs in names.items():
        turn = (lambda tensor: tensor.t()) if parameters[theirs].dim() == 2 and "embedding" not in case else (lambda tensor: tensor)
        keep(f"{case}/state/{ours}", turn(parameters[theirs]))
        keep(f"{case}/grad/{ours}", turn(parameters[theirs].grad))


def case(name, module, inputs, names, call=None):
    """Inputs of floating types get gradients. The results are y, or a dictionary."""
    results = (call or module)(*inputs.values())
    results = results if isinstance(results, dict) else {"y": results}
    loss = 0
    for key, result in results.items():
        dy = torch.randn(result.shape)
        keep(f"{name}/{key}", result)
        keep(f"{name}/d{key}", dy)
        loss = loss + (result * dy).sum()
    loss.backward()
    for key, tensor in inputs.items():
        keep(f"{name}/{key}", tensor)
        if tensor.requires_grad:
            keep(f"{name}/grad of {key}", tensor.grad)
    keep_state(name, names, module)


case("layer_norm", randomise(nn.LayerNorm(6)), {"x": random(3, 4, 6)}, {"weight": "weight", "bias": "bias"})
case("rms_norm", randomise(nn.RMSNorm(6, eps=1e-5)), {"x": random(3, 4, 6)}, {"weight": "weight"})
case("embedding", randomise(nn.Embedding(5, 3)), {"x": torch.tensor([[1, 4, 1], [0, 2, 1]])}, {"weight": "weight"})


def recurrent_names(layers, directions):
    names = {}
    for layer in range(layers):
        for direction in range(directions):
            for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
                names[f"weights.{layer * directions + direction}.{part}"] = f"{part}_l{layer}" + "_reverse" * direction
    return names


def recurrent(name, module, directions, lengths=None, starts=False):
    steps, count, hidden = 5, 3, 4
    states = module.num_layers * directions
    inputs = {"x": random(steps, count, 2)}
    if starts:
        inputs["h0"] = random(states, count, hidden)
    if starts and isinstance(module, nn.LSTM):
        inputs["c0"] = random(states, count, hidden)
    if lengths is not None:
        keep(f"{name}/lengths", torch.tensor(lengths))

    def call(x, *start):
        if lengths is not None:
            x = nn.utils.rnn.pack_padded_sequence(x, torch.tensor(lengths), enforce_sorted=False)
        start = None if not start else start[0] if len(start) == 1 else start
        y, last = module(x, start)
        if lengths is not None:
            y, _ = nn.utils.rnn.pad_packed_sequence(y, total_length=steps)
        return {"y": y, "h": last[0], "c": last[1]} if isinstance(last, tuple) else {"y": y, "h": last}

    case(name, randomise(module), inputs, recurrent_names(module.num_layers, directions), call)


for kind, module in (("rnn_tanh", nn.RNN), ("rnn_relu", lambda *a, **k: nn.RNN(*a, nonlinearity="relu", **k)),
                     ("gru", nn.GRU), ("lstm", nn.LSTM)):
    recurrent(kind, module(2, 4), 1)
    recurrent(f"{kind}_deep", module(2, 4, num_layers=2, bidirectional=True), 2, lengths=[5, 2, 3], starts=True)

attention_names = {"qkv.weight": "in_proj_weight", "qkv.bias": "in_proj_bias", "out.weight": "out_proj.weight",
                   "out.bias": "out_proj.bias"}
hidden_later = torch.triu(torch.ones(5, 5, dtype=torch.bool), 1)
module = randomise(nn.MultiheadAttention(6, 2, batch_first=True))
case("attention", module, {"x": random(2, 5, 6)}, attention_names, lambda x: module(x, x, x)[0])
module = randomise(nn.MultiheadAttention(6, 2, batch_first=True))
case("attention_causal", module, {"x": random(2, 5, 6)}, attention_names,
     lambda x: module(x, x, x, attn_mask=hidden_later)[0])
module = randomise(nn.MultiheadAttention(6, 2, batch_first=True))
mask = torch.randn(5, 3)
keep("attention_to_memory/mask", mask)
case("attention_to_memory", module, {"x": random(2, 5, 6), "memory": random(2, 3, 6)}, attention_names,
     lambda x, memory: module(x, memory, memory, attn_mask=mask)[0])

block_names = {f"attention.{ours}": f"self_attn.{theirs}" for ours, theirs in attention_names.items()}
for ours, theirs in (("norm1", "norm1"), ("norm2", "norm2"), ("up", "linear1"), ("down", "linear2")):
    block_names |= {f"{ours}.{part}": f"{theirs}.{part}" for part in ("weight", "bias")}
for name, options in (("block", {"norm_first": True, "activation": "gelu"}),
                      ("block_norm_last", {"norm_first": False, "activation": "relu"})):
    module = randomise(nn.TransformerEncoderLayer(6, 2, dim_feedforward=8, dropout=0.0, batch_first=True, **options))
    case(name, module, {"x": random(2, 5, 6)}, block_names,
         lambda x, module=module: module(x, src_mask=hidden_later, is_causal=True))

# PyTorch draws other random numbers than asyncgrad, so that dropout between the layers drops everything or nothing.
for kind, module in (("rnn_tanh", nn.RNN), ("gru", nn.GRU), ("lstm", nn.LSTM)):
    for mode in ("training", "evaluation"):
        module_of_mode = module(2, 4, num_layers=2, bidirectional=True, dropout=1.0).train(mode == "training")
        recurrent(f"{kind}_dropping_in_{mode}", module_of_mode, 2, lengths=[5, 2, 3], starts=True)


def dropped(name, p, *shape):
    """The values and gradients that kept elements have, from many draws. Dropped elements are 0."""
    module, x, dy = nn.Dropout(p), random(*shape), torch.randn(shape)
    y, dx = torch.zeros(shape), torch.zeros(shape)
    for _ in range(200):
        x.grad = None
        result = module(x)
        (result * dy).sum().backward()
        is_kept = result != 0
        assert bool(((x.grad != 0) == is_kept).all())
        y, dx = torch.where(is_kept, result, y), torch.where(is_kept, x.grad, dx)
    assert bool((y != 0).all())
    for key, tensor in (("x", x), ("dy", dy), ("kept", y), ("gradient of kept", dx)):
        keep(f"{name}/{key}", tensor)
    x.grad = None
    result = module.eval()(x)
    (result * dy).sum().backward()
    keep(f"{name}/evaluation/y", result)
    keep(f"{name}/evaluation/grad of x", x.grad)


dropped("dropout", 0.5, 8, 9)
dropped("dropout_of_few", 0.1, 8, 9)
dropped("dropout_of_most", 0.9, 8, 9)

decoder_names = {f"cross_attention.{ours}": f"multihead_attn.{theirs}" for ours, theirs in attention_names.items()}
decoder_names |= block_names | {f"norm3.{part}": f"norm3.{part}" for part in ("weight", "bias")}
for name, options in (("decoder_block", {"norm_first": True, "activation": "gelu"}),
                      ("decoder_block_norm_last", {"norm_first": False, "activation": "relu"})):
    module = randomise(nn.TransformerDecoderLayer(6, 2, dim_feedforward=8, dropout=0.0, batch_first=True, **options))
    memory_mask = torch.randn(5, 3)
    keep(f"{name}/memory_mask", memory_mask)
    case(name, module, {"x": random(2, 5, 6), "memory": random(2, 3, 6)}, decoder_names,
         lambda x, memory, module=module, memory_mask=memory_mask: module(
             x, memory, tgt_mask=hidden_later, memory_mask=memory_mask, tgt_is_causal=True))

write(__file__)
