// Tiny operations that are computed at their call. Internal.
#pragma once

#include <array>
#include <cstdint>

#include "asyncgrad/core/engine/front_end/dependencies.h"
#include "asyncgrad/core/engine/front_end/route.h"
#include "asyncgrad/core/engine/submit.h"

namespace asyncgrad::detail {

// Computes a tiny operation on the calling thread if everything is finished that it would wait for, and admission
// allows. The operation takes no number and no place in the queue: its memory counts as taken by the next operation.
//
// Thread safety: under the front end's lock.
class AtCall {
 public:
  AtCall(const ExecutorContext& context, Dependencies& dependencies) : context_(context), dependencies_(dependencies) {}

  enum class Outcome : std::uint8_t {
    computed,    // or failed, or skipped because of a poisoned input
    unfinished,  // it would have to wait for an unfinished operation
    not_here,    // it is not tiny, or must wait for memory: it has to be queued
  };
  // `next`: the number of the next operation in the order of the program.
  Outcome run(const Route& route, const Submission& submission, std::uint64_t next);
  // How many operations were computed at their call.
  std::int64_t count() const { return count_; }

 private:
  static constexpr std::size_t max_operands = 16;

  // Filled while run() goes through the operands, which it does once.
  struct Needs {
    std::int64_t elements = 0, bytes = 0;
    Storage* lacking = nullptr;  // the last storage without memory
    bool has_poison = false;
  };
  bool look(const Submission& submission, Needs& needs);
  void compute(Invocation& invocation, const Needs& needs, std::uint64_t next, const Location& where);
  void fail(Invocation& invocation, std::uint64_t next, bool started, const Location& where);
  void settle_all(const Invocation& invocation, Failure* failure, bool started);

  const ExecutorContext& context_;
  Dependencies& dependencies_;
  std::array<Operand, max_operands> operands_;
  std::array<View, max_operands> views_;
  std::int64_t count_ = 0;
};

}  // namespace asyncgrad::detail
