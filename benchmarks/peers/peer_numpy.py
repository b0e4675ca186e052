"""The workloads on numpy: its random numbers, and products by the OpenBLAS that comes with it."""
import numpy
import stopwatch


def randn():
    generator = numpy.random.default_rng(0)

    def run(units):
        for _ in range(units):
            generator.standard_normal((1000, 1000), dtype=numpy.float32)

    return run


def product(n):
    def prepare():
        x, w = numpy.random.default_rng(0).standard_normal((2, n, n), dtype=numpy.float32)

        def run(units):
            for _ in range(units):
                x @ w

        return run

    return prepare


def asnumpy():
    x = numpy.random.default_rng(0).standard_normal((1000, 1000), dtype=numpy.float32)

    def run(units):
        for _ in range(units):
            x.copy()

    return run


workloads = {f"product_{n}": product(n) for n in (64, 256, 1000, 4000)}
stopwatch.main(numpy.__version__, {"randn": randn, "python_asnumpy": asnumpy, **workloads})
