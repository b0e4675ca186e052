// Towers with shared weights and values that are overwritten: run asynchronously, and still the same bits.
#include <fmt/format.h>

#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "examples/support/demo.h"

namespace ag = asyncgrad;
using support::seconds_text;

// Four towers read the same weight, pass their outputs to their neighbours, and overwrite their own states. Then the
// program overwrites the weight, after its last reader. Only the order of the statements says which operation is first.
std::vector<ag::Tensor> towers(std::int64_t size, std::int64_t steps) {
  ag::manual_seed(0);
  ag::Tensor weight = ag::randn({size, size}) * 0.05;
  std::vector<ag::Tensor> states;
  for (int tower = 0; tower < 4; ++tower) states.push_back(ag::randn({size, size}));

  for (std::int64_t step = 0; step < steps; ++step) {
    std::vector<ag::Tensor> outputs;
    for (const ag::Tensor& state : states) outputs.push_back(ag::tanh(ag::matmul(state, weight)));
    for (std::size_t tower = 0; tower < states.size(); ++tower) {
      states[tower] *= 0.5;
      states[tower] += outputs[(tower + 1) % outputs.size()];  // the output of a neighbour
    }
    weight += ag::matmul(outputs[0], outputs[1]) * 1e-4;
    states[3].copy_(outputs[2] - states[0]);
  }
  states.push_back(weight);
  return states;
}

void show(support::Demo& demo) {
  const std::int64_t size = demo.size({.small = 32, .usual = 128, .book = 128});
  const std::int64_t steps = demo.size({.small = 10, .usual = 200, .book = 200});
  std::vector<ag::Tensor> serial, parallel;

  ag::EngineOptions options = ag::engine_options();
  options.schedule = ag::Schedule::immediate;  // every operation is finished before the next is queued
  ag::set_engine_options(options);
  const double serial_s = demo.benchmark("one after the other", [&] { serial = towers(size, steps); });
  options.schedule = ag::Schedule::oldest_first;
  ag::set_engine_options(options);
  const double parallel_s = demo.benchmark("asynchronous", [&] {
    parallel = towers(size, steps);
    ag::wait_all();
  });

  bool same = serial.size() == parallel.size();
  for (std::size_t i = 0; same && i < serial.size(); ++i) same = support::same_bits(serial[i], parallel[i]);
  demo.claim(same, "Both ended with the same states and the same weight, bit for bit.",
             {{"tensors", serial.size()}, {"elements_of_each", size * size}}, support::About::values);
  demo.claim(parallel_s < 0.9 * serial_s,
             fmt::format("The asynchronous run was {:.2f} times as fast: {} instead of {}.", serial_s / parallel_s,
                         seconds_text(parallel_s), seconds_text(serial_s)),
             {{"serial_s", serial_s}, {"asynchronous_s", parallel_s}, {"workers", options.workers}});
  demo.timeline("Ten steps of four towers", [&] {
    towers(size, 10);
    ag::wait_all();
  });
}

int main(int argc, char** argv) { return support::demonstrate(argc, argv, show); }
