#include "tests/backends/cuda/emulator/emulator.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <map>
#include <mutex>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "tests/backends/cuda/emulator/device_words.h"
#include "tests/backends/cuda/emulator/fiber.h"
#include "tests/support/fake_stream.h"

namespace asyncgrad::tests::emulator {

namespace {

constexpr unsigned lanes = 32, max_threads = 1024;

unsigned seed() {
  const char* const text = std::getenv("EMULATOR_SEED");
  return text != nullptr ? static_cast<unsigned>(std::strtoul(text, nullptr, 10)) : 1;
}

enum class State { fresh, ready, at_block, at_warp, ended };

// What a thread of the block is to the thread sanitizer.
struct Identity {
  void* handle = make_identity();
  bool is_taken = false;  // by a thread that has begun and not ended
  bool is_used = false;   // by a thread of this block
};

// A thread of the block.
struct Thread {
  Fiber fiber;
  State state = State::ended;
  // Where it waits, for which lanes, and whose word it gets there.
  Location place;
  unsigned mask = 0, word = 0, from = 0;
  // The numbers of barriers it has met. Two places take turns, as a thread that leaves a barrier late must not follow
  // what others did after it.
  unsigned block_barriers = 0, warp_barriers = 0;
  std::size_t identity = 0;
};

// The blocks that a thread of the system runs, one after another.
class Block {
 public:
  using Numbers = std::vector<unsigned>;

  Block() = default;
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block() {
    for (const Identity& identity : identities_) end_identity(identity.handle);
  }

  void run(const char* kernel_name, const std::function<void()>& kernel, unsigned threads, unsigned grid,
           const Numbers& blocks) {
    name_ = kernel_name;
    kernel_ = &kernel;
    count_ = threads;
    if (threads_.size() < threads) threads_ = std::vector<Thread>(threads);
    gridDim = {grid, 1, 1};
    blockDim = {threads, 1, 1};
    for (const unsigned block : blocks) {
      blockIdx = {block, 0, 0};
      order(&begin_);
      run_block();
      for (Identity& identity : identities_) {
        if (std::exchange(identity.is_used, false)) order_as(identity.handle, &end_);
      }
      follow(&end_);  // the next block has the same stacks and shared memory
    }
  }

  std::mt19937& random() { return random_; }

  // --- Of the thread that runs

  void meet_block(const Location& place) {
    Thread& thread = threads_[current_];
    thread.place = place;
    char* const barrier = &block_barriers_[thread.block_barriers++ % 2];
    order(barrier);
    wait(State::at_block);
    follow(barrier);
  }

  void meet_warp(unsigned mask, const Location& place) {
    Thread& thread = threads_[current_];
    char* const barrier = &warp_barriers_[current_ / lanes][thread.warp_barriers++ % 2];
    thread.from = current_ % lanes;
    order(barrier);
    wait_for_lanes(mask, place);
    follow(barrier);
  }

  // Orders no memory.
  unsigned exchange(unsigned mask, unsigned word, unsigned from, const Location& place) {
    Thread& thread = threads_[current_];
    thread.word = word;
    thread.from = from;
    wait_for_lanes(mask, place);
    return threads_[current_].word;
  }

 private:
  [[noreturn]] void fail(const char* what, unsigned thread) const {
    const Thread& failed = threads_[thread];
    std::fprintf(stderr, "emulator: %s: block %u, thread %u", what, blockIdx.x, thread);
    if (failed.state != State::ended) std::fprintf(stderr, " at %s:%d", failed.place.file, failed.place.line);
    std::fprintf(stderr, ", of %s, seed %u\n", name_, seed());
    std::abort();
  }

  void wait(State state) {
    threads_[current_].state = state;
    threads_[current_].fiber.pause();
  }
  void wait_for_lanes(unsigned mask, const Location& place) {
    threads_[current_].place = place;
    threads_[current_].mask = mask;
    if ((mask >> current_ % lanes & 1) == 0) {
      threads_[current_].state = State::at_warp;
      fail("a lane is not in its own mask", current_);
    }
    wait(State::at_warp);
  }

  static void body();

