// Gradients of tables that are kept by rows. Internal.
#pragma once

#include <vector>

#include "asyncgrad/core/location.h"
#include "asyncgrad/core/tensor.h"

namespace asyncgrad::detail {

// The gradient of a table (K, …), seen as (K, C), of which a few rows were used: a list of (index, row) for every use,
// n in all. It takes memory by n, not by K. Nothing here waits for a value: shapes depend on n alone.
class RowGradient {
 public:
  bool is_empty() const { return parts_.empty(); }
  // Whether a part of it is lost, see submit.h.
  bool is_lost() const;
  void clear() { *this = RowGradient(); }
  // Adds dy (…, C) at the indices (…) int64. Keeps copies, unless no other handle shares dy's values.
  void add(const Tensor& indices, const Tensor& dy);
  // Queues the addition to dx, in the order in which gradients were added, and drops what is kept.
  void move_to(const Tensor& dx);

  struct Combined {
    Tensor indices;  // (n)
    Tensor places;   // (n) int64: the first place with the same index
    Tensor sums;     // (n, C): there the sum of all rows with this index, in their order; elsewhere 0
  };
  // The same gradient, in which every index has one row. Queued at the first call after add(). A program may write the
  // sums in place. May wait for room. Throws Error for a device that has no kernel for it.
  Combined combined(std::int64_t table_rows, Location where);

 private:
  struct Part {
    Tensor indices, rows;  // (n), (n, C)
  };
  void join(Location where);

  std::vector<Part> parts_;
  Tensor places_;  // of the only part, whose rows are sums then; otherwise Tensor{}
};

// The gradient of a leaf that is kept by rows; null for any other tensor.
RowGradient* row_gradient_of(const Tensor& tensor);

}  // namespace asyncgrad::detail
