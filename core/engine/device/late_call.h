// A kernel's call that runs when its operation is long issued. Internal.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <vector>

#include "asyncgrad/core/backend/kernels.h"
#include "asyncgrad/core/engine/submit.h"
#include "asyncgrad/core/memory/storage.h"

namespace asyncgrad::detail {

// A copy that outlives the operation's record and its storages: only the memory must be there when it runs.
class LateCall {
 public:
  LateCall(const Kernel& kernel, const KernelCall& call)
      : kernel_(&kernel),
        operands_(call.operands, call.operands + call.operand_count),
        storages_(std::make_unique<Storage[]>(operands_.size())),
        scratch_(call.scratch) {
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      const Storage& storage = *operands_[i].storage;
      storages_[i].data = storage.data;
      storages_[i].size_bytes = storage.size_bytes;
      storages_[i].value_bytes = storage.value_bytes;
      storages_[i].device = storage.device;
      operands_[i].storage = &storages_[i];
    }
    std::memcpy(attributes_.data(), call.attributes_bytes, attributes_.size());
  }

  const Kernel& kernel() const { return *kernel_; }
  // As long as this lives.
  KernelCall call() const {
    return {operands_.data(), static_cast<int>(operands_.size()), attributes_.data(), scratch_};
  }

  // The same kernel on the same shapes and types.
  bool is_like(const Kernel& kernel, const KernelCall& call) const {
    return kernel_ == &kernel &&
           std::equal(operands_.begin(), operands_.end(), call.operands, call.operands + call.operand_count,
                      [](const Operand& a, const Operand& b) { return a.dtype == b.dtype && a.shape == b.shape; });
  }
  // Of one like it: also the same places and attributes, so that it does the same.
  bool is_same(const LateCall& other) const {
    return scratch_ == other.scratch_ && attributes_ == other.attributes_ &&
           std::ranges::equal(operands_, other.operands_, {}, address, address);
  }

 private:
  static const std::byte* address(const Operand& operand) { return operand.storage->data + operand.offset_bytes; }

  const Kernel* kernel_;
  std::vector<Operand> operands_;
  std::unique_ptr<Storage[]> storages_;  // of each operand, with what a kernel sees
  std::byte* scratch_;
  alignas(16) std::array<std::byte, max_attribute_bytes> attributes_{};
};

}  // namespace asyncgrad::detail
