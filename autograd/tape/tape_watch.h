// A watch notes the operations that a thread records while it lives. Internal.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "asyncgrad/autograd/tape/node.h"

namespace asyncgrad::detail {

// While it lives, it notes which operations this thread records, and which tensors with a history from before they
// read.
class TapeWatch {
 public:
  TapeWatch();
  TapeWatch(const TapeWatch&) = delete;
  TapeWatch& operator=(const TapeWatch&) = delete;
  ~TapeWatch();

  // Notes an operation that this thread records.
  static void note(Op op, std::span<const Tensor> inputs);
  // Whether the tensor has a history from before.
  bool is_older(const Tensor& tensor) const;
  const std::vector<Tensor>& found() const { return found_; }
  bool has_seen(Op op) const { return operations_[static_cast<std::size_t>(op)]; }

 private:
  void see(Op op, std::span<const Tensor> inputs);

  std::uint64_t first_;
  std::vector<Tensor> found_;
  NodeSet seen_;
  std::array<bool, op_count + 1> operations_{};
  TapeWatch* outer_;
};

}  // namespace asyncgrad::detail
