// Every layer on a GPU, a real or an emulated one, beside the CPU; and files that go from one to the other.
#include <gtest/gtest.h>

#include <cmath>

#include "asyncgrad/asyncgrad.h"
#include "tests/backends/cuda/first_gpu.h"
#include "tests/nn/layer_cases.h"
#include "tests/support/sanitizer.h"
#include "tests/support/temporary_folder.h"

namespace asyncgrad::tests {
namespace {

// The device of new tensors.
class On {
 public:
  explicit On(Device device) { set_default_device(device); }
  On(const On&) = delete;
  On& operator=(const On&) = delete;
  ~On() { set_default_device(DeviceType::cpu); }
};

std::vector<float> floats_of(const Tensor& x) { return x.to(DeviceType::cpu).to(float32).to_vector<float>(); }

// Two steps of training: the losses, the gradients of x, and all parameters and states.
std::vector<std::vector<float>> trained(const LayerCase& row, Device device) {
  const On on(device);
  manual_seed(3);
  Generator generator(5);
  nn::Sequential net = row.make(&generator);
  net(row.draw_input());  // layers of a size that the first input decides
  std::vector<std::vector<float>> found;
  for (int step = 0; step < 2; ++step) {
    const Tensor x = row.draw_input();
    EXPECT_EQ(x.device(), device);
    const Tensor y = net(x), loss = mean(square(y) * uniform(y.shape()));
    loss.backward();
    found.push_back(floats_of(loss));
    if (x.requires_grad()) found.push_back(floats_of(x.grad()));
    const NoGrad no_grad;
    for (Tensor parameter : nn::parameters(net)) {
      parameter -= parameter.grad() * 0.1;
      parameter.zero_grad();
    }
  }
  for (const auto& [name, tensor] : nn::state(net)) found.push_back(floats_of(tensor));
  return found;
}

class CudaLayers : public OnFirstGpu, public testing::WithParamInterface<LayerCase> {};

TEST_P(CudaLayers, TrainAsOnTheCpu) {
  const auto expected = trained(GetParam(), DeviceType::cpu), found = trained(GetParam(), "cuda:0");
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i].size(), expected[i].size());
    for (std::size_t j = 0; j < found[i].size(); ++j) {
      ASSERT_NEAR(found[i][j], expected[i][j], 1e-4 * std::max(1.0F, std::abs(expected[i][j])))
          << "value " << j << " of result " << i;
    }
  }
}

// For races their kernels are looked at one by one.
INSTANTIATE_TEST_SUITE_P(Of, CudaLayers, testing::ValuesIn(looks_for_races ? std::vector<LayerCase>{} : layer_cases()),
                         name_of_layer);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(CudaLayers);

nn::Sequential small_network() { return nn::Sequential(nn::Dense(4, 5, relu), nn::BatchNorm(5), nn::Dense(5, 2)); }

void train_step(nn::Sequential& net, optim::Adam& adam, Device device) {
  Generator generator(9);
  mean(square(net(randn({6, 4}, {.device = device, .generator = &generator})))).backward();
  adam.step();
  adam.zero_grad();
}

using CudaFiles = OnFirstGpu;
TEST_F(CudaFiles, GoFromOneDeviceToTheOther) {
  const TemporaryFolder folder;
  const std::string file = folder.file("training.safetensors");
  nn::Sequential there = nn::to(small_network(), "cuda:0"), here = small_network();
  optim::Adam adam_there(nn::parameters(there)), adam_here(nn::parameters(here));
  Checkpoint checkpoint_there, checkpoint_here;
  checkpoint_there.add("net", there);
  checkpoint_there.add("adam", adam_there);
  checkpoint_here.add("net", here);
  checkpoint_here.add("adam", adam_here);
  const auto expect_equal = [&] {
    const auto x = nn::state(there), y = nn::state(here);
    ASSERT_EQ(x.size(), y.size());
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(floats_of(x[i].second), floats_of(y[i].second)) << x[i].first;
  };
  for (int i = 0; i < 3; ++i) train_step(there, adam_there, "cuda:0");
  checkpoint_there.save(file);
  checkpoint_here.load(file);
  expect_equal();
  train_step(here, adam_here, DeviceType::cpu);
  checkpoint_here.save(file);
  checkpoint_there.load(file);
  expect_equal();
  for (const Tensor& parameter : nn::parameters(there)) EXPECT_EQ(parameter.device(), Device("cuda:0"));
}

}  // namespace
}  // namespace asyncgrad::tests
