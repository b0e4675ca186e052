// One step of a recurrent layer for one sequence of a batch, forwards and backwards. Internal.
#pragma once

#include "asyncgrad/backends/cpu/dispatch.h"
#include "asyncgrad/backends/recurrent_operands.h"

namespace asyncgrad::detail {

template <class T>
struct RecurrentRows {
  void (*cell)(RecurrentKind kind, const CellRow<T>& row);
  void (*cell_grad)(RecurrentKind kind, const CellGradRow<T>& row);
};

// The functions for the best instruction set that this processor has.
const FloatingLoops<RecurrentRows>& recurrent_rows();

}  // namespace asyncgrad::detail
