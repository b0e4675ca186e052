// One step of a recurrent layer for one sequence of a batch, forwards and backwards. Internal.
#pragma once

#include <cstdint>

#include "asyncgrad/backends/cpu/dispatch.h"
#include "asyncgrad/core/backend/kernels.h"

namespace asyncgrad::detail {

// Rows have n elements; x, z and gates have a part of n elements for each gate. A pointer is null if this kind of layer
// does not have the operand.
template <class T>
struct CellRow {
  std::int64_t n;
  const T *x = nullptr, *z = nullptr;
  const T *h_before = nullptr, *c_before = nullptr;
  T *h = nullptr, *c = nullptr;
  T* gates = nullptr;  // what they became; a GRU's last part is that of z in its new state
};
template <class T>
struct CellGradRow {
  std::int64_t n;
  const T *dy = nullptr, *dh = nullptr;  // the gradients of h by the result and by the next step
  const T *gates = nullptr, *h = nullptr, *h_before = nullptr, *c = nullptr, *c_before = nullptr;
  T *dx = nullptr, *dz = nullptr;
  T *carried_h = nullptr, *carried_c = nullptr;  // read and written: what goes around the product with the weight
};

template <class T>
struct RecurrentRows {
  void (*cell)(RecurrentKind kind, const CellRow<T>& row);
  void (*cell_grad)(RecurrentKind kind, const CellGradRow<T>& row);
};

// The functions for the best instruction set that this processor has.
const FloatingLoops<RecurrentRows>& recurrent_rows();

}  // namespace asyncgrad::detail
