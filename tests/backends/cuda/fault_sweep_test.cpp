// Every call of CUDA and of cuBLASLt that small programs make fails, one at a time. The program goes on without the call,
// or its error names the status and a line; nothing hangs, recover() makes the process work again, and nothing is left
// behind.
//
// With the variable FAULT_SWEEP of the environment, which scripts/nightly.sh sets:
// - every call of CUDA (but see indices_of) fails with a status of each group whose members the backend treats alike (see
//   group_of), in turn, and in the first program that calls a function its first call with every status that there is.
//   After it all calls fail, or none;
// - every call of cuBLASLt fails with every status;
// - each number of pages is all the memory that a GPU has.
// Without it the tests try some of the calls, each with another status.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <numeric>
#include <ostream>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "asyncgrad/backends/cuda/cublaslt.h"
#include "asyncgrad/backends/cuda/gpu.h"
#include "tests/backends/cuda/copy_between_devices.h"
#include "tests/backends/cuda/emulator/cublaslt.h"
#include "tests/backends/cuda/fake_gpus.h"
#include "tests/backends/cuda/statuses.h"
#include "tests/support/message_of.h"

namespace asyncgrad::tests {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

const bool is_complete = std::getenv("FAULT_SWEEP") != nullptr;  // NOLINT(concurrency-mt-unsafe): before any thread
// How many calls of each function fail at most: the first ones.
const int tries = is_complete ? INT_MAX : is_sanitized ? 1 : 2;

// --- Small programs

using Values = std::vector<float>;

struct Inputs {
  Generator generator{5};
  Tensor operator()(const Shape& shape, Device device = "cuda:0") {
    return parameter(uniform(shape, -1, 1, {.device = device, .generator = &generator}));
  }
};

// The sums of a result and of the gradients of parameters.
Values sums_of(const Tensor& y, const std::vector<Tensor>& parameters) {
  sum(y * y).backward();
  Values values{static_cast<float>(sum(y).item())};
  for (const Tensor& x : parameters) values.push_back(static_cast<float>(sum(x.grad() * x).item()));
  return values;
}

Values elementwise() {
  Inputs in;
  const Tensor x = in({300}), y = in({7, 300});
  return sums_of(softmax(tanh(x + y) * 2.0 + cumsum(y, 1), 1), {x, y});
}

Values products() {
  Inputs in;
  const Tensor x = in({8, 16}), w = in({16, 12}), bias = in({12}), v = in({3, 12, 8});
  const Tensor y = dense(x, w, bias), z = dense(x, w, bias, relu);
  return sums_of(matmul(v, y + z), {x, w, bias, v});
}

Values windows() {
  Inputs in;
  const Tensor x = in({2, 10, 6, 6}), w = in({9, 10, 3, 3}), bias = in({9});
  const Tensor y = max_pool2d(conv2d(x, w, bias, {.padding = 1}), 2);
  return sums_of(y, {x, w, bias});
}

Values attention() {
  Inputs in;
  const Tensor q = in({2, 9, 8}), k = in({2, 9, 8}), v = in({2, 9, 8}), weight = in({8}), bias = in({8});
  const Tensor y = scaled_dot_product_attention(q, k, v, {.causal = true});
  return sums_of(layer_norm(y, weight, bias), {q, k, v, weight, bias});
}

Values copies() { return copy_between_devices(1000); }

Values pinned_copies() {
  const Tensor x = pin_memory(full({1000}, 1)), y = x.to("cuda:0") + 1.0;
  return pin_memory(y).to_vector<float>();
}

Values training(LaunchGraph* graph) {
  Inputs in;
  const Tensor w = in({16, 12}), out = in({12, 1}), x = in({8, 16}).detach();
  optim::Adam adam({w, out}, {.lr = 0.1});
  Tensor losses = zeros({6}, {.device = "cuda:0"});
  for (int i = 0; i < 6; ++i) {
    const auto step = [&] {
      const Tensor loss = mean(nn::l2_loss(matmul(dense(x, w, Tensor(), relu), out), sum(x, 1, true)));
      adam.zero_grad();
      loss.backward();
      adam.step();
      return loss.detach();
    };
    const Tensor loss = graph != nullptr ? (*graph)(step) : step();
    losses.slice(i, i + 1).copy_(loss.reshape({1}));
  }
  return losses.to_vector<float>();
}
Values training_steps() { return training(nullptr); }
Values graphs() {
  LaunchGraph step("training step");
  return training(&step);
}

struct Program {
  const char* name;
  Values (*run)();
  const char* file = "fault_sweep_test\\.cpp";  // of its lines
};
void PrintTo(const Program& program, std::ostream* out) { *out << program.name; }
constexpr Program programs[] = {{"elementwise", elementwise},
                                {"products", products},
                                {"windows", windows},
                                {"attention", attention},
                                {"copies", copies, "copy_between_devices\\.h"},
                                {"pinned_copies", pinned_copies},
                                {"training", training_steps},
                                {"graphs", graphs}};

std::string message_or_values(const Program& program, Values& values) {
  return whole_message_of([&] { values = program.run(); });
}
constexpr const char* nothing = "nothing was thrown";
auto names_a_line(const Program& program) { return ContainsRegex(program.file + std::string(":[0-9]+")); }

// --- Calls that fail

// The statuses that the backend treats alike, whatever the call, have one number. Only the search for GPUs tells more
// apart, and its one call fails with every status.
int group_of(cudaError_t status) {
  if (status == cudaErrorMemoryAllocation) return 0;
  return detail::cuda::is_refusal(status) ? 1 : 2;
}

// What an error says of a status.
std::vector<std::string> reasons_of(cudaError_t status) {
  std::vector<std::string> reasons{"status " + std::to_string(status)};
  if (status == cudaErrorMemoryAllocation) reasons.emplace_back("out of memory");
  if (status == cudaErrorInsufficientDriver) reasons.emplace_back("there is no driver for NVIDIA's GPUs");
  return reasons;
}

// Draws statuses, each in its turn.
class Turns {
 public:
  explicit Turns(std::span<const cudaError_t> all) : all_(all) {}

