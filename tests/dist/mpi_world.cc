// A program that mpi_test.cpp runs as several ranks. Its first argument says what it does; each rank prints lines that
// begin with its number.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "asyncgrad/core/backend/instruction_sets.h"
#ifdef CAN_REFUSE
#include "tests/refusals/system.h"
#endif

namespace ag = asyncgrad;

namespace {

constexpr double timeout_s = 2;

template <class... Parts>
void say(const ag::dist::World& world, fmt::format_string<Parts...> format, Parts&&... parts) {
  // One write for a line, so that the lines of ranks do not mix.
  const std::string line = fmt::format("{}: {}\n", world.rank(), fmt::format(format, std::forward<Parts>(parts)...));
  if (write(STDOUT_FILENO, line.data(), line.size()) < 0) std::abort();
}

template <class Call>
std::string message_of(Call&& call) {
  try {
    call();
  } catch (const ag::Error& error) {
    std::string message = error.what();
    for (char& c : message) c = c == '\n' ? ' ' : c;
    return message;
  }
  return "nothing was thrown";
}

std::uint64_t hash_of(const std::vector<ag::Tensor>& tensors) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const ag::Tensor& tensor : tensors) {
    for (const float value : tensor.to_vector<float>()) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, &value, sizeof(bits));
      hash = (hash ^ bits) * 0x100000001b3;
    }
  }
  return hash;
}

// A training with several pieces, of which all ranks print the hash of the parameters.
void train(const ag::dist::World& world) {
  const ag::nn::Sequential net{ag::nn::Dense(64, 1024, ag::relu), ag::nn::Dense(1024, 1100, ag::tanh),
                               ag::nn::BatchNorm(1100), ag::nn::Dense(1100, 1)};
  ag::optim::Adam adam(ag::nn::parameters(net), {.lr = 1e-3});
  ag::dist::broadcast(net, world);
  ag::Generator generator(7);  // the same numbers on all ranks
  ag::reset_peaks();
  for (int step = 0; step < 6; ++step) {
    const ag::Tensor x = ag::randn({32, 64}, {.generator = &generator}), y = ag::sum(x, 1, true);
    const std::int64_t rows = 32 / world.size(), first = rows * world.rank();
    const auto own = [&](const ag::Tensor& all) { return all(ag::range(first, first + rows)); };
    const ag::Tensor loss = ag::mean(ag::nn::l2_loss(net(own(x)), own(y)));
    loss.backward();
    ag::dist::average_gradients(adam, world);
    adam.step();
    adam.zero_grad();
  }
  ag::wait_all();
  const ag::MemoryFigures memory = ag::memory_figures();
  const std::int64_t bound = std::max(memory.budget_bytes, memory.serial_peak_bytes) + memory.peak_under_way_bytes;
  say(world, "hash {:x}, live memory is {}", hash_of(ag::nn::parameters(net)),
      memory.peak_live_bytes <= bound ? "bounded" : fmt::format("{} of {}", memory.peak_live_bytes, bound));
}

// A training in parts, whose hash is the same on any number of ranks, though their own generators differ.
void train_parts(const ag::dist::World& world) {
  ag::dist::Parts parts(world, 8);
  ag::Generator generator(11);  // for what is the same on all ranks
  const ag::nn::Sequential net{ag::nn::Dense(64, 300, ag::relu, {.generator = &generator}), ag::nn::BatchNorm(300),
                               ag::nn::Dropout(0.2), ag::nn::Dense(300, 1, {.generator = &generator})};
  ag::optim::Adam adam(ag::nn::parameters(net), {.lr = 1e-3});
  for (int step = 0; step < 6; ++step) {
    const ag::Tensor x = ag::randn({32, 64}, {.generator = &generator}), y = ag::sum(x, 1, true);
    const std::int64_t rows = 32 / world.size(), first = rows * world.rank();
    const std::vector<ag::Tensor> own{x(ag::range(first, first + rows)), y(ag::range(first, first + rows))};
    for (const int part : parts.mine()) {
      const std::vector<ag::Tensor> batch = parts.rows(own, part);
      ag::mean(ag::nn::l2_loss(net(batch[0]), batch[1])).backward();
      parts.add(adam);
    }
    parts.average(adam);
    adam.step();
    adam.zero_grad();
  }
  std::vector<ag::Tensor> all;
  for (const auto& [name, tensor] : ag::nn::state(net)) all.push_back(tensor);
  say(world, "hash {:x}", hash_of(all));
}

// An operation of one rank fails. The others fail with its cause, nobody updates, and the training can go on.
void fail(const ag::dist::World& world) {
  const ag::Tensor weight = ag::parameter(ag::ones({4}));
  ag::optim::SGD sgd({weight}, {.lr = 1});
  for (int step = 0; step < 2; ++step) {
    const ag::Tensor x =
        ag::custom("reading", {.shape = {4}}, {}, [&, step, rank = world.rank()](const ag::CustomCall& call) {
          if (step == 0 && rank == world.size() - 1) throw std::runtime_error("the disk is full");
          for (float& value : call.output<float>()) value = 0.5F;
        });
    ag::sum(weight * x).backward();
    ag::dist::average_gradients(sgd, world);
    sgd.step();
    say(world, "{}", message_of([&] { weight.wait(); }));
    if (step == 0) ag::recover();
    sgd.zero_grad();
  }
  say(world, "weight {}", weight.to_vector<float>()[0]);
}

