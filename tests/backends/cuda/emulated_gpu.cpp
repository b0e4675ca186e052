#include "tests/backends/cuda/fake_gpus.h"
#include "tests/backends/cuda/first_gpu.h"

namespace asyncgrad::tests {

FirstGpu::FirstGpu(bool values_at_page_ends)
    : gpus_(std::make_shared<FakeGpus>(FakeApiOptions{.gpus = 1, .values_at_page_ends = values_at_page_ends})) {}

}  // namespace asyncgrad::tests
