// Signal handlers of the program on threads that compute.
#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "asyncgrad/asyncgrad.h"

namespace asyncgrad::tests {
namespace {

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)  // that delays signals

std::atomic<const char*> lowest{nullptr}, highest{nullptr};
std::atomic<int> on_stack{0}, elsewhere{0};

void look_at_stack_pointer(int, siginfo_t*, void* context) {
  const auto at = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RSP];
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  const auto* const stack_pointer = reinterpret_cast<const char*>(at);
  ++(stack_pointer >= lowest && stack_pointer <= highest ? on_stack : elsewhere);
}

void find_stack_of_this_thread() {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_getattr_np(pthread_self(), &attributes), 0);
  void* stack = nullptr;
  std::size_t size_bytes = 0;
  ASSERT_EQ(pthread_attr_getstack(&attributes, &stack, &size_bytes), 0);
  pthread_attr_destroy(&attributes);
  lowest = static_cast<const char*>(stack);
  highest = lowest + size_bytes;
}

// While it lives, the thread that made it gets one signal after another, whose handler looks at the stack pointer.
class Storm {
 public:
  Storm() {
    find_stack_of_this_thread();
    on_stack = elsewhere = 0;
    struct sigaction action {};
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    action.sa_sigaction = look_at_stack_pointer;
    sigaction(SIGUSR1, &action, &before_);
    thread_ = std::thread([this, target = pthread_self()] {
      while (!is_over_) {
        pthread_kill(target, SIGUSR1);
        usleep(50);
      }
    });
  }
  Storm(const Storm&) = delete;
  Storm& operator=(const Storm&) = delete;
  ~Storm() {
    is_over_ = true;
    thread_.join();
    sigaction(SIGUSR1, &before_, nullptr);
  }

 private:
  std::atomic<bool> is_over_{false};
  std::thread thread_;
  struct sigaction before_ {};
};

// oneDNN's kernels for products of this size use the stack pointer as a general register.
void multiply_until(int signals) {
  const Tensor x = ones({200, 200});
  while (on_stack + elsewhere < signals) {
    Tensor y = x;
    for (int i = 0; i < 20; ++i) y = matmul(y, x) * (1.0 / 200);
    for (const float value : y.to_vector<float>()) ASSERT_EQ(value, 1);
  }
}

void expect_handlers_on_stack(const EngineOptions& options) {
  set_engine_options(options);
  matmul(ones({200, 200}), ones({200, 200})).wait();
  {
    const Storm storm;
    multiply_until(500);
  }
  EXPECT_EQ(elsewhere, 0);
  set_engine_options({});
}

TEST(Signals, HandlersRunOnTheStackOfAThreadThatWaits) { expect_handlers_on_stack({.workers = 1}); }
TEST(Signals, HandlersRunOnTheStackOfAThreadThatComputesAtTheCall) {
  expect_handlers_on_stack({.workers = 1, .schedule = Schedule::immediate});
}

#endif

}  // namespace
}  // namespace asyncgrad::tests
