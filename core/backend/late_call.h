// A kernel's call that runs long after its operation was issued. Internal.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <vector>

#include "asyncgrad/core/backend/kernels.h"

namespace asyncgrad::detail {

// A copy that outlives the operation's entry. Only the memory must still be there when it runs.
class LateCall {
 public:
  // The call's attributes are those of an entry, of which max_attribute_bytes can be read.
  LateCall(const Kernel& kernel, const KernelCall& call)
      : kernel_(&kernel), views_(call.views, call.views + call.view_count), scratch_(call.scratch) {
    std::memcpy(attributes_.data(), call.attributes_bytes, attributes_.size());
  }

  const Kernel& kernel() const { return *kernel_; }
  // The call refers to this object.
  KernelCall call() const { return {views_.data(), static_cast<int>(views_.size()), attributes_.data(), scratch_}; }

  // Whether a call runs the same kernel on the same shapes and types.
  bool is_like(const Kernel& kernel, const KernelCall& call) const {
    return kernel_ == &kernel &&
           std::equal(views_.begin(), views_.end(), call.views, call.views + call.view_count,
                      [](const View& a, const View& b) { return a.dtype == b.dtype && a.shape == b.shape; });
  }
  // Whether `other`, which is_like() this one, also has the same addresses and attributes, so that it does the same.
  bool is_same(const LateCall& other) const {
    return scratch_ == other.scratch_ && attributes_ == other.attributes_ &&
           std::ranges::equal(views_, other.views_, {}, &View::data, &View::data);
  }

 private:
  const Kernel* kernel_;
  std::vector<View> views_;
  std::byte* scratch_;
  alignas(16) std::array<std::byte, max_attribute_bytes> attributes_{};
};

}  // namespace asyncgrad::detail
