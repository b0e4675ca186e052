// The operands of one step of a recurrent layer. Internal.
#pragma once

#include <cstdint>

#include "asyncgrad/core/backend/kernels.h"

namespace asyncgrad::detail {

// Those of one sequence of a batch: the first one's, unless at() made it. Rows have n elements; x, z and gates have a
// part of n elements for each gate. A pointer is null if this kind of layer does not have the operand.
template <class T>
struct CellRow {
  std::int64_t n;
  const T *x = nullptr, *z = nullptr;
  const T *h_before = nullptr, *c_before = nullptr;
  T *h = nullptr, *c = nullptr;
  T* gates = nullptr;  // what they became; a GRU's last part is that of z in its new state

  constexpr CellRow at(RecurrentKind kind, std::int64_t sequence) const;
};
template <class T>
struct CellGradRow {
  std::int64_t n;
  const T *dy = nullptr, *dh = nullptr;  // the gradients of h by the result and by the next step
  const T *gates = nullptr, *h = nullptr, *h_before = nullptr, *c = nullptr, *c_before = nullptr;
  T *dx = nullptr, *dz = nullptr;
  T *carried_h = nullptr, *carried_c = nullptr;  // read and written: what goes around the product with the weight

  constexpr CellGradRow at(RecurrentKind kind, std::int64_t sequence) const;
};

inline constexpr int kept_gates = 4;  // the parts of `gates`, of a GRU, too

template <class T>
constexpr T* moved(T* operand, std::int64_t elements) {
  return operand == nullptr ? nullptr : operand + elements;
}
template <class T>
constexpr CellRow<T> CellRow<T>::at(RecurrentKind kind, std::int64_t sequence) const {
  const std::int64_t row = sequence * n, gated = row * gate_count(kind);
  return {.n = n,
          .x = moved(x, gated),
          .z = moved(z, gated),
          .h_before = moved(h_before, row),
          .c_before = moved(c_before, row),
          .h = moved(h, row),
          .c = moved(c, row),
          .gates = moved(gates, row * kept_gates)};
}
template <class T>
constexpr CellGradRow<T> CellGradRow<T>::at(RecurrentKind kind, std::int64_t sequence) const {
  const std::int64_t row = sequence * n, gated = row * gate_count(kind);
  return {.n = n,
          .dy = moved(dy, row),
          .dh = moved(dh, row),
          .gates = moved(gates, row * kept_gates),
          .h = moved(h, row),
          .h_before = moved(h_before, row),
          .c = moved(c, row),
          .c_before = moved(c_before, row),
          .dx = moved(dx, gated),
          .dz = moved(dz, gated),
          .carried_h = moved(carried_h, row),
          .carried_c = moved(carried_c, row)};
}

// The kinds of layers have their operands in one order, though not all of them.
template <class T>
class OperandsInOrder {
 public:
  explicit OperandsInOrder(const KernelCall& call) : call_(call) {}
  T* next(bool is_there = true) { return is_there ? call_.data<T>(next_++) : nullptr; }

 private:
  const KernelCall& call_;
  int next_ = 0;
};

constexpr bool has_gates(RecurrentKind kind) { return kind == RecurrentKind::lstm || kind == RecurrentKind::gru; }

template <class T>
CellRow<T> first_cell_row(const KernelCall& call) {
  const RecurrentKind kind = call.attributes<RecurrentAttributes>().kind;
  const bool has_c = kind == RecurrentKind::lstm;
  OperandsInOrder<T> operands(call);
  CellRow<T> row{.n = call.shape(0)[-1]};
  row.h = operands.next();
  row.c = operands.next(has_c);
  row.gates = operands.next(has_gates(kind));
  row.x = operands.next();
  row.z = operands.next();
  row.h_before = operands.next();
  row.c_before = operands.next(has_c);
  return row;
}
template <class T>
CellGradRow<T> first_cell_grad_row(const KernelCall& call) {
  const RecurrentKind kind = call.attributes<RecurrentAttributes>().kind;
  const bool has_c = kind == RecurrentKind::lstm, is_gru = kind == RecurrentKind::gru;
  OperandsInOrder<T> operands(call);
  CellGradRow<T> row{.n = call.shape(0)[-1] / gate_count(kind)};
  row.dx = operands.next();
  row.dz = operands.next(is_gru);
  row.carried_h = operands.next();
  row.carried_c = operands.next(has_c);
  row.dy = operands.next();
  row.dh = operands.next();
  row.gates = operands.next(has_gates(kind));
  row.h = operands.next(!has_gates(kind));
  row.c = operands.next(has_c);
  row.c_before = operands.next(has_c);
  row.h_before = operands.next(is_gru);
  return row;
}

// Of the batch's sequences; null if all are as long as the input. Those that are no longer than the step keep their
// state.
inline const std::int64_t* lengths_of(const KernelCall& call) {
  const bool is_there = call.attributes<RecurrentAttributes>().has_lengths;
  return is_there ? call.data<std::int64_t>(call.view_count - 1) : nullptr;
}

}  // namespace asyncgrad::detail
