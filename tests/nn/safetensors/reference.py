#!/usr/bin/env python3
"""Prints reference.h: a file as the format's own Python library writes it. Needs the packages safetensors and numpy.

    python3 tests/nn/safetensors/reference.py | clang-format-14 > tests/nn/safetensors/reference.h
"""
import numpy
import safetensors
from safetensors.numpy import save

# The library writes wide types first, and by name within a type.
tensors = {
    "count": numpy.array(2**53 + 1, dtype=numpy.int64),
    "exact": numpy.array([0.1, -numpy.inf, 5e-324], dtype=numpy.float64),
    "labels": numpy.array([[1, -2], [3, -4]], dtype=numpy.int64),
    "net.0.bias": numpy.array([0.5, -0.0], dtype=numpy.float32),
    "net.0.weight": numpy.array([[1, 2, 3], [4, 5, 6]], dtype=numpy.float32),
    "nothing": numpy.zeros((0, 3), dtype=numpy.float32),
}
content = save(tensors, {"note": 'a "quoted" text, ä'})

print(f"// Made by reference.py with safetensors {safetensors.__version__} and numpy {numpy.__version__}.")
print("#pragma once\n")
print("namespace asyncgrad::nn::safetensors {\n")
print("inline constexpr unsigned char reference[] = {")
for start in range(0, len(content), 20):
    print("    " + " ".join(f"0x{byte:02x}," for byte in content[start : start + 20]))
print("};\n\n}  // namespace asyncgrad::nn::safetensors")
