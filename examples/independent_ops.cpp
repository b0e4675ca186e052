// Independent products of many sizes on one device: are they computed in parallel, and where does that help?
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "examples/support/demo.h"

namespace ag = asyncgrad;

void use_workers(int workers) {
  ag::EngineOptions options = ag::engine_options();
  options.workers = workers;
  ag::set_engine_options(options);
}

// The speed of all workers relative to one worker, for products that can run together and for a chain of products.
struct Gain {
  std::int64_t size;
  double independent, chain;
};

Gain measure(support::Demo& demo, std::int64_t size, int workers) {
  const double operations = 2.0 * std::pow(static_cast<double>(size), 3);
  const double budget =
      static_cast<double>(demo.size({.small = 1'000'000, .usual = 3'000'000'000, .book = 10'000'000'000}));
  const int count = static_cast<int>(std::clamp(budget / operations, 10.0, 5000.0));
  const ag::Tensor x = ag::randn({size, size}) * (1 / std::sqrt(static_cast<double>(size)));

  const auto independent = [&] {
    for (int i = 0; i < count; ++i) ag::matmul(x, x);
    ag::wait_all();
  };
  const auto chain = [&] {
    ag::Tensor y = x;
    for (int i = 0; i < count; ++i) y = ag::matmul(y, x);
    ag::wait_all();
  };
  use_workers(1);
  const double independent_s = demo.shortest_s(independent), chain_s = demo.shortest_s(chain);
  use_workers(workers);
  const Gain gain{size, independent_s / demo.shortest_s(independent), chain_s / demo.shortest_s(chain)};
  demo.print(fmt::format("{:>5} {:>12.2f} {:>10.2f}", size, gain.independent, gain.chain));
  return gain;
}

void show(support::Demo& demo) {
  const int workers = ag::engine_options().workers;
  demo.print(fmt::format("{} workers over one\n{:>5} {:>12} {:>10}", workers, "size", "independent", "a chain"));
  std::vector<Gain> gains;
  for (const std::int64_t size : {16, 32, 64, 96, 128, 192, 256, 512, 1024}) {
    if (size <= demo.size({.small = 64, .usual = 1024, .book = 1024})) gains.push_back(measure(demo, size, workers));
  }

  support::Chart chart{.title = fmt::format("{} workers over one", workers),
                       .x_label = "rows and columns of each matrix",
                       .y_label = "times as fast",
                       .series = {{"independent products", {}}, {"a chain of products", {}}},
                       .log_x = true};
  support::Json figures = support::Json::array();
  for (const Gain& gain : gains) {
    const double size = static_cast<double>(gain.size);
    chart.series[0].points.emplace_back(size, gain.independent);
    chart.series[1].points.emplace_back(size, gain.chain);
    figures.push_back({{"size", gain.size}, {"independent", gain.independent}, {"chain", gain.chain}});
  }
  const Gain most =
      *std::ranges::max_element(gains, {}, [](const Gain& gain) { return gain.independent - gain.chain; });
  demo.claim(most.independent > 1.2 * most.chain,
             fmt::format("The products of `run` are computed in parallel because they are independent: at {0} times {0}"
                         ", {1} workers are {2:.2f} times as fast as one, and {3:.2f} times for a chain.",
                         most.size, workers, most.independent, most.chain),
             {{"workers", workers}, {"gains", figures}});
  std::vector<std::int64_t> helped;
  for (const Gain& gain : gains) {
    if (gain.independent > 1.2 * gain.chain) helped.push_back(gain.size);
  }
  demo.claim(
      !helped.empty(),
      fmt::format("On one device that helps at sizes {}: smaller products are computed as fast as they are handed "
                  "over, and the workers share each larger one.",
                  fmt::join(helped, ", ")),
      {{"sizes", helped}});
  const Gain best = *std::ranges::max_element(gains, {}, [](const Gain& gain) { return gain.independent; });
  demo.claim(best.independent >= 1.7,
             fmt::format("The best gain is above 1.7: {:.2f}, at {} times {}.", best.independent, best.size, best.size),
             {{"size", best.size}, {"gain", best.independent}});
  demo.chart(chart);
  const ag::Tensor x = ag::randn({64, 64});
  demo.trace([&] {
    for (int i = 0; i < 50; ++i) ag::matmul(x, x);
    ag::wait_all();
  });
}

int main(int argc, char** argv) { return support::demonstrate(argc, argv, show); }
