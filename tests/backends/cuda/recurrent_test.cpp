// Which recurrent layers are one operation on a GPU.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "asyncgrad/asyncgrad.h"
#include "tests/backends/cuda/first_gpu.h"

namespace asyncgrad::tests {
namespace {

class CudaRecurrent : public OnFirstGpu {
 protected:
  static constexpr std::int64_t steps = 3, sequences = 2;

  // What an LSTM and its gradient do on the GPU, by the operation's name.
  static std::map<std::string, profiler::OperationTimes> operations_of_lstm(std::int64_t hidden) {
    nn::LSTM net(5, hidden, {.device = "cuda:0"});
    const Tensor x = parameter(ones({steps, sequences, 5}, {.device = "cuda:0"}));
    wait_all();
    profiler::start();
    sum(net.run(x).output).backward();
    wait_all();
    std::map<std::string, profiler::OperationTimes> operations;
    for (const profiler::OperationTimes& times : profiler::stop().operations) operations[times.name] = times;
    return operations;
  }
};

TEST_F(CudaRecurrent, IsOneOperationWhereItIsSmall) {
  constexpr std::int64_t hidden = 128;
  const auto operations = operations_of_lstm(hidden);
  for (const char* name : {"recurrent", "recurrent_grad"}) {
    ASSERT_TRUE(operations.contains(name)) << name;
    EXPECT_EQ(operations.at(name).count, 1);
    EXPECT_EQ(operations.at(name).flops, 2.0 * steps * sequences * hidden * 4 * hidden);
  }
  EXPECT_FALSE(operations.contains("recurrent_cell"));
}

// Steps with a large weight take longer than their launches.
TEST_F(CudaRecurrent, GoesStepByStepWhereItIsLarge) {
  const auto operations = operations_of_lstm(129);
  ASSERT_TRUE(operations.contains("recurrent_cell"));
  EXPECT_EQ(operations.at("recurrent_cell").count, steps);
  EXPECT_FALSE(operations.contains("recurrent"));
}

}  // namespace
}  // namespace asyncgrad::tests
