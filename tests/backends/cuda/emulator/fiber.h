// A function with a stack of its own, which pauses and goes on. The sanitizers are told of it.
#pragma once

#include <cstddef>
#include <memory>

namespace asyncgrad::tests::emulator {

// One thread of the system makes, resumes and ends a fiber. It may be started again after its function has returned.
class Fiber {
 public:
  Fiber() : stack_(new std::byte[stack_bytes]) {}

  // The next resume() begins the function, as this thread to the thread sanitizer.
  void start(void (*function)(), void* identity);
  // Goes on with the function until it pauses or returns.
  void resume();
  // Of the fiber that runs: goes back to resume(), for good if the function is about to return.
  void pause(bool for_good = false);

 private:
  static void run();

  static constexpr std::size_t stack_bytes = std::size_t{64} << 10;
  const std::unique_ptr<std::byte[]> stack_;
  void (*function_)() = nullptr;
  void* own_top_ = nullptr;     // of the stack, while it is paused
  void* caller_top_ = nullptr;  // while it runs
  void* identity_ = nullptr;
  // What the sanitizers know the stacks by.
  struct Known {
    void *own = nullptr, *caller = nullptr, *caller_identity = nullptr;
    const void* caller_bottom = nullptr;
    std::size_t caller_bytes = 0;
  };
  [[maybe_unused]] Known known_;
};

// What the thread sanitizer takes for threads. Without it these do nothing.
void* make_identity();
void end_identity(void* identity);
// All that came before order(place) is before all that comes after a later follow(place).
void order(void* place);
void follow(void* place);
void order_as(void* identity, void* place);  // what that thread, which does not run, did before

}  // namespace asyncgrad::tests::emulator