// An exception leaves the last rank's loop over its parts, before or after the others come to their average. It ends its
// program at once, or goes on with the next step.
void leave_loop(const ag::dist::World& world, bool ends) {
  const bool is_last = world.rank() == world.size() - 1;
  ag::dist::Parts parts(world, 4);
  const ag::Tensor weight = ag::parameter(ag::ones({4}));
  ag::optim::SGD sgd({weight}, {.lr = 1});
  const auto step = [&](bool fails) {
    for (const int part : parts.mine()) {
      if (fails && is_last) throw std::runtime_error("no rows today");
      ag::sum(weight * part).backward();
      parts.add(sgd);
    }
    if (ends) std::this_thread::sleep_for(std::chrono::milliseconds(300));
    parts.average(sgd);
    sgd.step();
    weight.wait();
  };
  std::string message;
  try {
    message = message_of([&] { step(true); });
  } catch (const std::runtime_error& error) {
    message = error.what();
  }
  if (ends && is_last) return;
  if (!is_last) say(world, "{}", message);
  if (ends) return;
  ag::recover();
  sgd.zero_grad();
  step(false);
  say(world, "weight {}", weight.to_vector<float>()[0]);
}

// Another shape, another number of calls, another order.
void differ(const ag::dist::World& world) {
  const ag::Tensor x = ag::ones({world.rank() == 0 ? 3 : 4}), y = ag::ones({2});
  const ag::Tensor shape = ag::dist::sum(x, world);
  say(world, "{}", message_of([&] { shape.wait(); }));
  if (world.rank() == 0) ag::dist::broadcast_tensors({y}, world);
  const ag::Tensor order = ag::dist::sum(y, world);
  say(world, "{}", message_of([&] { order.wait(); }));
}

void end_early(const ag::dist::World& world) {
  if (world.rank() == 0) return;
  const ag::Tensor total = ag::dist::sum(ag::ones({2}), world);
  say(world, "{}", message_of([&] { total.wait(); }));
}

// The last ranks stop, or end at a signal.
void get_signal(const ag::dist::World& world, int signal, int count = 1) {
  ag::dist::sum(ag::ones({2}), world).wait();
  if (world.rank() >= world.size() - count) raise(signal);
  const ag::Tensor total = ag::dist::sum(ag::ones({2}), world);
  say(world, "{}", message_of([&] { total.wait(); }));
  say(world, "{}", message_of([&] { ag::dist::sum(ag::ones({2}), world); }));
}

void leave_unfinished(const ag::dist::World& world) {
  if (world.rank() == 0) ag::dist::sum(ag::ones({2}), world);
  if (world.rank() == 0) return;
  std::this_thread::sleep_for(std::chrono::seconds(1));
  for (int i = 0; i < 3; ++i) ag::dist::sum(ag::ones({2}), world);  // the process ends without waiting for them
}

