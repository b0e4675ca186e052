// Ten random matrices, each multiplied by itself: how long that takes to queue, and how long to compute.
#include <fmt/format.h>

#include <cstdio>
#include <optional>
#include <string>

#include "asyncgrad/asyncgrad.h"
#include "examples/support/demo.h"

namespace ag = asyncgrad;
using support::seconds_text;

// The same products in numpy, for comparison.
constexpr const char* numpy_products = R"(
try: import numpy
except ImportError: raise SystemExit
import sys, time
size, repeat = int(sys.argv[1]), int(sys.argv[2])
def products():
    for _ in range(10):
        a = numpy.random.normal(size=(size, size))
        b = numpy.dot(a, a)
times = []
for _ in range(repeat):
    start = time.perf_counter()
    products()
    times.append(time.perf_counter() - start)
print(min(times))
)";

// Their shortest time in seconds; nothing if this machine's python3 has no numpy.
std::optional<double> numpy_products_s(std::int64_t size, int repeat) {
  // -I: a numpy.py in the current folder is not numpy.
  const std::string command = fmt::format("python3 -I -c '{}' {} {}", numpy_products, size, repeat);
  std::FILE* const output = popen(command.c_str(), "r");
  if (output == nullptr) return std::nullopt;
  double seconds = 0;
  const bool is_number = std::fscanf(output, "%lf", &seconds) == 1;
  return pclose(output) == 0 && is_number ? std::optional<double>(seconds) : std::nullopt;
}

void show(support::Demo& demo) {
  const std::int64_t size = demo.size({.small = 200, .usual = 1000, .book = 1000});
  const auto products = [&] {
    for (int i = 0; i < 10; ++i) {
      const ag::Tensor a = ag::randn({size, size});
      const ag::Tensor b = ag::matmul(a, a);
    }
  };
  products();  // the first run takes memory once, which no time should include

  if (const std::optional<double> numpy_s = numpy_products_s(size, demo.repeat())) {
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
