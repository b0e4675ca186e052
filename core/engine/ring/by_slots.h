// Objects for each size of the ring. Internal.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <memory>

namespace asyncgrad::detail {

// One object for each number of slots that was asked for, a power of two, by its logarithm. All of them are kept, because
// threads may still read those of other sizes.
template <class T>
class BySlots {
 public:
  // Made of the number of slots and `others` the first time.
  template <class... Others>
  T& get(std::size_t slots, const Others&... others) {
    std::unique_ptr<T>& made = all_[static_cast<std::size_t>(std::countr_zero(slots))];
    if (made == nullptr) made = std::make_unique<T>(slots, others...);
    return *made;
  }

 private:
  std::array<std::unique_ptr<T>, 64> all_;
};

}  // namespace asyncgrad::detail
