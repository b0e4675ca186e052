#include "tests/backends/cuda/fake_gpus.h"
#include "tests/backends/cuda/first_gpu.h"

namespace asyncgrad::tests {

FirstGpu::FirstGpu() : gpus_(std::make_shared<FakeGpus>(FakeApiOptions{.gpus = 1})) {}

}  // namespace asyncgrad::tests
