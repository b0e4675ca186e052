// Ten random matrices, each multiplied by itself: how long that takes to queue, and how long to compute.
#include <fmt/format.h>

#include <optional>

#include "asyncgrad/asyncgrad.h"
#include "examples/support/demo.h"
#include "examples/support/numpy_products.h"

namespace ag = asyncgrad;
using support::seconds_text;

void show(support::Demo& demo) {
  const std::int64_t size = demo.size({.small = 200, .usual = 1000, .book = 1000});
  const auto products = [&] {
    for (int i = 0; i < 10; ++i) {
      const ag::Tensor a = ag::randn({size, size});
      const ag::Tensor b = ag::matmul(a, a);
    }
  };
  products();  // the first run takes memory once, which no time should include

  if (const std::optional<double> numpy_s = support::numpy_products_s(size, demo.repeat())) {
    demo.note("numpy, in float64", *numpy_s);
  } else {
    demo.print("numpy: python3 does not have it");
  }

  const double queued_s = demo.benchmark("asyncgrad", products);
  const double computed_s = demo.benchmark("asyncgrad, waited for", [&] {
    products();
    ag::wait_all();
  });

  demo.claim(queued_s < 0.1 * computed_s,
             fmt::format("Queueing takes less than a tenth of the time: {} of {}. The front end goes on while the back "
                         "end computes, on the same processor.",
                         seconds_text(queued_s), seconds_text(computed_s)),
             {{"queued_s", queued_s}, {"computed_s", computed_s}});
  demo.timeline("Ten products, waited for", [&] {
    products();
    ag::wait_all();
  });
}

int main(int argc, char** argv) { return support::demonstrate(argc, argv, show); }
