// Computes one element of a recurrent layer's state, and its gradients. The formulas are those of PyTorch's RNN, GRU and
// LSTM. Internal.
#pragma once

#include <cmath>

#include "asyncgrad/backends/recurrent_operands.h"

namespace asyncgrad::detail::cuda {

template <class T>
__device__ T logistic(T x) {
  return T(1) / (T(1) + std::exp(-x));
}
// The derivatives where the functions' value is y.
template <class T>
__device__ T logistic_derivative(T y) {
  return y * (T(1) - y);
}
template <class T>
__device__ T tanh_derivative(T y) {
  return T(1) - y * y;
}

// c is 0 unless the layer is an LSTM, and the gates of an RNN are 0.
template <class T>
struct NewCell {
  T h = 0, c = 0;
  T gates[kept_gates] = {};
};

// x, z: the shares of the input and of the state before, one for each gate.
template <RecurrentKind kind, class T>
__device__ NewCell<T> next_cell(const T* x, const T* z, T h_before, T c_before) {
  if constexpr (kind == RecurrentKind::lstm) {
    const T i = logistic(x[0] + z[0]), f = logistic(x[1] + z[1]), g = std::tanh(x[2] + z[2]), o = logistic(x[3] + z[3]);
    const T c = f * c_before + i * g;
    return {o * std::tanh(c), c, {i, f, g, o}};
  } else if constexpr (kind == RecurrentKind::gru) {
    const T r = logistic(x[0] + z[0]), u = logistic(x[1] + z[1]), share = z[2];
    const T state = std::tanh(x[2] + r * share);
    return {(T(1) - u) * state + u * h_before, T(0), {r, u, state, share}};
  } else if constexpr (kind == RecurrentKind::relu) {
    const T sum = x[0] + z[0];
    return {sum < T(0) ? T(0) : sum};
  } else {
    return {std::tanh(x[0] + z[0])};
  }
}

// Has what the gradient of an element reads; what a kind of layer does not have is 0.
template <class T>
struct OldCell {
  T gates[kept_gates] = {};
  T h = 0, h_before = 0, c = 0, c_before = 0;
};
template <class T>
struct CellGradients {
  T dx[kept_gates] = {}, dz[kept_gates] = {};  // of each gate
  T h = 0, c = 0;                              // of the state before, what goes around the product with the weight
};

// dh: the whole gradient of h; dc: what later steps give c.
template <RecurrentKind kind, class T>
__device__ CellGradients<T> cell_gradients(const OldCell<T>& old, T dh, T dc) {
  CellGradients<T> grad;
  if constexpr (kind == RecurrentKind::lstm) {
    const T i = old.gates[0], f = old.gates[1], g = old.gates[2], o = old.gates[3], level = std::tanh(old.c);
    const T whole_dc = dc + dh * o * tanh_derivative(level);
    grad.dx[0] = whole_dc * g * logistic_derivative(i);
    grad.dx[1] = whole_dc * old.c_before * logistic_derivative(f);
    grad.dx[2] = whole_dc * i * tanh_derivative(g);
    grad.dx[3] = dh * level * logistic_derivative(o);
    grad.c = whole_dc * f;
  } else if constexpr (kind == RecurrentKind::gru) {
    const T r = old.gates[0], u = old.gates[1], state = old.gates[2], share = old.gates[3];
    const T dstate = dh * (T(1) - u) * tanh_derivative(state);
    grad.dx[0] = dstate * share * logistic_derivative(r);
    grad.dx[1] = dh * (old.h_before - state) * logistic_derivative(u);
    grad.dx[2] = dstate;
    grad.h = dh * u;
  } else if constexpr (kind == RecurrentKind::relu) {
    grad.dx[0] = old.h > T(0) ? dh : T(0);
  } else {
    grad.dx[0] = dh * tanh_derivative(old.h);
  }
  for (int gate = 0; gate < gate_count(kind); ++gate) grad.dz[gate] = grad.dx[gate];
  if constexpr (kind == RecurrentKind::gru) grad.dz[2] = grad.dx[2] * old.gates[0];
  return grad;
}

// Calls function.operator()<kind>().
template <class Function>
void visit_kind(RecurrentKind kind, Function function) {
  switch (kind) {
    case RecurrentKind::tanh:
      return function.template operator()<RecurrentKind::tanh>();
    case RecurrentKind::relu:
      return function.template operator()<RecurrentKind::relu>();
    case RecurrentKind::gru:
      return function.template operator()<RecurrentKind::gru>();
    case RecurrentKind::lstm:
      return function.template operator()<RecurrentKind::lstm>();
  }
}

}  // namespace asyncgrad::detail::cuda