  // Threads that wait have one each. The others share a few, which are drawn: the sanitizer's work grows with their
  // number.
  std::size_t take_identity() {
    constexpr std::size_t shared = 16;
    if (identities_.size() < shared) identities_.resize(shared);
    const auto is_free = [this](std::size_t i) { return !identities_[i].is_taken; };
    std::size_t taken = random_() % shared;
    for (std::size_t tries = 1; tries < shared && !is_free(taken); ++tries) taken = (taken + 1) % shared;
    if (!is_free(taken)) taken = shared;
    while (taken < identities_.size() && !is_free(taken)) ++taken;
    if (taken == identities_.size()) identities_.emplace_back();
    identities_[taken].is_taken = true;
    return taken;
  }

  // Runs a thread until it waits or ends.
  void resume(unsigned number) {
    Thread& thread = threads_[number];
    current_ = number;
    threadIdx = {number, 0, 0};
    if (thread.state == State::fresh) {
      thread.state = State::ready;
      thread.identity = take_identity();
      thread.fiber.start(body, identities_[thread.identity].handle);
    }
    thread.fiber.resume();
    if (thread.state == State::ended) identities_[thread.identity].is_taken = false;
  }

  // Runs those of the threads that are ready. Returns whether there were any.
  bool run_ready(const Numbers& threads) {
    bool has_run = false;
    for (const unsigned thread : threads) {
      if (threads_[thread].state != State::ready && threads_[thread].state != State::fresh) continue;
      resume(thread);
      has_run = true;
    }
    return has_run;
  }

  void run_block() {
    const unsigned warps = (count_ + lanes - 1) / lanes;
    std::vector<Numbers> threads_of(warps);
    for (unsigned i = 0; i < count_; ++i) {
      Thread& thread = threads_[i];
      thread.state = State::fresh;
      thread.block_barriers = thread.warp_barriers = 0;
      threads_of[i / lanes].push_back(i);
    }
    for (Numbers& order : threads_of) std::shuffle(order.begin(), order.end(), random_);
    Numbers warp_order(warps);
    std::iota(warp_order.begin(), warp_order.end(), 0U);
    // In one half of the blocks a warp runs until its threads wait for other warps; in the other half all warps advance
    // together.
    const bool runs_ahead = random_() % 2 == 0;
    for (bool has_run = true; has_run;) {
      has_run = false;
      std::shuffle(warp_order.begin(), warp_order.end(), random_);
      for (const unsigned warp : warp_order) {
        do {
          has_run = run_ready(threads_of[warp]) || has_run;
        } while (release_warp(warp) && runs_ahead);
      }
      has_run = release_block() || has_run;
    }
    for (unsigned i = 0; i < count_; ++i) {
      if (threads_[i].state == State::ended) continue;
      const bool is_complete = threads_[i].state == State::at_warp && !lanes_that_wait(i).empty();
      fail(is_complete ? "lanes of a mask meet at different places" : "waits for a thread that does not come", i);
    }
  }

  // Lets the lanes go on whose masks are complete. Returns whether there were any.
  bool release_warp(unsigned warp) {
    bool has_released = false;
    for (unsigned i = warp * lanes; i < std::min((warp + 1) * lanes, count_); ++i) {
      if (threads_[i].state == State::at_warp && release_lanes(i)) has_released = true;
    }
    return has_released;
  }

  // The threads of the mask for which a thread waits, if all of them wait for lanes; else none.
  Numbers lanes_that_wait(unsigned thread) const {
    Numbers group;
    const unsigned first = thread / lanes * lanes;
    for (unsigned i = first; i < std::min(first + lanes, count_); ++i) {
      if ((threads_[thread].mask >> (i - first) & 1) == 0) continue;
      if (threads_[i].state != State::at_warp) return {};
      group.push_back(i);
    }
    return group;
  }

  bool release_lanes(unsigned waiting) {
    const Thread& one = threads_[waiting];
    const Numbers group = lanes_that_wait(waiting);
    for (const unsigned i : group) {
      const Thread& other = threads_[i];
      if (other.mask != one.mask || other.place.line != one.place.line) return false;
    }
    Numbers words;
    for (const unsigned i : group) {
      const unsigned from = waiting / lanes * lanes + threads_[i].from;
      if (std::ranges::find(group, from) == group.end()) fail("a shuffle reads a lane that is not in the mask", i);
      words.push_back(threads_[from].word);
    }
    for (std::size_t k = 0; k < group.size(); ++k) {
      threads_[group[k]].word = words[k];
      threads_[group[k]].state = State::ready;
    }
    return !group.empty();
  }

