// Fifty products, then copies of them to another device, then both at once: what of the copying is hidden.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "asyncgrad/examples/support/demo.h"
#include "asyncgrad/examples/support/results.h"

namespace ag = asyncgrad;
using support::seconds_text;

// x (N, K) -> fifty of (N, N). The book multiplies square matrices; with a K as small as this, a product takes about
// as long as its copy, and something can be seen.
std::vector<ag::Tensor> run(const ag::Tensor& x, const ag::Tensor& transposed) {
  std::vector<ag::Tensor> products;
  for (int i = 0; i < 50; ++i) products.push_back(ag::matmul(x, transposed));
  return products;
}

std::vector<ag::Tensor> copy_to(ag::Device device, const std::vector<ag::Tensor>& products) {
  std::vector<ag::Tensor> copies;
  for (const ag::Tensor& y : products) copies.push_back(y.to(device));
  return copies;
}

void show(support::Demo& demo) {
  // The CPU in two parts. A copy between them is one of memory, by a thread of its own: no bus bounds it, but it
  // shares the memory with the worker that computes.
  ag::EngineOptions options = ag::engine_options();
  options.cpu_parts = 2;
  ag::set_engine_options(options);
  const std::int64_t rows = demo.size({.small = 100, .usual = 1000, .book = 4000});
  const std::int64_t inner = demo.size({.small = 32, .usual = 48, .book = 4000});
  const ag::Tensor x = ag::randn({rows, inner}), transposed = ag::randn({inner, rows});

  std::vector<ag::Tensor> products = run(x, transposed);
  copy_to("cpu:1", products);  // warm up
  const double compute_s = demo.benchmark("run on cpu:0", [&] {
    products = run(x, transposed);
    ag::wait_all();
  });
  const double copy_s = demo.benchmark("copy to cpu:1", [&] {
    copy_to("cpu:1", products);
    ag::wait_all();
  });
  const auto both = [&] {
    products = run(x, transposed);
    copy_to("cpu:1", products);
    ag::wait_all();
  };
  const double both_s = demo.benchmark("run on cpu:0 and copy to cpu:1", both);

  const double sum_s = compute_s + copy_s;
  const double hidden = std::clamp((sum_s - both_s) / std::min(compute_s, copy_s), 0.0, 1.0);
  demo.claim(
      both_s < 0.9 * sum_s,
      fmt::format("Both at once take less than the sum of their parts, as a product is copied while the next one "
                  "is computed: {} of {}; {:.0f} % of the shorter part were hidden behind the longer.",
                  seconds_text(both_s), seconds_text(sum_s), 100 * hidden),
      {{"compute_s", compute_s}, {"copy_s", copy_s}, {"both_s", both_s}, {"hidden_share", hidden}});
  products.clear();
  demo.timeline("Fifty products on cpu:0, each copied to cpu:1", both);
}

int main(int argc, char** argv) { return support::demonstrate(argc, argv, show); }
