// A kernel's call that is run when its operation is long issued.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "asyncgrad/core/engine/submit.h"
#include "asyncgrad/core/kernels.h"
#include "asyncgrad/core/storage/storage.h"

namespace asyncgrad::tests {

// It outlives its record and its storages: only the memory is there when it runs.
class LateCall {
 public:
  LateCall(const detail::Kernel& kernel, const detail::KernelCall& call) : kernel_(&kernel), call_(call) {
    std::map<const detail::Storage*, detail::Storage*> stands_for;
    operands_.assign(call.operands, call.operands + call.operand_count);
    for (detail::Operand& operand : operands_) {
      detail::Storage*& storage = stands_for[operand.storage];
      if (storage == nullptr) {
        storages_.push_back(
            std::unique_ptr<detail::Storage>(new detail::Storage{.data = operand.storage->data,
                                                                 .size_bytes = operand.storage->size_bytes,
                                                                 .value_bytes = operand.storage->value_bytes,
                                                                 .device = operand.storage->device}));
        storage = storages_.back().get();
      }
      operand.storage = storage;
    }
    std::memcpy(attributes_.data(), call.attributes_bytes, attributes_.size());
    call_.operands = operands_.data();
    call_.attributes_bytes = attributes_.data();
  }
  void run() const {
    const int tiles = kernel_->tiles == nullptr ? 1 : kernel_->tiles(call_);
    for (int tile = 0; tile < tiles; ++tile) kernel_->run(call_, tile);
  }

 private:
  const detail::Kernel* kernel_;
  detail::KernelCall call_;
  std::vector<detail::Operand> operands_;
  std::vector<std::unique_ptr<detail::Storage>> storages_;
  alignas(16) std::array<std::byte, detail::max_attribute_bytes> attributes_{};
};

}  // namespace asyncgrad::tests
