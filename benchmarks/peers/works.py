"""The works that systems do, by name."""
from typing import NamedTuple, Optional


class Work(NamedTuple):
    what: str  # one unit of it; figures are for one unit
    units: int  # how many a system does before it waits for all of them, and reads the clock
    peers: Optional[tuple] = None  # who does it; None: all


WORKS = {
    "increments_async": Work("`y = y + 1` on a 1×2 tensor, a wait after the last of 10,000", 10_000),
    "increments_sync": Work("`y = y + 1` on a 1×2 tensor and a wait for it", 10_000),
    "tiny_mlp_step": Work(
        "a training step: Dense 4→4 relu →1, the same batch of 2, mean L2 loss, backward, SGD", 1_000
    ),
    "small_mlp_step": Work(
        "a training step: Dense 64→64 relu →10, the same batch of 32, mean cross-entropy, backward, SGD", 500
    ),
    "chapter_step": Work(
        "a training step: Dense 512→2048 relu →512 relu →1, a batch of 1024 drawn anew from N(0, 1), ones as labels, "
        "mean L2 loss, backward, SGD; float32",
        10,
    ),
    "chapter_step_bf16": Work(
        "the same with products in bf16: MathMode::bf16; PyTorch's set_float32_matmul_precision('medium')",
        10,
        ("pytorch",),
    ),
    "randn": Work("10⁶ numbers from N(0, 1), float32", 10),
    "sgd_momentum": Work("SGD's update, with momentum, of 10⁷ float32 parameters; PyTorch's fused one", 10, ("pytorch",)),
    "adam": Work("Adam's update of 10⁷ float32 parameters; PyTorch's fused one", 10, ("pytorch",)),
    **{
        f"product_{n}": Work(f"a product of two {n}×{n} float32 matrices", max(1, 4000 // n), ("pytorch", "numpy"))
        for n in (64, 256, 1000, 4000)
    },
}


# Systems that do no more than these.
ONLY = {"numpy": ("randn", *(work for work in WORKS if work.startswith("product_")))}


def does(system, work):
    """Whether a system does a work at all."""
    peers = WORKS[work].peers
    return system == "asyncgrad" or ((peers is None or system in peers) and work in ONLY.get(system, WORKS))