void fork_child(const ag::dist::World& world) {
  ag::dist::Parts parts(world, 2);
  const pid_t child = fork();
  if (child == 0) {
    say(world, "{}", message_of([&] { static_cast<void>(parts.mine()); }));
    say(world, "{}", message_of([&] { ag::dist::sum(ag::ones({2}), world); }));
    say(world, "{}", message_of([] { ag::dist::world(); }));
    std::exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  say(world, "status {}, sum {}", status, ag::dist::sum(ag::ones({1}), world).item());
}

void delay(const ag::dist::World& world) {
  for (int i = 0; i < 10; ++i) {
    if (i % world.size() == world.rank()) std::this_thread::sleep_for(std::chrono::milliseconds(150));
    const ag::Tensor total = ag::dist::sum(ag::ones({3}), world);
    if (total.to_vector<float>()[0] != static_cast<float>(world.size())) std::abort();
  }
  say(world, "done");
}

// Another thread than the one that queues ends the process, while rank 1 waits for rank 0.
void exit_elsewhere(const ag::dist::World& world) {
  if (world.rank() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(500));
  const ag::Tensor total = ag::dist::sum(ag::ones({2}), world);
  std::thread([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    std::exit(0);  // NOLINT(concurrency-mt-unsafe): this is what is tested
  }).join();
}

void draw(const ag::dist::World& world) {
  ag::manual_seed(5);
  ag::Generator own(5);
  const float of_default = ag::randn({1}).item(), of_own = ag::randn({1}, {.generator = &own}).item();
  say(world, "{} {}", of_own, of_default);
}

void compare_instruction_sets(const ag::dist::World& world) {
  say(world, "{}", ag::detail::name_of_instruction_sets(ag::detail::instruction_sets()));
}

// What is drawn from the seed, alike on all ranks, happens to one rank in one step of a training.
void meet_trouble(const ag::dist::World& world, std::uint64_t seed) {
  ag::data::Random random(seed, 0, 0);
  const auto drawn = [&](int count) { return static_cast<int>(random() % static_cast<std::uint64_t>(count)); };
  const int victim = drawn(world.size()), bad_step = drawn(4), trouble = drawn(10);
  [[maybe_unused]] const int request = drawn(300);  // where requests can be refused
  const ag::nn::Sequential net{ag::nn::Dense(8, 300, ag::relu), ag::nn::Dense(300, 1)};
  ag::optim::SGD sgd(ag::nn::parameters(net), {.lr = 0.1});
  ag::dist::broadcast(net, world);
  for (int step = 0; step < 4; ++step) {
    const bool is_here = step == bad_step && world.rank() == victim;
    const auto has = [&](int number) { return is_here && trouble == number; };
    ag::Tensor x = ag::randn({4, 8});
    if (has(0)) std::this_thread::sleep_for(std::chrono::milliseconds(300));
    if (has(1)) raise(SIGSTOP);
    if (has(2)) raise(SIGKILL);
    if (has(3)) std::exit(0);  // NOLINT(concurrency-mt-unsafe): no other thread of the program runs
    if (has(4)) ag::dist::sum(ag::ones({2}), world);
    if (has(5))
      x = ag::custom("fails", {.shape = {4, 8}}, {}, [](const ag::CustomCall&) { throw std::runtime_error("no"); });
#ifdef CAN_REFUSE
    if (has(6) || has(7)) {
      ag::refusals::refuse({ag::refusals::objects | ag::refusals::memory, request, has(6) ? 1 : INT64_MAX - request});
    }
#endif
    const ag::Tensor loss = ag::mean(net(x));
    if (has(8)) ag::dist::sum(loss, world);
    loss.backward();
    ag::dist::average_gradients(sgd, world);
    sgd.step();
    sgd.zero_grad();
    ag::dist::sum(has(9) ? ag::ones({3}) : loss, world).wait();
#ifdef CAN_REFUSE
    ag::refusals::give_again();
#endif
  }
  ag::wait_all();
  say(world, "{:x}", hash_of(ag::nn::parameters(net)));
}

const std::map<std::string, std::function<void(const ag::dist::World&)>> scenarios = {
    {"train", train},
    {"train_parts", train_parts},
    {"fail", fail},
    {"differ", differ},
    {"leave_loop", [](const ag::dist::World& world) { leave_loop(world, false); }},
    {"leave_loop_and_end", [](const ag::dist::World& world) { leave_loop(world, true); }},
    {"end_early", end_early},
    {"stop", [](const ag::dist::World& world) { get_signal(world, SIGSTOP); }},
    {"stop_two", [](const ag::dist::World& world) { get_signal(world, SIGSTOP, 2); }},
    {"kill", [](const ag::dist::World& world) { get_signal(world, SIGKILL); }},
    {"leave_unfinished", leave_unfinished},
    {"fork_child", fork_child},
    {"delay", delay},
    {"exit_elsewhere", exit_elsewhere},
    {"draw", draw},
    {"instruction_sets", compare_instruction_sets},
};

// The last rank's processor has one instruction set less, as if it were older. `computes`: each rank has computed before.
bool limit_last_rank(int ranks, bool computes) {
  const std::uint64_t sets = ag::detail::instruction_sets();
  if ((sets & (sets - 1)) == 0) return false;
  for (const char* name : {"PMI_RANK", "OMPI_COMM_WORLD_RANK"}) {
    const char* const rank = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
    if (rank != nullptr && std::atoi(rank) == ranks - 1) ag::detail::limit_instruction_sets(sets & (sets - 1));
  }
  if (computes) (ag::ones({3}) + 1).wait();
  return true;
}

}  // namespace

// SCENARIO [BUDGET], or trouble SEED, or absent, or instruction_sets RANKS [lowest] [late]
int main(int argc, char** argv) {
  const std::string scenario = argv[1];
  ag::dist::WorldOptions world_options{.timeout_s = timeout_s};
  if (scenario == "instruction_sets") {
    const auto has = [&](const char* word) { return std::find(argv, argv + argc, std::string(word)) != argv + argc; };
    world_options.lowest_common = has("lowest");
    if (!limit_last_rank(std::atoi(argv[2]), has("late"))) return 77;  // there is no other set
  }
  if (scenario == "absent") {
    for (const char* variable : {"PMI_RANK", "OMPI_COMM_WORLD_RANK"}) {
      const char* const rank = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): no other thread
      if (rank != nullptr && std::atoi(rank) == 0) return 0;
    }
  }
  ag::EngineOptions options;
  options.workers = 2;
  if (scenario == "train" && argc > 2) options.memory_budget = ag::MemoryBudget::bytes(std::atoll(argv[2]));
  ag::set_engine_options(options);
  try {
    const ag::dist::World world = ag::dist::world(world_options);
    if (scenario == "trouble") {
      meet_trouble(world, std::strtoull(argv[2], nullptr, 10));
    } else {
      scenarios.at(scenario)(world);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
