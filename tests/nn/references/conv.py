#!/usr/bin/env python3
"""Writes conv.safetensors: what PyTorch's layers for images make of random float64 tensors in training and then in
evaluation, with the gradients of sum(y * dy), and the running statistics in between. Needs the package torch.

    python3 tests/nn/references/conv.py
"""
import torch
from torch import nn

from tensors import keep, write

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)


def values(module):
    """Parameters and buffers, except the count of batches, which asyncgrad does not keep."""
    return {name: tensor for name, tensor in module.state_dict(keep_vars=True).items() if tensor.dim() > 0}


def case(name, module, *shape):
    with torch.no_grad():
        for tensor in values(module).values():
            tensor.copy_(torch.rand(tensor.shape) + 0.5)
    for key, tensor in values(module).items():
        keep(f"{name}/state/{key}", tensor)
    x = torch.randn(*shape, requires_grad=True)
    keep(f"{name}/x", x)
    for mode in ("training", "evaluation"):
        module.train(mode == "training")
        x.grad = None
        module.zero_grad()
        y = module(x)
        dy = torch.randn(y.shape)
        (y * dy).sum().backward()
        keep(f"{name}/{mode}/y", y)
        keep(f"{name}/{mode}/dy", dy)
        keep(f"{name}/{mode}/grad of x", x.grad)
        for key, tensor in values(module).items():
            keep(f"{name}/{mode}/after/{key}", tensor)
            if tensor.grad is not None:
                keep(f"{name}/{mode}/grad/{key}", tensor.grad)


case("conv2d", nn.Conv2d(3, 4, (3, 2)), 2, 3, 6, 5)
case("conv2d_options", nn.Conv2d(4, 6, 3, stride=(2, 1), padding=(1, 2), dilation=(1, 2), groups=2), 2, 4, 7, 6)
case("conv2d_depthwise", nn.Conv2d(3, 6, 3, padding=1, groups=3, bias=False), 1, 3, 5, 5)
case("conv1d", nn.Conv1d(2, 3, 3, stride=2, padding=1), 2, 2, 9)
case("max_pool2d", nn.MaxPool2d(3, stride=2, padding=1), 2, 3, 6, 7)
case("max_pool2d_of_two", nn.MaxPool2d(2), 2, 3, 6, 7)
case("avg_pool2d", nn.AvgPool2d((3, 2), stride=2, padding=1), 2, 3, 6, 7)
case("global_avg_pool2d", nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten()), 2, 3, 4, 5)
case("batch_norm", nn.BatchNorm2d(3), 4, 3, 4, 5)
case("batch_norm_of_rows", nn.BatchNorm1d(5, momentum=0.3, eps=1e-3), 7, 5)
case("batch_norm_plain", nn.BatchNorm1d(2, affine=False), 3, 2, 6)
case("group_norm", nn.GroupNorm(2, 6), 3, 6, 4, 5)
case("group_norm_of_rows", nn.GroupNorm(3, 12, eps=1e-3), 4, 12)
case("group_norm_plain", nn.GroupNorm(1, 3, affine=False), 2, 3, 7)
case("conv_transpose2d", nn.ConvTranspose2d(3, 4, (3, 2)), 2, 3, 4, 5)
case("conv_transpose2d_options",
     nn.ConvTranspose2d(4, 6, 3, stride=(2, 3), padding=(1, 2), output_padding=(1, 0), groups=2, dilation=(1, 2)), 2, 4, 5, 4)
case("conv_transpose1d", nn.ConvTranspose1d(2, 3, 3, stride=2, padding=1, bias=False), 2, 2, 9)

write(__file__)