  // Lets all threads go on if they wait for the block. Returns whether they did.
  bool release_block() {
    for (unsigned i = 0; i < count_; ++i) {
      if (threads_[i].state != State::at_block) return false;
    }
    for (unsigned i = 0; i < count_; ++i) {
      if (threads_[i].place.line != threads_[0].place.line) fail("threads meet at different barriers", i);
      threads_[i].state = State::ready;
    }
    return true;
  }

  const char* name_ = nullptr;
  const std::function<void()>* kernel_ = nullptr;
  std::vector<Thread> threads_;
  std::vector<Identity> identities_;
  unsigned count_ = 0, current_ = 0;
  std::mt19937 random_{seed()};
  // What the thread sanitizer knows the begin and end of blocks and the barriers by.
  char begin_ = 0, end_ = 0, block_barriers_[2] = {}, warp_barriers_[max_threads / lanes][2] = {};
};
thread_local Block block;

void Block::body() {
  Identity& identity = block.identities_[block.threads_[block.current_].identity];
  if (!std::exchange(identity.is_used, true)) follow(&block.begin_);
  (*block.kernel_)();
  block.threads_[block.current_].state = State::ended;
}

void run_grid(const char* name, unsigned launched_blocks, unsigned threads, const std::function<void()>& kernel) {
  std::mt19937& random = block.random();
  const unsigned grid = random() % 2 == 0 ? launched_blocks : 1 + random() % launched_blocks;
  Block::Numbers blocks(grid);
  std::iota(blocks.begin(), blocks.end(), 0U);
  std::shuffle(blocks.begin(), blocks.end(), random);
#ifdef EMULATOR_UNDER_TSAN
  // Blocks of one thread of the system have one shared memory, so an order; those of two threads have none.
  static thread_local FakeStream second_thread;
  const auto middle = blocks.begin() + grid / 2;
  const Block::Numbers others(blocks.begin(), middle);
  blocks.erase(blocks.begin(), middle);
  std::promise<void> done;
  char end = 0;
  if (!others.empty()) {
    second_thread.push([&] {
      block.run(name, kernel, threads, grid, others);
      order(&end);
      done.set_value();
    });
  }
#endif
  block.run(name, kernel, threads, grid, blocks);
#ifdef EMULATOR_UNDER_TSAN
  if (!others.empty()) {
    done.get_future().wait();
    follow(&end);
  }
#endif
}

void (*push_on_stream)(cudaStream_t, std::function<void()>) = nullptr;

std::mutex launched_mutex;
std::map<const char*, unsigned> launched_blocks;  // under the mutex

}  // namespace

std::map<std::string, unsigned> launched() {
  const std::lock_guard lock(launched_mutex);
  std::map<std::string, unsigned> found;
  for (const auto& [name, blocks] : std::exchange(launched_blocks, {})) {
    unsigned& most = found[name];
    most = std::max(most, blocks);
  }
  return found;
}

void launch(const char* name, unsigned blocks, unsigned threads, cudaStream_t stream, std::function<void()> kernel) {
  if (blocks == 0 || threads == 0 || threads > max_threads) {
    std::fprintf(stderr, "emulator: a launch of %u blocks of %u threads, of %s\n", blocks, threads, name);
    std::abort();
  }
  {
    const std::lock_guard lock(launched_mutex);
    unsigned& most = launched_blocks[name];
    most = std::max(most, blocks);
  }
  enqueue(stream, [=, run = std::move(kernel)] { run_grid(name, blocks, threads, run); });
}

void enqueue(cudaStream_t stream, std::function<void()> task) {
  stream == nullptr ? task() : push_on_stream(stream, std::move(task));
}

void set_streams(void (*push)(cudaStream_t, std::function<void()>)) { push_on_stream = push; }

void meet_block(const Location& place) { block.meet_block(place); }
void meet_warp(unsigned mask, const Location& place) { block.meet_warp(mask, place); }
unsigned exchange(unsigned mask, unsigned word, unsigned from, const Location& place) {
  return block.exchange(mask, word, from, place);
}

}  // namespace asyncgrad::tests::emulator
