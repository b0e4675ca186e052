#include "asyncgrad/core/engine/schedule/ready.h"

#include <bit>

namespace asyncgrad::detail {

std::uint64_t ReadyInOrder::next(Search& search, const Awaited* among) const {
  const std::int64_t behind = members_.nearest(ring_.slot(search.first), search.skip, among);
  if (behind < 0) return 0;
  search.skip = static_cast<std::size_t>(behind) + 1;
  const std::uint64_t number = search.first + static_cast<std::uint64_t>(behind);
  return number <= search.limit ? number : 0;
}

void ReadyByArrival::add(std::uint64_t number) {
  const SpinLockGuard lock(lock_);
  line_[end_++ % line_.size()] = number;
}

void ReadyByArrival::add_all(std::uint64_t first, std::uint64_t operations) {
  for (; operations != 0; operations &= operations - 1) {
    add(first + static_cast<std::uint64_t>(std::countr_zero(operations)));
  }
}

std::uint64_t ReadyByArrival::next(Search& search) {
  const std::uint64_t number = take_first(search);
  return number != 0 ? number : open_.next(search);
}

std::uint64_t ReadyByArrival::take_first(Search& search) {
  const SpinLockGuard lock(lock_);
  if (search.tries_left < 0) search.tries_left = static_cast<std::ptrdiff_t>(end_ - begin_);
  if (search.tries_left == 0 || begin_ == end_) return 0;
  const std::uint64_t number = line_[begin_ % line_.size()];
  if (number > search.limit) return 0;
  --search.tries_left;
  ++begin_;
  return number;
}

bool ReadyByArrival::any() const {
  {
    const SpinLockGuard lock(lock_);
    if (begin_ != end_) return true;
  }
  return open_.any();
}

}  // namespace asyncgrad::detail
