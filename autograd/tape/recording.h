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

// While it lives, is_recomputing() is true, and is_training() returns the given value.
class Recomputation {
 public:
  [[nodiscard]] explicit Recomputation(bool is_training);
  Recomputation(const Recomputation&) = delete;
  Recomputation& operator=(const Recomputation&) = delete;
  ~Recomputation();

 private:
  bool outer_, outer_training_;
};

}  // namespace asyncgrad::detail
