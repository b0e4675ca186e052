"""The common part of this folder's scripts: tensors are kept by name, and written to a safetensors file."""
import json
import os
import struct

import torch

TYPES = {torch.float64: ("F64", "d"), torch.int64: ("I64", "q")}
kept = {}


def keep(name, tensor):
    kept[name] = tensor.detach().contiguous().clone()


def write(script):
    """Writes all tensors that were kept to a file beside the script, which has the script's name."""
    maker = f"{os.path.basename(script)} with PyTorch {torch.__version__.split('+')[0]}"
    header, data = {"__metadata__": {"made by": maker}}, b""
    for name, tensor in sorted(kept.items()):
        kind, letter = TYPES[tensor.dtype]
        values = tensor.flatten().tolist()
        part = struct.pack(f"<{len(values)}{letter}", *values)
        header[name] = {"dtype": kind, "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(os.path.splitext(os.path.abspath(script))[0] + ".safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)
