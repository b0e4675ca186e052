// z = x * y + 2: the graph that the back end keeps of it, and when each thread works on it.
#include <fmt/format.h>

#include <iostream>
#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "examples/support/demo.h"

namespace ag = asyncgrad;
using support::seconds_text;

void show(support::Demo& demo) {
  ag::EngineOptions options = ag::engine_options();
  options.inline_tiny = false;  // else such small operations would be computed before the graph is drawn
  ag::set_engine_options(options);

  const ag::Tensor x = ag::ones({1, 2}), y = ag::ones({1, 2});
  const ag::Tensor other = ag::randn({1000, 1000});
  ag::wait_all();
  // Older products keep the workers busy, so that z is not computed yet when the graph is drawn.
  std::vector<ag::Tensor> products;
  for (int i = 0; i < 5; ++i) products.push_back(ag::matmul(other, other));

  ag::experiment::Timer timer;
  const ag::Tensor z = x * y + 2;
  const double queued_s = timer.stop();
  const std::string graph = ag::to_dot(z);
  demo.print(graph);
  const bool multiplied = graph.find("multiply") != std::string::npos, added = graph.find("add") != std::string::npos;
  demo.claim(multiplied && added, "The graph has the operations of the figure: a product, and a sum that waits for it.",
             {{"has_multiply", multiplied}, {"has_add", added}});

  timer.start();
  std::cout << z << '\n';
  const double printed_s = timer.stop();
  demo.claim(queued_s < 0.1 * printed_s,
             fmt::format("The statement returned in {}; printing z waited {} until it was computed, after all that is "
                         "older.",
                         seconds_text(queued_s), seconds_text(printed_s)),
             {{"queued_s", queued_s}, {"printed_s", printed_s}});
  demo.claim(z.to_vector<float>() == std::vector<float>{3, 3}, "z is [[3, 3]].", {{"z", z.to_vector<float>()}},
             support::About::values);

  const std::int64_t side = demo.size({.small = 64, .usual = 2048, .book = 2048});
  demo.timeline(fmt::format("x, y and z = x * y + 2 of {0} times {0}, then z printed", side), [&] {
    const ag::Tensor large_x = ag::ones({side, side}), large_y = ag::ones({side, side});
    const std::string printed = (large_x * large_y + 2).str();
  });
}

int main(int argc, char** argv) { return support::demonstrate(argc, argv, show); }
