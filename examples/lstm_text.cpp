// Trains an LSTM to predict a text character by character, with barriers and without, and prints its perplexity on text
// that it has not seen.
#include <cmath>
#include <string>
#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "asyncgrad/experiment.h"
#include "examples/support/print.h"
#include "examples/support/text_data.h"

namespace ag = asyncgrad;

struct Settings : ag::experiment::Settings {
  Settings() : ag::experiment::Settings{.batches = 300, .batch_size = 32} {}
  double lr = 0.002, max_norm = 1;
  std::int64_t hidden = 256, steps = 32;
  std::string start;
  void options(ag::experiment::Options& o) {
    o("lr", lr, "Learning rate");
    o("max-norm", max_norm, "Gradients that are longer are scaled to this length");
    o("hidden", hidden, "Features of a character and of the LSTM's state");
    o("steps", steps, "Characters of each sequence in a batch");
    o("start", start, "Begin with the parameters in this file");
  }
};

struct Model {
  Model(std::int64_t count, std::int64_t hidden)
      : characters(count, hidden), lstm(hidden, hidden), out(hidden, count) {}

  // Indices (T, N) -> scores of the character that comes next, (T, N, K). The states go on from call to call, but their
  // gradients do not: backpropagation through time is truncated.
  ag::Tensor operator()(const ag::Tensor& indices, ag::nn::RecurrentStart& states) const {
    const ag::nn::RecurrentResult result = lstm.run(characters(indices), states);
    states = {.h = result.h.detach(), .c = result.c.detach()};
    return out(result.output);
  }
  void members(ag::nn::Members& m) {
    m("characters", characters);
    m("lstm", lstm);
    m("out", out);
  }

  ag::nn::Embedding characters;
  ag::nn::LSTM lstm;
  ag::nn::Dense out;
};

// The mean of -log p over the characters of sequences (T + 1, N) after the first.
ag::Tensor loss_of(const Model& model, const ag::Tensor& sequences, ag::nn::RecurrentStart& states) {
  const std::int64_t steps = sequences.size(0) - 1;
  const ag::Tensor scores = model(sequences.slice(0, steps), states), next = sequences.slice(1, steps + 1);
  return ag::mean(ag::nn::softmax_cross_entropy(scores.reshape({next.numel(), -1}), next.reshape({-1})));
}

// The text in `count` parts side by side: (T, count).
ag::Tensor in_parts(const ag::Tensor& text, std::int64_t count) {
  const std::int64_t length = text.numel() / count;
  return text.slice(0, count * length).reshape({count, length}).transpose();
}

struct Training {
  Settings settings;
  text::Text text = text::read(text::default_path(), 2 * settings.batch_size * (settings.steps + 1));
  std::int64_t learned = text.indices.numel() / 50 * 49;  // the characters after them are held out
  ag::Tensor sequences = in_parts(text.indices.slice(0, learned), settings.batch_size);
  Model model{text.characters(), settings.hidden};
  ag::optim::Adam adam{ag::nn::parameters(model), {.lr = settings.lr}};
  ag::nn::RecurrentStart states{};
  std::int64_t place = 0;  // in the sequences, where the next batch begins

  void members(ag::nn::Members& m) {
    m("model", model);
    m("adam", adam);
    m("states", states);
    m("place", place);
  }
};

Training make(const Settings& settings) {
  Training training{settings};
  if (!settings.start.empty()) ag::nn::load(settings.start, training.model);
  return training;
}

ag::Tensor step(Training& t) {
  const std::int64_t steps = t.settings.steps;
  if (t.place + steps >= t.sequences.size(0)) {  // the text begins again
    t.place = 0;
    t.states = {};
  }
  ag::Tensor loss = loss_of(t.model, t.sequences.slice(t.place, t.place + steps + 1), t.states);  // queued
  t.place += steps;
  loss.backward();                                                         // queued
  ag::optim::clip_norm(ag::nn::parameters(t.model), t.settings.max_norm);  // queued
  t.adam.step();                                                           // queued
  t.adam.zero_grad();
  return loss;
}

void report(const Training& t) {
  const ag::Inference inference;
  const ag::Tensor held_out = in_parts(t.text.indices.slice(t.learned, t.text.indices.numel()), 50);
  ag::nn::RecurrentStart states;
  const double loss = loss_of(t.model, held_out, states).item();
  support::print("perplexity {:.4f} on text that it has not seen\n", std::exp(loss));

  states = {};
  const auto scores = [&](const std::vector<std::int64_t>& written) {
    return t.model(ag::Tensor::from({written.back()}, {1, 1}), states).reshape({-1});
  };
  support::print("it writes:\n{}\n", text::write(t.text, scores, 200, t.settings.seed));
}

int main(int argc, char** argv) { return ag::experiment::main(argc, argv, make, step, report); }
