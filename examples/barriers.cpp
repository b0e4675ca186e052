// Waiting for everything, and waiting for one tensor: the same for one operation, not for many.
#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "examples/support/demo.h"

namespace ag = asyncgrad;
using support::seconds_text;

void show(support::Demo& demo) {
  const std::int64_t size = demo.size({.small = 200, .usual = 1000, .book = 1000});
  const ag::Tensor a = ag::randn({size, size});
  ag::matmul(a, a).wait();  // warm up

  const double all_s = demo.benchmark("wait_all()", [&] {
    const ag::Tensor b = ag::matmul(a, a);
    ag::wait_all();
  });
  const double one_s = demo.benchmark("b.wait()", [&] {
    const ag::Tensor b = ag::matmul(a, a);
    b.wait();
  });
  demo.claim(std::abs(one_s / all_s - 1) < 0.25,
             fmt::format("With nothing else queued both take about the same time: {} and {}.", seconds_text(all_s),
                         seconds_text(one_s)),
             {{"wait_all_s", all_s}, {"wait_s", one_s}});

  // The exercise queues several operations and waits for an intermediate result.
  const auto ten_products = [&] {
    std::vector<ag::Tensor> products;
    for (int i = 0; i < 10; ++i) products.push_back(ag::matmul(a, a));
    return products;
  };
  const double ten_s = demo.benchmark("ten products, wait_all()", [&] {
    const auto products = ten_products();
    ag::wait_all();
  });
  const double third_s = demo.benchmark("ten products, the third one's wait()", [&] {
    const auto products = ten_products();
    products[2].wait();
  });
  demo.claim(third_s < 0.6 * ten_s,
             fmt::format("Waiting for the third of ten takes less than waiting for all: {} of {}. The others go on "
                         "in the background.",
                         seconds_text(third_s), seconds_text(ten_s)),
             {{"third_s", third_s}, {"wait_all_s", ten_s}});
  demo.timeline("Ten products, the third waited for, then all", [&] {
    const auto products = ten_products();
    products[2].wait();
    ag::wait_all();
  });
}

int main(int argc, char** argv) { return support::demonstrate(argc, argv, show); }
