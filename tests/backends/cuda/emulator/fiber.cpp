#include "tests/backends/cuda/emulator/fiber.h"

#include <cstdint>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef EMULATOR_UNDER_TSAN  // this file is compiled without the thread sanitizer
#include <sanitizer/tsan_interface.h>
#endif

// Keeps on the stack what a function must preserve, puts the stack's top at *from, and goes on with the stack `to`.
// Switching with swapcontext() takes two calls of the system.
extern "C" void emulator_switch_stack(void** from, void* to);
asm(".text\n"
    ".globl emulator_switch_stack\n"
    ".type emulator_switch_stack,@function\n"
    "emulator_switch_stack:\n"
    "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
    "  movq %rsp, (%rdi)\n"
    "  movq %rsi, %rsp\n"
    "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n"
    "  ret\n"
    ".size emulator_switch_stack,.-emulator_switch_stack\n");

namespace asyncgrad::tests::emulator {

namespace {

thread_local Fiber* running = nullptr;

}  // namespace

void Fiber::start(void (*function)(), void* identity) {
  function_ = function;
  identity_ = identity;
  constexpr int preserved = 6;  // registers that emulator_switch_stack() takes from the stack
  const auto end = reinterpret_cast<std::uintptr_t>(stack_.get() + stack_bytes) / 16 * 16;
  auto** top = reinterpret_cast<void**>(end);
  *--top = nullptr;  // run() has no caller to return to
  *--top = reinterpret_cast<void*>(run);
  for (int i = 0; i < preserved; ++i) *--top = nullptr;
  own_top_ = top;
}

void Fiber::resume() {
  running = this;
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_start_switch_fiber(&known_.caller, stack_.get(), stack_bytes);
#endif
#ifdef EMULATOR_UNDER_TSAN
  known_.caller_identity = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(identity_, __tsan_switch_to_fiber_no_sync);
#endif
  emulator_switch_stack(&caller_top_, own_top_);
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(known_.caller, nullptr, nullptr);
#endif
}

void Fiber::pause([[maybe_unused]] bool for_good) {
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_start_switch_fiber(for_good ? nullptr : &known_.own, known_.caller_bottom, known_.caller_bytes);
#endif
#ifdef EMULATOR_UNDER_TSAN
  __tsan_switch_to_fiber(known_.caller_identity, __tsan_switch_to_fiber_no_sync);
#endif
  emulator_switch_stack(&own_top_, caller_top_);
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(known_.own, &known_.caller_bottom, &known_.caller_bytes);
#endif
}

void Fiber::run() {
  Fiber& fiber = *running;
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(nullptr, &fiber.known_.caller_bottom, &fiber.known_.caller_bytes);
#endif
  fiber.function_();
  fiber.pause(true);
}

#ifdef EMULATOR_UNDER_TSAN
void* make_identity() { return __tsan_create_fiber(0); }
void end_identity(void* identity) { __tsan_destroy_fiber(identity); }
void order(void* place) { __tsan_release(place); }
void follow(void* place) { __tsan_acquire(place); }
void order_as(void* identity, void* place) {
  void* const own = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(identity, __tsan_switch_to_fiber_no_sync);
  order(place);
  __tsan_switch_to_fiber(own, __tsan_switch_to_fiber_no_sync);
}
#else
void* make_identity() { return nullptr; }
void end_identity(void*) {}
void order(void*) {}
void follow(void*) {}
void order_as(void*, void*) {}
#endif

}  // namespace asyncgrad::tests::emulator
