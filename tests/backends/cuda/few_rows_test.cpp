// Operations that go through rows several times, on few long ones.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "asyncgrad/asyncgrad.h"
#include "tests/backends/cuda/emulator/emulator.h"
#include "tests/backends/cuda/fake_gpus.h"

namespace asyncgrad::tests {
namespace {

// One block for each of them would leave a GPU idle.
TEST(CudaFewLongRows, HaveManyBlocks) {
  const FakeGpus gpus;
  const TensorOptions on_gpu{.device = "cuda:0"};
  const Shape shape{2, 40'000};
  const std::map<std::string, Tensor (*)(const Tensor&)> functions{
      {"layer_norm", [](const Tensor& x) { return layer_norm(x); }},
      {"rms_norm", [](const Tensor& x) { return rms_norm(x); }},
      {"group_norm",
       [](const Tensor& x) {
         return group_norm(x.reshape({1, 2, 40'000}), 2);
       }},
      {"softmax", [](const Tensor& x) { return softmax(x); }},
      {"softmax of columns",
       [](const Tensor& x) {
         return softmax(x.reshape({40'000, 2}), 0);
       }},
      {"log_softmax", [](const Tensor& x) { return log_softmax(x); }}};
  for (const auto& [name, function] : functions) {
    SCOPED_TRACE(name);
    const Tensor x = parameter(ones(shape, on_gpu));
    wait_all();
    emulator::most_blocks();
    const Tensor y = function(x);
    y.wait();
    EXPECT_GT(emulator::most_blocks(), 100);
    const Tensor dy = ones(y.shape(), on_gpu);
    wait_all();
    emulator::most_blocks();
    y.backward(dy);
    wait_all();
    EXPECT_GT(emulator::most_blocks(), 100);
  }
}

}  // namespace
}  // namespace asyncgrad::tests
