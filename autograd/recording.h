// Whether operations are recorded. Internal.
#pragma once

namespace asyncgrad::detail {

// While it lives, operations of this thread are recorded, or not.
class Recording {
 public:
  [[nodiscard]] explicit Recording(bool is_on);
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  ~Recording();

 private:
  bool outer_;
};

}  // namespace asyncgrad::detail
