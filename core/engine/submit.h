// How autograd/ hands an operation to the engine. Internal.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <span>
#include <type_traits>

#include "asyncgrad/core/backend/kernels.h"
#include "asyncgrad/core/location.h"
#include "asyncgrad/core/tensor.h"

namespace asyncgrad::detail {

// An operand; its tensor is defined, and lives until submit() returns.
struct OperandRef {
  const TensorImpl* impl;
  Access access;
};
inline OperandRef reads(const Tensor& tensor) { return {tensor.impl(), Access::read}; }
inline OperandRef writes(const Tensor& tensor) { return {tensor.impl(), Access::write}; }    // every element, unread
inline OperandRef updates(const Tensor& tensor) { return {tensor.impl(), Access::update}; }  // in place
// The operand is written in place, and an earlier operation has begun to make it: recover() does not bring it back.
inline OperandRef finishes(const Tensor& tensor) { return {tensor.impl(), Access::finish}; }

// Operands of an operation of which some may be missing.
class OperandList {
 public:
  void add(OperandRef operand) { operands_[count_++] = operand; }
  // These add nothing for Tensor{}.
  void add_reads(const Tensor& tensor) {
    if (tensor.defined()) add(reads(tensor));
  }
  void add_writes(const Tensor& tensor) {
    if (tensor.defined()) add(writes(tensor));
  }
  operator std::span<const OperandRef>() const { return {operands_.data(), count_}; }

 private:
  std::array<OperandRef, 12> operands_;
  std::size_t count_ = 0;
};

struct NoAttributes {
  std::uint8_t none = 0;
};

// An operation to be queued. It is valid during the call alone.
struct Submission {
  Op op;
  std::span<const OperandRef> operands;  // outputs first; on one device (`copy` between devices aside)
  const void* attributes;
  std::size_t attribute_bytes;
  const Location& where;
  // The object that the attributes point to, if any. The operation owns a share of it until it has ended.
  const std::shared_ptr<const void>* owned = nullptr;
};

// Queues one operation. May wait for room in the queue. Throws Error if the device has no kernel for it; under
// Schedule::immediate also what the operation itself throws. Any thread may call it.
void submit(const Submission& submission);
// The same without the planner.
void submit_as_it_is(const Submission& submission);
// Whether the device of the tensor has a kernel for it; an operation may be made of others where it has none.
bool has_kernel(Op op, const Tensor& on);
// What computing the operation takes, in scalar operations: what its kernel says, or 16 for each byte of its operands
// if that is more.
std::int64_t work_of(const Submission& submission);
// Whether recover() was called after the computation of the value had failed; nothing has overwritten it since. Does not
// wait for operations. Any thread may call it.
bool is_lost(const Tensor& tensor);
// Called before Op::source is queued for a part of the CPU. Waits until everything is finished if it is the first time
// since the options were set.
void prepare_for_sources(Device device);
// The same for Op::collective. `threads`: how many of them may run at once. There is one for each process, unless a test
// has several of them in this process. The call that makes them decides.
void prepare_for_collectives(Device device, int threads);
// Workspace of the calling thread, 64-byte aligned, for a Collective that runs on it: its last workspace is then gone.
// Counted as that of kernels. Throws std::bad_alloc.
std::byte* workspace(Device device, std::int64_t size_bytes);
// The calling thread's workspace is never freed, nor given to it again, because something outside of the engine may still
// write to it.
void abandon_workspace();
// Whether a thread computes an operation of the device at this moment; copies, sources and collectives do not count. Any
// thread may ask while an operation is under way.
bool is_computing(Device device);
// Makes sure that everything queued so far is computed even if the process ends, by exit() or the return from main, see
// life/process.h. Throws Error if the end has begun.
void compute_before_exit();

template <class Attributes = NoAttributes>
void submit(Op op, std::span<const OperandRef> operands, const Attributes& attributes, const Location& where) {
  static_assert(sizeof(Attributes) <= max_attribute_bytes && std::is_trivially_copyable_v<Attributes>);
  submit(Submission{op, operands, &attributes, sizeof(Attributes), where});
}
template <class Attributes = NoAttributes>
void submit(Op op, std::initializer_list<OperandRef> operands, const Attributes& attributes, const Location& where) {
  submit(op, std::span<const OperandRef>(operands.begin(), operands.size()), attributes, where);
}

}  // namespace asyncgrad::detail
