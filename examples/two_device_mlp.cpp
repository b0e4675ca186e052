// Trains a network of two layers on two devices at once: the parameters on one, half of each batch on each.
#include <fmt/format.h>

#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "examples/support/demo.h"

namespace ag = asyncgrad;
using support::seconds_text;

// The program does not say which operation waits for which. It follows from the tensors that each one reads.
std::vector<ag::Tensor> train(std::int64_t batches, std::int64_t batch_size, std::int64_t width,
                              const std::vector<ag::Device>& devices) {
  ag::manual_seed(0);
  const ag::nn::Sequential net{ag::nn::Dense(width, width, ag::relu), ag::nn::Dense(width, 1)};
  ag::optim::SGD sgd(ag::nn::parameters(net), {.lr = 1e-5});
  const std::int64_t part = batch_size / static_cast<std::int64_t>(devices.size());
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    std::vector<ag::Tensor> losses;
    for (const ag::Device device : devices) {
      const ag::Tensor x = ag::randn({part, width}, {.device = device}), y = ag::ones({part, 1}, {.device = device});
      const ag::nn::Sequential replica = ag::nn::replica(net, device);  // copies of the parameters as they are now
      losses.push_back(ag::sum(ag::nn::l2_loss(replica(x), y)));
    }
    ag::reduce_add(losses, "cpu:0").backward();  // adds up the gradients of both parts where the parameters are
    sgd.step();
    sgd.zero_grad();
  }
  ag::wait_all();
  return ag::nn::parameters(net);
}

void show(support::Demo& demo) {
  ag::EngineOptions options = ag::engine_options();
  options.cpu_parts = 2;  // two devices, cpu:0 and cpu:1, with half of the workers each
  ag::set_engine_options(options);

  const std::int64_t batches = demo.size({.small = 3, .usual = 10, .book = 50});
  const std::int64_t batch_size = demo.size({.small = 32, .usual = 2048, .book = 4096});
  const std::int64_t width = demo.size({.small = 32, .usual = 512, .book = 2048});
  std::vector<ag::Tensor> on_one, on_two;
  // Gradients add up from the last part to the first. With cpu:0 last, no gradient of cpu:0 waits for one of cpu:1.
  const double one_s = demo.benchmark("both halves on cpu:0", [&] {
    on_one = train(batches, batch_size, width, {"cpu:0", "cpu:0"});
  });
  const double two_s = demo.benchmark("a half each on cpu:0 and cpu:1", [&] {
    on_two = train(batches, batch_size, width, {"cpu:1", "cpu:0"});
  });

  bool same = true;
  for (std::size_t i = 0; same && i < on_one.size(); ++i) same = support::same_bits(on_one[i], on_two[i]);
  demo.claim(same, "Both ended with the same parameters, bit for bit.",
             {{"tensors", on_one.size()}, {"batches", batches}}, support::About::values);
  demo.claim(one_s > 1.2 * two_s,
             fmt::format("Two devices train {:.2f} times as fast as one of them: {} instead of {}.", one_s / two_s,
                         seconds_text(two_s), seconds_text(one_s)),
             {{"one_device_s", one_s}, {"two_devices_s", two_s}, {"times_as_fast", one_s / two_s}});
  demo.timeline("Two batches on two devices", [&] { train(2, batch_size, width, {"cpu:1", "cpu:0"}); });
}

int main(int argc, char** argv) { return support::demonstrate(argc, argv, show); }
