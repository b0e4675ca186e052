// Operations that go through rows several times, on few long ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "asyncgrad/asyncgrad.h"
#include "tests/backends/cuda/emulator/emulator.h"
#include "tests/backends/cuda/fake_gpus.h"

namespace asyncgrad::tests {
namespace {

constexpr unsigned rows = 2;

// What was launched since the last look: the reductions have more blocks than there are rows, and if elements were written
// as well, these have many. The few results of a reduction's blocks may be reduced by one block.
void expect_many_blocks(bool has_elements) {
  int reductions = 0;
  unsigned most = 0;
  for (const auto& [name, blocks] : emulator::launched()) {
    most = std::max(most, blocks);
    if (name.find("ReduceChunk<") == std::string::npos || name.find("OfChunks<") != std::string::npos) continue;
    ++reductions;
    EXPECT_GT(blocks, rows) << name;
  }
  EXPECT_GT(reductions, 0);
  if (has_elements) {
    EXPECT_GT(most, 100);
  }
}

// One block for each of them would leave a GPU idle.
TEST(CudaFewLongRows, HaveManyBlocks) {
  const FakeGpus gpus;
  const TensorOptions on_gpu{.device = "cuda:0"};
  const Shape shape{rows, 40'000};
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
      {"log_softmax", [](const Tensor& x) { return log_softmax(x); }},
      {"cross_entropy",
       [](const Tensor& x) { return cross_entropy(x, zeros({rows}, {.dtype = DType::int64, .device = "cuda:0"})); }}};
  for (const auto& [name, function] : functions) {
    SCOPED_TRACE(name);
    const Tensor x = parameter(ones(shape, on_gpu));
    wait_all();
    emulator::launched();
    const Tensor y = function(x);
    y.wait();
    expect_many_blocks(y.numel() == x.numel());
    const Tensor dy = ones(y.shape(), on_gpu);
    wait_all();
    emulator::launched();
    y.backward(dy);
    wait_all();
    expect_many_blocks(true);
  }
}

}  // namespace
}  // namespace asyncgrad::tests
