"""The works `trial_*` on PyTorch: operations and layers, with the gradients of the sum of their values."""
import torch


def with_gradient(shape, function):
    def prepare():
        x = torch.randn(shape, requires_grad=True)

        def run(units):
            for _ in range(units):
                x.grad = None
                function(x).sum().backward()

        return run

    return prepare


def broadcast(columns):
    def prepare():
        rows = 2**21 // columns
        x, column = torch.randn(rows, columns), torch.randn(rows, 1)

        @torch.inference_mode()
        def run(units):
            for _ in range(units):
                x * column

        return run

    return prepare


def in_rows(columns, function):
    return with_gradient((2**21 // columns, columns), function)


def sum_of_slices(x):
    total = torch.zeros(())
    for part in x.split(1):
        total = total + part.square().sum()
    return total


TRIALS = {
    **{f"trial_broadcast_{n}": broadcast(n) for n in (4, 32, 63, 64)},
    "trial_pow_2": with_gradient((1024, 512), lambda x: x**2),
    "trial_pow_3": with_gradient((1024, 512), lambda x: x**3),
    **{f"trial_slices_{n}": with_gradient((n, 64, 64), sum_of_slices) for n in (256, 1024)},
    **{f"trial_softmax_{n}": in_rows(n, lambda x: x.softmax(1)) for n in (8, 32, 64, 1024)},
    **{f"trial_sum_{n}": in_rows(n, lambda x: x.sum(1)) for n in (4, 32, 1024)},
}
