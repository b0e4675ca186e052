#!/usr/bin/env python3
"""Prints pytorch.h: what PyTorch's optimisers make of float64 [1, -2, 3] with the gradients sin(1 + 3 t + i) at the steps
t = 0, ..., 4, and its schedules of a learning rate of 1. Needs the package torch.

    python3 tests/optim/references.py | clang-format-14 > tests/optim/pytorch.h
"""
import math

import torch
from torch.optim import lr_scheduler


def after_steps(kind, **options):
    parameter = torch.tensor([1.0, -2.0, 3.0], dtype=torch.float64, requires_grad=True)
    optimizer = kind([parameter], **options)
    for step in range(5):
        parameter.grad = torch.tensor([math.sin(1 + 3 * step + i) for i in range(3)], dtype=torch.float64)
        optimizer.step()
    return parameter.tolist()


def rates(kind, steps=8, **options):
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1)
    schedule = kind(optimizer, **options)
    found = []
    for _ in range(steps):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    return found


def clipped(max_norm):
    parameters = [torch.zeros(shape, dtype=torch.float64, requires_grad=True) for shape in ((3,), (2, 2))]
    for k, parameter in enumerate(parameters):
        values = [math.sin(1 + 3 * k + i) for i in range(parameter.numel())]
        parameter.grad = torch.tensor(values, dtype=torch.float64).reshape(parameter.shape)
    norm = torch.nn.utils.clip_grad_norm_(parameters, max_norm)
    return [norm.item(), *(value for parameter in parameters for value in parameter.grad.flatten().tolist())]


optim = torch.optim
values = {
    "sgd": after_steps(optim.SGD, lr=0.1, weight_decay=0.1),
    "sgd_momentum": after_steps(optim.SGD, lr=0.1, momentum=0.9, weight_decay=0.1),
    "sgd_nesterov": after_steps(optim.SGD, lr=0.1, momentum=0.9, weight_decay=0.1, nesterov=True),
    "adam": after_steps(optim.Adam, lr=0.1, weight_decay=0.1),
    "adam_w": after_steps(optim.AdamW, lr=0.1),
    "adagrad": after_steps(optim.Adagrad, lr=0.1),
    "adagrad_all": after_steps(optim.Adagrad, lr=0.1, weight_decay=0.1, initial_accumulator_value=0.5, eps=0.01),
    "adadelta": after_steps(optim.Adadelta),
    "adadelta_all": after_steps(optim.Adadelta, lr=0.5, rho=0.8, eps=0.01, weight_decay=0.1),
    "rmsprop": after_steps(optim.RMSprop, lr=0.1),
    "rmsprop_decay": after_steps(optim.RMSprop, lr=0.1, alpha=0.8, eps=0.01, weight_decay=0.1),
    "rmsprop_centered": after_steps(optim.RMSprop, lr=0.1, centered=True),
    "rmsprop_momentum": after_steps(optim.RMSprop, lr=0.1, momentum=0.9),
    "rmsprop_all": after_steps(optim.RMSprop, lr=0.1, alpha=0.8, eps=0.01, weight_decay=0.1, momentum=0.9, centered=True),
    "steps_of_3_by_half": rates(lr_scheduler.StepLR, step_size=3, gamma=0.5),
    "cosine_of_7_to_tenth": rates(lr_scheduler.CosineAnnealingLR, T_max=7, eta_min=0.1),
    "clipped_to_1": clipped(1.0),
    "clipped_to_9": clipped(9.0),
}
print(f"// Made by references.py with PyTorch {torch.__version__.split('+')[0]}.")
print("#pragma once\n\n#include <map>\n#include <string>\n#include <vector>\n")
print("namespace asyncgrad::optim {\n")
print("// By the names in references.py.")
print("inline const std::map<std::string, std::vector<double>> pytorch = {")
for name, numbers in values.items():
    print(f'    {{"{name}", {{{", ".join(repr(number) for number in numbers)}}}}},')
print("};\n\n}  // namespace asyncgrad::optim")
