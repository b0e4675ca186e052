// The workloads on asyncgrad itself.
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "stopwatch.h"
#include "trials.h"

namespace asyncgrad::benchmarks {
namespace {

Run increments_async() {
  return [](int units) {
    const Inference inference;
    Tensor y = zeros({1, 2});
    for (int i = 0; i < units; ++i) y = y + 1;
    y.wait();
  };
}

Run increments_sync() {
  return [](int units) {
    const Inference inference;
    Tensor y = zeros({1, 2});
    for (int i = 0; i < units; ++i) {
      y = y + 1;
      y.wait();
    }
  };
}

struct Batch {
  Tensor x, y;
};

template <class Loss, class Draw>
Run training(const nn::Sequential& net, Loss loss_of, Draw draw) {
  const auto sgd = std::make_shared<optim::SGD>(nn::parameters(net), optim::SGDOptions{.lr = 0.01});
  return [=](int units) {
    for (int i = 0; i < units; ++i) {
      const Batch batch = draw();
      const Tensor loss = mean(loss_of(net(batch.x), batch.y));
      loss.backward();
      sgd->step();
      sgd->zero_grad();
    }
  };
}

Tensor l2_loss(const Tensor& x, const Tensor& y) { return nn::l2_loss(x, y); }
Tensor cross_entropy_of_labels(const Tensor& x, const Tensor& labels) { return nn::softmax_cross_entropy(x, labels); }

Run tiny_mlp_step() {
  const Batch batch{randn({2, 4}), ones({2, 1})};
  return training({nn::Dense(4, 4, relu), nn::Dense(4, 1)}, l2_loss, [=] { return batch; });
}

Run small_mlp_step() {
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < 32; ++i) labels.push_back(i % 10);
  const Batch batch{randn({32, 64}), Tensor::from(labels, {32})};
  return training({nn::Dense(64, 64, relu), nn::Dense(64, 10)}, cross_entropy_of_labels, [=] { return batch; });
}

Run chapter_step() {
  return training({nn::Dense(512, 2048, relu), nn::Dense(2048, 512, relu), nn::Dense(512, 1)}, l2_loss, [] {
    return Batch{randn({1024, 512}), ones({1024, 1})};
  });
}

Run replayed(const Run& step) {
  const auto graph = std::make_shared<LaunchGraph>("training step");
  return [=](int units) {
    for (int i = 0; i < units; ++i) (*graph)([&] { step(1); });
  };
}

std::function<Run()> in_mode(MathMode mode, std::function<Run()> prepare) {
  return [=] {
    set_math_mode(mode);
    return prepare();
  };
}

Run products() {
  return [](int units) {
    const Inference inference;
    for (int i = 0; i < units; ++i) {
      const Tensor a = randn({1000, 1000});
      matmul(a, a);
    }
  };
}

Run normal_numbers() {
  return [](int units) {
    for (int i = 0; i < units; ++i) randn({1000, 1000});
  };
}

template <class Optimizer, class Options>
Run update(Options options) {
  const Tensor parameter = asyncgrad::parameter(randn({10'000'000}));
  sum(parameter * randn({10'000'000})).backward();
  const auto optimizer = std::make_shared<Optimizer>(std::vector<Tensor>{parameter}, options);
  return [=](int units) {
    for (int i = 0; i < units; ++i) optimizer->step();
  };
}

Run sgd_momentum() { return update<optim::SGD>(optim::SGDOptions{.lr = 0.01, .momentum = 0.9}); }
Run adam() { return update<optim::Adam>(optim::AdamOptions{}); }

template <std::int64_t N>
Run product() {
  return [x = randn({N, N}), w = randn({N, N})](int units) {
    const Inference inference;
    for (int i = 0; i < units; ++i) matmul(x, w);
  };
}

}  // namespace
}  // namespace asyncgrad::benchmarks

int main(int argc, char** argv) {
  using namespace asyncgrad::benchmarks;
  using asyncgrad::MathMode;
  const auto chapter_step_graph = [] { return replayed(chapter_step()); };
  Workloads workloads = trials();
  workloads.merge(Workloads{{"increments_async", increments_async},
                            {"increments_sync", increments_sync},
                            {"tiny_mlp_step", tiny_mlp_step},
                            {"small_mlp_step", small_mlp_step},
                            {"chapter_step", chapter_step},
                            {"chapter_step_graph", chapter_step_graph},
                            {"chapter_step_tf32", in_mode(MathMode::tf32, chapter_step)},
                            {"chapter_step_tf32_graph", in_mode(MathMode::tf32, chapter_step_graph)},
                            {"chapter_step_bf16", in_mode(MathMode::bf16, chapter_step)},
                            {"randn", normal_numbers},
                            {"sgd_momentum", sgd_momentum},
                            {"adam", adam},
                            {"product_64", product<64>},
                            {"product_256", product<256>},
                            {"product_1000", product<1000>},
                            {"product_4000", product<4000>},
                            {"products", products},
                            {"products_queued", products}});
  return do_workload(argc, argv,
                     {.version = ASYNCGRAD_VERSION,
                      .use_device = [](const char* name) { asyncgrad::set_default_device(name); },
                      .wait = asyncgrad::wait_all},
                     workloads);
}