  std::vector<cudaError_t> one() { return {all_[next_++ % all_.size()]}; }
  std::vector<cudaError_t> all() const { return {all_.begin(), all_.end()}; }
  std::vector<cudaError_t> one_of_each_group() {
    std::map<int, std::vector<cudaError_t>> groups;
    for (const cudaError_t status : all_) groups[group_of(status)].push_back(status);
    std::vector<cudaError_t> drawn;
    for (const auto& [number, group] : groups) drawn.push_back(group[next_ % group.size()]);
    ++next_;
    return drawn;
  }

 private:
  const std::span<const cudaError_t> all_;
  std::size_t next_ = 0;
};

// The calls of a function that fail. Some are made again and again at one place, for each page of memory or as long as an
// event is not complete: then the first ones and the last.
std::vector<int> indices_of(const std::string& function, int number) {
  const std::set<std::string_view> repeated{"create_memory", "map", "release_memory", "query_event"};
  constexpr int tries_of_repeated = 12;
  std::vector<int> indices(static_cast<std::size_t>(std::min(number, tries)));
  std::iota(indices.begin(), indices.end(), 0);
  if (repeated.contains(function) && indices.size() > tries_of_repeated) {
    indices.resize(tries_of_repeated);
    indices.push_back(number - 1);
  }
  return indices;
}

// Calls a function with faults. In the whole sweep it does so in a process of its own, whose memory goes with it: the
// engine keeps what it knows of each GPU that there ever was.
template <class Function>
void with_faults(Function function) {
  if (!is_complete) return function();
  std::fflush(nullptr);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    function();
    std::fflush(nullptr);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// Ends the process with a message if a call does not come back.
class Watch {
 public:
  explicit Watch(const std::string& what) {
    const std::string text = what + " does not come back\n";
    size_ = std::min(text.size(), sizeof(text_));
    std::copy_n(text.data(), size_, text_);
    std::signal(SIGALRM, [](int) {
      [[maybe_unused]] const auto written = write(STDERR_FILENO, text_, size_);
      _exit(1);
    });
    alarm(120);
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch() { alarm(0); }

 private:
  static inline char text_[200];
  static inline std::size_t size_ = 0;
};

// --- The sweep

constexpr FakeApiOptions options{.max_delay_us = 0, .fills_memory = false};  // fast

class CudaFaultSweep : public testing::TestWithParam<Program> {
 protected:
  // Runs the program with a fault, which `set` puts in. Its error gives one of the reasons.
  template <class Set>
  void run_with_fault(const std::string& what, const std::vector<std::string>& reasons, const Values& expected,
                      bool is_lasting, Set set) {
    SCOPED_TRACE(what);
    const Watch watch(what);
    const int objects = emulator::cublaslt_objects();
    FakeGpus gpus(options);
    set(gpus.api());
    Values values;
    const std::string message = message_or_values(GetParam(), values);
    emulator::set_faults({});
    if (message == nothing) {
      EXPECT_EQ(values, expected);  // it was done without the call, or the call was not of the program
    } else {
      EXPECT_TRUE(std::ranges::any_of(reasons, [&](const std::string& reason) {
        return message.find(reason) != std::string::npos;
      })) << message;
      EXPECT_THAT(message, names_a_line(GetParam()));
    }
    recover();
    EXPECT_EQ((ones({10}) + 1.0).to_vector<float>(), std::vector<float>(10, 2));
    if (!is_lasting) {
      Values again;
      const std::string second = message_or_values(GetParam(), again);
      if (second == nothing) {
        EXPECT_EQ(again, expected);
      } else {
        EXPECT_THAT(second, HasSubstr("the device has failed"));
      }
      recover();
    }
    gpus.end();
    EXPECT_EQ(gpus.api().objects(), 0U);
    EXPECT_EQ(emulator::cublaslt_objects(), objects);
  }
};

using Calls = std::map<std::string, int>;

// The program's values, and its calls of CUDA.
Calls calls_of(const Program& program, Values& values) {
  FakeGpus gpus(options);
  EXPECT_EQ(message_or_values(program, values), nothing);
  gpus.end();
  return gpus.api().calls();
}

// Whether the program is the first of all that calls the function.
bool is_first_to_call(const Program& program, const std::string& function) {
  for (const Program& other : programs) {
    if (other.run == program.run) return true;
    static std::map<const char*, Calls> known;
    Values values;
    if (!known.contains(other.name)) known[other.name] = calls_of(other, values);
    if (known[other.name].contains(function)) return false;
  }
  return true;
}

TEST_P(CudaFaultSweep, OfCuda) {
  Values expected;
  const Calls calls = calls_of(GetParam(), expected);
  static Turns turns(statuses);
  for (const auto& call : calls) {
    const std::string& function = call.first;
    for (const int index : indices_of(function, call.second)) {
      if (HasFailure()) break;
      const bool is_every_one = is_complete && index == 0 && is_first_to_call(GetParam(), function);
      const std::vector<cudaError_t> tried = is_every_one  ? turns.all()
                                             : is_complete ? turns.one_of_each_group()
                                                           : turns.one();
      with_faults([&] {
        for (const cudaError_t status : tried) {
          // Of an event this is no error, and for ever it would be one that never comes.
          if (function == "query_event" && status == cudaErrorNotReady) continue;
          for (const bool is_lasting : {false, true}) {
            run_with_fault(function + " " + std::to_string(index) + " returns " + std::to_string(status) +
                               (is_lasting ? ", as all calls after it" : ""),
                           reasons_of(status), expected, is_lasting,
                           [&](FakeApi& api) { api.fail(function, index, status, is_lasting); });
          }
        }
      });
    }
  }
}

TEST_P(CudaFaultSweep, OfCublasLt) {
  Values expected;
  emulator::set_faults({});
  calls_of(GetParam(), expected);
  static std::size_t next = 0;
  for (const auto& call : emulator::cublaslt_calls()) {
    const std::string& function = call.first;
    for (int index = 0; index < std::min(call.second, tries) && !HasFailure(); ++index) {
      with_faults([&] {
        for (std::size_t i = 0; i < (is_complete ? std::size(product_statuses) : 1); ++i) {
          const cublasStatus_t status = product_statuses[is_complete ? i : next++ % std::size(product_statuses)];
          run_with_fault(function + " " + std::to_string(index) + " returns " + std::to_string(status),
                         {detail::cuda::cublaslt().get_status_name(status)}, expected, false, [&](FakeApi&) {
                           emulator::set_faults({.function = function, .index = index, .status = status});
                         });
        }
      });
    }
  }
  emulator::set_faults({});
}

// A GPU without enough memory says so, and one with enough does not, however little is left.
TEST_P(CudaFaultSweep, OfMemory) {
  Values expected;
  {
    FakeGpus gpus(options);
    ASSERT_EQ(message_or_values(GetParam(), expected), nothing);
  }
  constexpr std::int64_t page = 1 << 16, most_pages = 2048;
  const std::int64_t step = is_complete ? 1 : 37;
  bool was_enough = false;
  for (std::int64_t pages = 1; pages <= most_pages && !was_enough && !HasFailure(); pages += step) {
    SCOPED_TRACE(testing::Message() << pages << " pages");
    const Watch watch(std::to_string(pages) + " pages");
    FakeGpus gpus({.max_delay_us = 0, .memory_bytes = pages * page, .fills_memory = false});
    Values values;
    const std::string message = message_or_values(GetParam(), values);
    was_enough = message == nothing;
    if (was_enough) {
      EXPECT_EQ(values, expected);
    } else {
      EXPECT_THAT(message, HasSubstr("out of memory"));
      EXPECT_THAT(message, names_a_line(GetParam()));
    }
    recover();
    gpus.end();
    EXPECT_EQ(gpus.api().objects(), 0U);
  }
  EXPECT_TRUE(was_enough);
}

TEST_P(CudaFaultSweep, WithoutAccessToPeers) {
  Values expected, values;
  {
    FakeGpus gpus(options);
    ASSERT_EQ(message_or_values(GetParam(), expected), nothing);
  }
  FakeGpus gpus({.reach_each_other = false, .max_delay_us = 0});
  EXPECT_EQ(message_or_values(GetParam(), values), nothing);
  EXPECT_EQ(values, expected);
}

INSTANTIATE_TEST_SUITE_P(Of, CudaFaultSweep, testing::ValuesIn(programs),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace asyncgrad::tests
