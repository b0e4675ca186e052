#include "asyncgrad/core/random.h"

#include <atomic>
#include <thread>
#include <utility>

#include "asyncgrad/core/error.h"
#include "asyncgrad/core/random_tape.h"
#include "asyncgrad/core/shared_generator.h"
#include "asyncgrad/core/split_mix.h"

namespace asyncgrad {

namespace {

constinit thread_local Generator* generator_of_thread = nullptr;  // of the innermost scope
constinit bool any_thread_may_draw = false;                       // is set before there are threads that read it
constinit std::atomic<int> rank_of_process{0};                    // relaxed: a setting

Generator& generator_of_process() {
  static Generator generator;
  return generator;
}

std::uint64_t advance(std::uint64_t& next_block, std::uint64_t words) {
  return std::exchange(next_block, next_block + (words + 3) / 4);
}

}  // namespace

std::uint64_t Generator::take(std::uint64_t words) {
  using Tape = detail::RandomTape;
  if (!Tape::is_in_use()) return advance(next_block_, words);
  const std::uint64_t key = detail::key_of(*this);
  if (!Tape::is_replayed()) return Tape::take(key, next_block_, words).first_block;
  const Tape::Taken again = Tape::take_again(words);
  if (again.key != key) throw_error("random", "the generator of what is computed again was seeded in between");
  return again.first_block;
}

namespace detail {

void share_default_generator() { any_thread_may_draw = true; }

void set_rank_of_default_generator(int rank) { rank_of_process.store(rank, std::memory_order_relaxed); }

std::uint64_t key_of(const Generator& generator) {
  const int rank = rank_of_process.load(std::memory_order_relaxed);
  if (rank == 0 || &generator != &generator_of_process()) return generator.seed();
  return mixed_key(generator.seed(), static_cast<std::uint64_t>(rank), KeyPurpose::rank);
}

TakenNumbers take_numbers(Generator* generator, std::uint64_t words) {
  if (RandomTape::is_replayed()) {
    const RandomTape::Taken again = RandomTape::take_again(words);
    return {again.key, again.first_block};
  }
  Generator& from = generator != nullptr ? *generator : default_generator();
  const std::uint64_t first = from.take(words);
  return {key_of(from), first};
}

RandomTape::Recording::Recording(RandomTape& tape) : tape_(tape), outer_(std::exchange(recording_, this)) {}
RandomTape::Recording::~Recording() { recording_ = outer_; }

RandomTape::Replay::Replay(const RandomTape& tape)
    : tape_(tape), outer_(std::exchange(replay_, this)), outer_recording_(std::exchange(recording_, nullptr)) {}
RandomTape::Replay::~Replay() {
  replay_ = outer_;
  recording_ = outer_recording_;
}

void RandomTape::Replay::check_end() const {
  if (next_ == tape_.taken_.size()) return;
  throw_error("random", "the second computation takes fewer random numbers than the first one");
}

RandomTape::Taken RandomTape::take(std::uint64_t key, std::uint64_t& next_block, std::uint64_t words) {
  return noted({key, advance(next_block, words), words});
}

RandomTape::Taken RandomTape::take_again(std::uint64_t words) {
  const std::vector<Taken>& tape = replay_->tape_.taken_;
  if (replay_->next_ == tape.size() || tape[replay_->next_].words != words) {
    throw_error("random", "what is computed again takes other random numbers than the first time");
  }
  return noted(tape[replay_->next_++]);
}

RandomTape::Taken RandomTape::noted(const Taken& taken) {
  for (const Recording* scope = recording_; scope != nullptr; scope = scope->outer_) {
    scope->tape_.taken_.push_back(taken);
  }
  return taken;
}

}  // namespace detail

GeneratorScope::GeneratorScope(Generator& generator) : outer_(std::exchange(generator_of_thread, &generator)) {}
GeneratorScope::~GeneratorScope() { generator_of_thread = outer_; }

Generator& default_generator() {
  if (generator_of_thread != nullptr) return *generator_of_thread;
  static const std::thread::id owner = std::this_thread::get_id();
  if (!any_thread_may_draw && std::this_thread::get_id() != owner) {
    throw_error(
        "random",
        "the default generator belongs to the first thread that used it; pass a Generator of this thread's own, "
        "or make a GeneratorScope with one");
  }
  return generator_of_process();
}

void manual_seed(std::uint64_t seed) { default_generator() = Generator(seed); }

}  // namespace asyncgrad
