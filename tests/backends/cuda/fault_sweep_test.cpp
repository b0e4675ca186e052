// Every call of CUDA and of cuBLASLt that small programs make fails, one at a time, with every status that there is. The
// program goes on without the call, or its error names the status and a line; nothing hangs, recover() makes the process
// work again, and nothing is left behind.
//
// Without the variable FAULT_SWEEP of the environment the tests try some of the calls, each with another status; with it
// all of them, each with every status, which takes an hour. scripts/nightly.sh sets it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <map>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "asyncgrad/backends/cuda/cublaslt.h"
#include "tests/backends/cuda/copy_between_devices.h"
#include "tests/backends/cuda/emulator/cublaslt.h"
#include "tests/backends/cuda/fake_gpus.h"
#include "tests/backends/cuda/statuses.h"
#include "tests/support/message_of.h"

namespace asyncgrad::tests {
namespace {

using testing::AnyOf;
using testing::ContainsRegex;
using testing::HasSubstr;

const bool is_complete = std::getenv("FAULT_SWEEP") != nullptr;  // NOLINT(concurrency-mt-unsafe): before any thread
// How many calls of each function fail: the first ones.
const int tries = is_complete ? 1000 : is_sanitized ? 1 : 2;

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
                                {"training", training_steps},
                                {"graphs", graphs}};

std::string message_or_values(const Program& program, Values& values) {
  return whole_message_of([&] { values = program.run(); });
}
constexpr const char* nothing = "nothing was thrown";
// The copy that item() makes has no line.
auto names_a_line(const Program& program) {
  return AnyOf(ContainsRegex(program.file + std::string(":[0-9]+")), HasSubstr("copy\n  queued at an unknown line"));
}

// --- Calls that fail

// function(status): each of them, or one that is another one each time.
template <class Statuses, class Function>
void each_status(const Statuses& all, Function function) {
  if (is_complete) {
    for (const auto status : all) function(status);
  } else {
    static std::size_t next = 0;
    function(all[next++ % std::size(all)]);
  }
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

class CudaFaultSweep : public testing::TestWithParam<Program> {
 protected:
  static constexpr FakeApiOptions options{.max_delay_us = 0};

  // Runs the program with a fault, which `set` puts in, on devices that have one of these states afterwards.
  template <class Set>
  void run_with_fault(const std::string& what, const std::string& status, const Values& expected, bool is_lasting,
                      Set set) {
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
      EXPECT_THAT(message, AnyOf(HasSubstr(status), HasSubstr("there is no driver for NVIDIA's GPUs")));
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

TEST_P(CudaFaultSweep, OfCuda) {
  Values expected;
  std::map<std::string, int> calls;
  {
    FakeGpus gpus(options);
    ASSERT_EQ(message_or_values(GetParam(), expected), nothing);
    gpus.end();
    calls = gpus.api().calls();
  }
  for (const auto& [function, number] : calls) {
    for (int index = 0; index < std::min(number, tries) && !HasFailure(); ++index) {
      for (const bool is_lasting : {false, true}) {
        each_status(statuses, [&](cudaError_t status) {
          // Of an event this is no error, and for ever it would be one that never comes.
          if (function == "query_event" && status == cudaErrorNotReady) return;
          run_with_fault(function + " " + std::to_string(index) + " returns " + std::to_string(status) +
                             (is_lasting ? ", as all calls after it" : ""),
                         "status " + std::to_string(status), expected, is_lasting,
                         [&](FakeApi& api) { api.fail(function, index, status, is_lasting); });
        });
      }
    }
  }
}

TEST_P(CudaFaultSweep, OfCublasLt) {
  Values expected;
  emulator::set_faults({});
  {
    FakeGpus gpus(options);
    ASSERT_EQ(message_or_values(GetParam(), expected), nothing);
  }
  for (const auto& [function, number] : emulator::cublaslt_calls()) {
    for (int index = 0; index < std::min(number, tries) && !HasFailure(); ++index) {
      each_status(product_statuses, [&](cublasStatus_t status) {
        run_with_fault(function + " " + std::to_string(index) + " returns " + std::to_string(status),
                       detail::cuda::cublaslt().get_status_name(status), expected, false, [&](FakeApi&) {
                         emulator::set_faults({.function = function, .index = index, .status = status});
                       });
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
    FakeGpus gpus({.max_delay_us = 0, .memory_bytes = pages * page});
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
