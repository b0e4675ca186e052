#include "examples/support/numpy_products.h"

#include <charconv>
#include <string>

#include "asyncgrad/experiment/process.h"

namespace support {

using asyncgrad::experiment::Outcome;
using asyncgrad::experiment::run_process;

namespace {

constexpr const char* program = R"(
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

}  // namespace

std::optional<double> numpy_products_s(std::int64_t size, int repeat) {
  // -I: a numpy.py in the current folder is not numpy.
  const Outcome outcome =
      run_process({.arguments = {"python3", "-I", "-c", program, std::to_string(size), std::to_string(repeat)}});
  double seconds = 0;
  const std::string& text = outcome.output;
  const bool is_number = std::from_chars(text.data(), text.data() + text.size(), seconds).ec == std::errc();
  return outcome.good() && is_number ? std::optional<double>(seconds) : std::nullopt;
}

}  // namespace support
