// Trains the model of examples/gpt.cpp without dropout from given values on given batches, for gpt_reference.py. Prints
// the loss of each step, then the milliseconds that a step took, one number a line.
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "examples/support/gpt.h"
#include "examples/support/print.h"

namespace ag = asyncgrad;

namespace {

struct Batches {
  ag::Tensor indices;  // (steps, samples, context + 1)
  void members(ag::nn::Members& m) { m("indices", indices); }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    support::print("usage: gpt_losses START BATCHES CHARACTERS STEPS SAMPLES\n");
    return 2;
  }
  const std::int64_t characters = std::atoll(argv[3]), steps = std::atoll(argv[4]), samples = std::atoll(argv[5]);
  const std::int64_t context = gpt::Sizes().context;
  gpt::Model model(characters, 0);
  ag::nn::load(argv[1], model);
  Batches batches{ag::zeros({steps, samples, context + 1}, {.dtype = ag::int64})};
  ag::nn::load(argv[2], batches);
  ag::optim::AdamW adam(ag::nn::parameters(model), {.lr = 0.001});
  std::vector<ag::Tensor> losses;
  std::chrono::steady_clock::time_point start;
  for (std::int64_t step = 0; step < steps; ++step) {
    if (step == 1) {  // the first step takes memory once
      ag::wait_all();
      start = std::chrono::steady_clock::now();
    }
    const ag::Tensor batch = batches.indices[step];
    const ag::Tensor loss = gpt::loss(model, slice(batch, 1, 0, context), slice(batch, 1, 1, context + 1));
    adam.zero_grad();
    loss.backward();
    adam.step();
    losses.push_back(loss.detach());
  }
  ag::wait_all();
  const double elapsed_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  for (const ag::Tensor& loss : losses) support::print("{}\n", loss.item());
  support::print("{}\n", 1e3 * elapsed_s / static_cast<double>(steps - 1));
}
