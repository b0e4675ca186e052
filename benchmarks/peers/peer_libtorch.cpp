// The workloads on PyTorch from C++.
#include <torch/torch.h>

#include <memory>

#include "stopwatch.h"

namespace asyncgrad::benchmarks {
namespace {

// libtorch computes within the call on a CPU: nothing is left to wait for.
Run increments() {
  return [](int units) {
    const c10::InferenceMode inference;
    torch::Tensor y = torch::zeros({1, 2});
    for (int i = 0; i < units; ++i) y = y + 1;
  };
}

struct Batch {
  torch::Tensor x, y;
};

template <class Loss, class Draw>
Run training(torch::nn::Sequential net, Loss loss_of, Draw draw) {
  const auto sgd = std::make_shared<torch::optim::SGD>(net->parameters(), torch::optim::SGDOptions(0.01));
  return [=](int units) mutable {
    for (int i = 0; i < units; ++i) {
      const Batch batch = draw();
      const torch::Tensor loss = loss_of(net->forward(batch.x), batch.y);
      sgd->zero_grad();
      loss.backward();
      sgd->step();
    }
  };
}

torch::Tensor l2_loss(const torch::Tensor& prediction, const torch::Tensor& label) {
  return torch::mse_loss(prediction, label) / 2;
}

Run tiny_mlp_step() {
  const Batch batch{torch::randn({2, 4}), torch::ones({2, 1})};
  const torch::nn::Sequential net(torch::nn::Linear(4, 4), torch::nn::ReLU(), torch::nn::Linear(4, 1));
  return training(net, l2_loss, [=] { return batch; });
}

Run small_mlp_step() {
  const Batch batch{torch::randn({32, 64}), torch::arange(32) % 10};
  const torch::nn::Sequential net(torch::nn::Linear(64, 64), torch::nn::ReLU(), torch::nn::Linear(64, 10));
  const auto loss = [](const torch::Tensor& x, const torch::Tensor& y) { return torch::cross_entropy_loss(x, y); };
  return training(net, loss, [=] { return batch; });
}

Run chapter_step() {
  const torch::nn::Sequential net(torch::nn::Linear(512, 2048), torch::nn::ReLU(), torch::nn::Linear(2048, 512),
                                  torch::nn::ReLU(), torch::nn::Linear(512, 1));
  return training(net, l2_loss, [] { return Batch{torch::randn({1024, 512}), torch::ones({1024, 1})}; });
}

Run normal_numbers() {
  return [](int units) {
    for (int i = 0; i < units; ++i) torch::randn({1000, 1000});
  };
}

}  // namespace
}  // namespace asyncgrad::benchmarks

int main(int argc, char** argv) {
  using namespace asyncgrad::benchmarks;
  return do_workload(argc, argv, {.version = TORCH_VERSION, .set_threads = at::set_num_threads},
                     {{"increments_async", increments},
                      {"increments_sync", increments},
                      {"tiny_mlp_step", tiny_mlp_step},
                      {"small_mlp_step", small_mlp_step},
                      {"chapter_step", chapter_step},
                      {"randn", normal_numbers}});
}
