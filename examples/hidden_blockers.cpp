// Printing and conversions are barriers, too, and many small ones cost more than the computation.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "examples/support/demo.h"

namespace ag = asyncgrad;
using support::seconds_text;

void show_each(support::Demo& demo) {
  const std::int64_t size = demo.size({.small = 200, .usual = 1000, .book = 1000});
  const ag::Tensor a = ag::randn({size, size});
  ag::matmul(a, a).wait();  // warm up

  const double queued_s = demo.benchmark("queued alone", [&] { ag::matmul(a, a); });
  const double printed_s = demo.benchmark("printing: str()", [&] { const std::string text = ag::matmul(a, a).str(); });
  const double vector_s =
      demo.benchmark("conversion: to_vector()", [&] { const auto values = ag::matmul(a, a).to_vector<float>(); });
  const double scalar_s = demo.benchmark("a scalar: sum(b).item()", [&] { ag::sum(ag::matmul(a, a)).item(); });
  const double least_s = std::min({printed_s, vector_s, scalar_s});
  demo.claim(least_s > 10 * queued_s,
             fmt::format("Each of the three waits for the product: {} at least, where queueing takes {}.",
                         seconds_text(least_s), seconds_text(queued_s)),
             {{"queued_s", queued_s}, {"str_s", printed_s}, {"to_vector_s", vector_s}, {"item_s", scalar_s}});
}

// Compares a loop that reads the value of every step at once with one that reads all values at the end.
void show_many(support::Demo& demo) {
  const std::int64_t steps = demo.size({.small = 20, .usual = 2000, .book = 2000});
  const ag::Tensor x = ag::randn({32, 64}), w = ag::randn({64, 64});
  const auto step = [&](std::int64_t i) { return ag::sum(ag::tanh(ag::matmul(x, w) * (1.0 / (1 + i)))); };

  std::vector<double> at_once(static_cast<std::size_t>(steps)), at_end = at_once;
  const double at_once_s = demo.benchmark("item() at every step", [&] {
    for (std::size_t i = 0; i < at_once.size(); ++i) at_once[i] = step(i).item();
  });
  const auto look_at_end = [&] {
    std::vector<ag::Tensor> sums;
    for (std::size_t i = 0; i < at_end.size(); ++i) sums.push_back(step(i));
    for (std::size_t i = 0; i < at_end.size(); ++i) at_end[i] = sums[i].item();
  };
  const double at_end_s = demo.benchmark("item() after the last step", look_at_end);

  demo.claim(
      at_end_s < 0.9 * at_once_s,
      fmt::format("The loop of {} small steps takes {:.2f} times as long if it reads each value at once: {} and {}.",
                  steps, at_once_s / at_end_s, seconds_text(at_once_s), seconds_text(at_end_s)),
      {{"steps", steps}, {"at_every_step_s", at_once_s}, {"after_the_last_s", at_end_s}});
  demo.claim(at_once == at_end, "Both loops computed the same values, bit for bit.", {{"values", steps}},
             support::About::values);
  demo.timeline("Twenty small steps: item() at each, then after the last", [&] {
    for (std::size_t i = 0; i < 20; ++i) step(i).item();
    std::vector<ag::Tensor> sums;
    for (std::size_t i = 0; i < 20; ++i) sums.push_back(step(i));
    ag::wait_all();
  });
}

void show(support::Demo& demo) {
  show_each(demo);
  show_many(demo);
}

int main(int argc, char** argv) { return support::demonstrate(argc, argv, show); }
