// Trains an encoder and a decoder with attention to sort sequences of digits, with barriers and without, and tests them
// on sequences that they have not seen.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <tuple>
#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "asyncgrad/experiment.h"
#include "examples/support/print.h"

namespace ag = asyncgrad;

constexpr std::int64_t digits = 10, begin = 10, end = 11, tokens = 12;

struct Settings : ag::experiment::Settings {
  Settings() : ag::experiment::Settings{.batches = 1000, .batch_size = 128} {}
  double lr = 0.004;  // at first; it falls to 0 along a cosine
  std::int64_t hidden = 128, longest = 8;
  void options(ag::experiment::Options& o) {
    o("lr", lr, "Learning rate at first");
    o("hidden", hidden, "Features of a token and of the states");
    o("longest", longest, "The most digits of a sequence");
  }
};

// Random sequences without end. Each tenth of all possible ones is held out.
struct Sequences {
  std::int64_t longest;
  bool are_held_out;

  std::int64_t size() const { return std::numeric_limits<std::int64_t>::max(); }
  // A sequence, the same one sorted, both with ends up to longest + 1, and the number of its digits.
  auto item(std::int64_t, ag::data::Random& random) const {
    std::vector<std::int64_t> source;
    do {
      source.resize(1 + random() % static_cast<std::uint64_t>(longest));
      for (std::int64_t& digit : source) digit = static_cast<std::int64_t>(random() % digits);
    } while (is_held_out(source) != are_held_out);
    const std::int64_t length = std::ssize(source);
    std::vector<std::int64_t> target = source;
    std::ranges::sort(target);
    for (auto* const sequence : {&source, &target}) sequence->resize(static_cast<std::size_t>(longest + 1), end);
    return std::tuple(source, target, length);
  }
  static bool is_held_out(const std::vector<std::int64_t>& source) {
    std::uint64_t hash = 0;
    for (const std::int64_t digit : source) hash = ag::data::split_mix(hash + static_cast<std::uint64_t>(digit));
    return hash % 10 == 0;
  }
};

struct Batch {
  ag::Tensor source, target, lengths;  // (N, T), (N, T) and (N) in int64

  // Which of a sequence's tokens count: its digits and, for `with_end`, the end after them. (N, T) of bool.
  ag::Tensor mask(bool with_end) const {
    const ag::Tensor place = ag::arange(0, source.size(1), 1, {.dtype = ag::int64});
    return place < ag::unsqueeze(lengths, 1) + (with_end ? 1 : 0);
  }
};

using Batches = ag::data::Batches<Sequences>;

Batches batches_of(const Sequences& sequences, std::int64_t batch_size, std::uint64_t seed) {
  return Batches(sequences, {.batch_size = batch_size, .shuffled = false, .seed = seed});
}

Batch next(Batches& batches) {
  const std::vector<ag::Tensor> batch = *batches.next();
  return {.source = batch[0], .target = batch[1], .lengths = batch[2]};
}

// Luong et al. 2015, "Effective approaches to attention-based neural machine translation": the decoder's states attend
// to those of the encoder.
struct Model {
  explicit Model(std::int64_t hidden)
      : embedding(tokens, hidden),
        encoder(hidden, hidden),
        decoder(hidden, hidden),
        out{ag::nn::Dense(2 * hidden, hidden, ag::tanh), ag::nn::Dense(hidden, tokens)} {}

  struct Memory {
    ag::Tensor encoded;  // (N, T, C)
    ag::Tensor mask;     // (N, 1, T): the digits that may be seen
    ag::Tensor state;    // of the decoder, (1, N, C)
  };
  Memory encode(const Batch& batch) const {
    const ag::nn::RecurrentResult result = encoder.run(embedded(batch.source), {.lengths = batch.lengths});
    return {.encoded = ag::permute(result.output, {1, 0, 2}),
            .mask = ag::unsqueeze(batch.mask(false), 1),
            .state = result.h};
  }
  // The tokens so far (N, S) -> scores of the token after each, (N, S, K). The decoder's state goes on.
  ag::Tensor decode(const ag::Tensor& so_far, Memory& memory) const {
    const ag::nn::RecurrentResult result = decoder.run(embedded(so_far), {.h = memory.state});
    memory.state = result.h;
    const ag::Tensor states = ag::permute(result.output, {1, 0, 2});
    const ag::Tensor seen =
        ag::scaled_dot_product_attention(states, memory.encoded, memory.encoded, {.mask = memory.mask});
    return out(ag::concat({states, seen}, 2));
  }
  void members(ag::nn::Members& m) {
    m("embedding", embedding);
    m("encoder", encoder);
    m("decoder", decoder);
    m("out", out);
  }

  ag::nn::Embedding embedding;
  ag::nn::GRU encoder, decoder;
  ag::nn::Sequential out;

 private:
  ag::Tensor embedded(const ag::Tensor& sequences) const { return embedding(sequences.transpose()); }  // (T, N, C)
};

struct Training {
  Settings settings;
  Batches batches =
      batches_of({.longest = settings.longest, .are_held_out = false}, settings.batch_size, settings.seed);
  Model model{settings.hidden};
  ag::optim::Adam adam{ag::nn::parameters(model), {.lr = settings.lr}};
  ag::optim::Schedule schedule{adam, ag::optim::cosine(settings.batches)};

  void members(ag::nn::Members& m) {
    m("batches", batches);
    m("model", model);
    m("adam", adam);
    m("schedule", schedule);
  }
};

Training make(const Settings& settings) { return {settings}; }

ag::Tensor first_tokens(std::int64_t count) { return ag::full({count, 1}, begin, {.dtype = ag::int64}); }

ag::Tensor step(Training& t) {
  const Batch batch = next(t.batches);
  const std::int64_t count = batch.target.size(0), length = batch.target.size(1);
  Model::Memory memory = t.model.encode(batch);
  const ag::Tensor so_far = ag::concat({first_tokens(count), ag::slice(batch.target, 1, 0, length - 1)}, 1);
  const ag::Tensor scores = t.model.decode(so_far, memory);  // the decoder is told the right tokens so far
  const ag::Tensor losses = ag::nn::softmax_cross_entropy(scores.reshape({-1, tokens}), batch.target.reshape({-1}));
  const ag::Tensor mask = batch.mask(true).reshape({-1});
  ag::Tensor loss = ag::sum(losses * mask) / ag::sum(mask.to(ag::float32));  // queued, as all that follows
  loss.backward();
  ag::optim::clip_norm(ag::nn::parameters(t.model), 1);
  t.adam.step();
  t.adam.zero_grad();
  t.schedule.step();
  return loss;
}

// The decoder goes on from its own tokens. A sequence is right if each of its tokens is, and its end.
void report(const Training& t) {
  const ag::Inference inference;
  Batches held_out = batches_of({.longest = t.settings.longest, .are_held_out = true}, 1000, t.settings.seed);
  const Batch batch = next(held_out);
  Model::Memory memory = t.model.encode(batch);
  std::vector<ag::Tensor> answers{first_tokens(batch.source.size(0))};
  for (std::int64_t i = 0; i < batch.target.size(1); ++i) {
    answers.push_back(ag::argmax(t.model.decode(answers.back(), memory), 2));
  }
  answers.erase(answers.begin());
  const ag::Tensor is_right = ag::all((ag::concat(answers, 1) == batch.target) | !batch.mask(true), 1);
  support::print("it sorts {:.2f} % of the sequences held out\n", 100 * ag::mean(is_right).item());
}

int main(int argc, char** argv) { return ag::experiment::main(argc, argv, make, step, report); }
