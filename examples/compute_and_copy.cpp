// Fifty products, then copies of them over a simulated link, then both at once: how much of the copying is hidden.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
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

// A copy takes somewhat less time than a product, as over the bus of a GPU.
constexpr std::int64_t link_bytes_per_second = 500'000'000;

// Holds y up for the time that the link takes. Asleep, its device's thread takes no core from the products.
void hold_up(const ag::Tensor& y) {
  const std::chrono::duration<double> time(static_cast<double>(4 * y.numel()) / link_bytes_per_second);
  ag::custom_many("link", {}, {y}, [time](const ag::CustomCall&) { std::this_thread::sleep_for(time); },
                  {.cost = 1'000'000, .in_place = {0}});
}

std::vector<ag::Tensor> copy_to(ag::Device device, const std::vector<ag::Tensor>& products) {
  std::vector<ag::Tensor> copies;
  for (const ag::Tensor& y : products) {
    copies.push_back(y.to(device));
    hold_up(copies.back());
  }
  return copies;
}

void show(support::Demo& demo) {
  ag::EngineOptions options = ag::engine_options();
  options.cpu_parts = 2;  // two devices with memory of their own
  ag::set_engine_options(options);
  demo.print(fmt::format(
      "Simulated: cpu:0 and cpu:1 are parts of the CPU, and copies from one to the other are held up as by a "
      "link of {} MB/s.",
      link_bytes_per_second / 1'000'000));
  const std::int64_t size = demo.size({.small = 100, .usual = 800, .book = 4000});
  const ag::Tensor x = ag::uniform({size, size});

  copy_to("cpu:1", run(x));  // warm up
  std::vector<ag::Tensor> products;
  const double compute_s = demo.benchmark("run on cpu:0", [&] {
    products = run(x);
    ag::wait_all();
  });
  const double copy_s = demo.benchmark("copy to cpu:1, simulated link", [&] {
    copy_to("cpu:1", products);
    ag::wait_all();
  });
  products.clear();
  const auto both = [&] {
    copy_to("cpu:1", run(x));
    ag::wait_all();
  };
  const double both_s = demo.benchmark("run on cpu:0 and copy to cpu:1, simulated link", both);

  const double sum_s = compute_s + copy_s, longer_s = std::max(compute_s, copy_s);
  const double hidden = std::clamp((sum_s - both_s) / std::min(compute_s, copy_s), 0.0, 1.0);
  demo.claim(both_s <= 1.1 * longer_s,
             fmt::format(
                 "Over the simulated link of {} MB/s a product is copied while the next one is computed: both at once "
                 "take {} instead of {}, {:.2f} times the longer part; {:.0f} % of the shorter part were hidden behind "
                 "it.",
                 link_bytes_per_second / 1'000'000, seconds_text(both_s), seconds_text(sum_s), both_s / longer_s,
                 100 * hidden),
             {{"simulated_link_bytes_per_second", link_bytes_per_second},
              {"compute_s", compute_s},
              {"copy_s", copy_s},
              {"both_s", both_s},
              {"times_the_longer", both_s / longer_s},
              {"hidden_share", hidden}});
  demo.timeline(fmt::format("Fifty products on cpu:0, each copied to cpu:1 over a simulated link of {} MB/s",
                            link_bytes_per_second / 1'000'000),
                both);
}

int main(int argc, char** argv) { return support::demonstrate(argc, argv, show); }
