// A range of indices. Internal.
#pragma once

#include <cstdint>

namespace asyncgrad::detail {

struct Range {
  std::int64_t begin, end;
  bool operator==(const Range&) const = default;
};

}  // namespace asyncgrad::detail
