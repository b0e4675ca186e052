"""The common part of scripts that make references: tensors are kept by name, and written to a safetensors file."""
import json
import os
import struct

import torch

TYPES = {torch.float64: ("F64", "d"), torch.float32: ("F32", "f"), torch.int64: ("I64", "q")}
kept = {}


def keep(name, tensor):
    kept[name] = tensor.detach().contiguous().clone()


def safetensors(tensors, **header):
    """The bytes of a file of tensors by name."""
    data = b""
    for name, tensor in tensors.items():
        kind, letter = TYPES[tensor.dtype]
        values = tensor.flatten().tolist()
        part = struct.pack(f"<{len(values)}{letter}", *values)
        header[name] = {"dtype": kind, "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def write(script):
    """Writes all tensors that were kept to a file beside the script, which has the script's name."""
    maker = f"{os.path.basename(script)} with PyTorch {torch.__version__.split('+')[0]}"
    with open(os.path.splitext(os.path.abspath(script))[0] + ".safetensors", "wb") as file:
        file.write(safetensors(dict(sorted(kept.items())), __metadata__={"made by": maker}))
