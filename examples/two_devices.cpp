// Fifty products on one device, on another, and on both: nothing but a barrier decides whether they run together.
#include <fmt/format.h>

#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "examples/support/demo.h"

namespace ag = asyncgrad;
using support::seconds_text;

std::vector<ag::Tensor> run(const ag::Tensor& x) {
  std::vector<ag::Tensor> products;
  for (int i = 0; i < 50; ++i) products.push_back(ag::matmul(x, x));
  return products;
}

void show(support::Demo& demo) {
  ag::EngineOptions options = ag::engine_options();
  options.cpu_parts = 2;  // two devices, cpu:0 and cpu:1, with half of the workers each
  ag::set_engine_options(options);

  const std::int64_t size = demo.size({.small = 100, .usual = 800, .book = 4000});
  const ag::Tensor x0 = ag::uniform({size, size}, 0, 1, {.device = "cpu:0"});
  const ag::Tensor x1 = ag::uniform({size, size}, 0, 1, {.device = "cpu:1"});
  run(x0);  // warm up both devices
  run(x1);

  const double first_s = demo.benchmark("cpu:0", [&] {
    run(x0);
    ag::wait_all();
  });
  const double second_s = demo.benchmark("cpu:1", [&] {
    run(x1);
    ag::wait_all();
  });
  const auto both = [&] {
    run(x0);
    run(x1);
    ag::wait_all();
  };
  const double both_s = demo.benchmark("cpu:0 and cpu:1", both);

  const double share = both_s / (first_s + second_s);
  demo.claim(share < 0.9,
             fmt::format("Both together take less than the sum of their parts: {} of {}, a share of {:.2f}.",
                         seconds_text(both_s), seconds_text(first_s + second_s), share),
             {{"first_s", first_s}, {"second_s", second_s}, {"both_s", both_s}, {"share", share}});
  demo.timeline("Fifty products on each of two devices", both);
}

int main(int argc, char** argv) { return support::demonstrate(argc, argv, show); }
