// Elementwise operations, by element type: a file compiles the formulas of one. Internal.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "asyncgrad/backends/broadcast.h"
#include "asyncgrad/backends/cuda/kernels/axis_places.cuh"
#include "asyncgrad/backends/cuda/kernels/elementwise.h"
#include "asyncgrad/backends/cuda/kernels/for_each.cuh"
#include "asyncgrad/backends/cuda/kernels/math.cuh"
#include "asyncgrad/backends/cuda/kernels/pack.cuh"
#include "asyncgrad/backends/element_types.h"

namespace asyncgrad::detail::cuda {

// An input that is laid out as the output is (step 1), or one element for all (step 0), or a number (no data).
template <class T>
struct Input {
  const T* data = nullptr;
  int step = 0;
  T number{};

  __device__ T at(std::int64_t i) const { return data == nullptr ? number : data[i * step]; }
  // The i-th `count` elements.
  template <int count>
  __device__ Elements<T, count> elements(std::int64_t i) const {
    if (step == 1) return elements_at<count>(data, i);
    Elements<T, count> all;
    for (T& x : all.x) x = at(0);
    return all;
  }
};

template <class Formula, class T, std::size_t... K>
__device__ T applied(const T* x, std::index_sequence<K...>) {
  return Formula::apply(Math<T>(), x[K]...);
}
template <class Formula, class T>
__device__ T applied(const T* x) {
  return applied<Formula>(x, std::make_index_sequence<Formula::inputs>());
}

// Each thread computes some elements, as many as lie in a pack, or more if they are smaller than the inputs'. The last
// ones may be fewer. Out is T, or a byte for bool.
template <class Formula, class T, class Out>
struct Packed {
  static constexpr int size = std::is_same_v<T, Out> ? Pack<T>::size : 8;
  Out* out;
  std::int64_t numel;
  Input<T> in[Formula::inputs];

  __device__ void operator()(std::int64_t i) const {
    T x[Formula::inputs];
    if ((i + 1) * size <= numel) {
      Elements<T, size> all[Formula::inputs];
      Elements<Out, size> result;
      for (int k = 0; k < Formula::inputs; ++k) all[k] = in[k].template elements<size>(i);
      for (int j = 0; j < size; ++j) {
        for (int k = 0; k < Formula::inputs; ++k) x[k] = all[k].x[j];
        result.x[j] = static_cast<Out>(applied<Formula>(x));
      }
      elements_at<size>(out, i) = result;
      return;
    }
    for (std::int64_t j = i * size; j < numel; ++j) {
      for (int k = 0; k < Formula::inputs; ++k) x[k] = in[k].at(j);
      out[j] = static_cast<Out>(applied<Formula>(x));
    }
  }
};

// Where the elements of inputs lie that belong to one of the output.
template <int inputs>
AxisPlaces<inputs> places_of(const Broadcast& broadcast) {
  AxisPlaces<inputs> places;
  for (int axis = 0; axis < broadcast.rank(); ++axis) {
    std::int64_t strides[inputs];
    for (int k = 0; k < inputs; ++k) strides[k] = broadcast.stride(k, axis);
    places.add_axis(broadcast.extent(axis), strides);
  }
  return places;
}

// Computes an element of the result at a time. Inputs may be repeated along any axes.
template <class Formula, class T, class Out>
struct Broadcasted {
  Out* out;
  Input<T> in[Formula::inputs];
  AxisPlaces<Formula::inputs> places;

  struct Loaded {
    T x[Formula::inputs];
  };
  __device__ Loaded load(std::int64_t i) const {
    const auto place = places(i);
    Loaded loaded;
    for (int k = 0; k < Formula::inputs; ++k) {
      loaded.x[k] = in[k].data == nullptr ? in[k].number : in[k].data[place.of[k]];
    }
    return loaded;
  }
  __device__ void store(std::int64_t i, const Loaded& loaded) const {
    out[i] = static_cast<Out>(applied<Formula>(loaded.x));
  }
};

// The inputs of a call, and how they lie.
template <class T, int inputs>
struct Inputs {
  Input<T> in[inputs];
  std::array<const Shape*, max_broadcast_inputs> shapes{};
  bool can_be_packed = true;

  explicit Inputs(const KernelCall& call) {
    const auto& attributes = call.attributes<ElementwiseAttributes>();
    int operand = 1;
    for (int k = 0; k < inputs; ++k) {
      if ((attributes.scalar_mask >> k & 1) != 0) {
        in[k].number = number_as<T>(attributes.scalars[static_cast<std::size_t>(k)]);
        continue;
      }
      // It is enough to compare the numbers of elements, because broadcasting never makes an input smaller.
      const std::int64_t numel = call.numel(operand);
      const bool is_flat = numel == call.numel(0);
      shapes[static_cast<std::size_t>(k)] = &call.shape(operand);
      in[k] = {call.data<T>(operand++), is_flat ? 1 : 0};
      can_be_packed = can_be_packed && (numel == 1 || (is_flat && is_aligned_for_packs(in[k].data)));
    }
  }
};

template <class Formula, class T, class Out, std::size_t... K>
void run_formula(const KernelCall& call, std::index_sequence<K...>) {
  const std::int64_t numel = call.numel(0);
  if (numel == 0) return;
  const Inputs<T, Formula::inputs> inputs(call);
  Out* const out = call.data<Out>(0);
  if constexpr (sizeof(T) == 4 || sizeof(Out) == 1) {
    using Packing = Packed<Formula, T, Out>;
    if (inputs.can_be_packed && is_aligned_for_packs(out)) {
      return for_each(call, (numel + Packing::size - 1) / Packing::size, Packing{out, numel, {inputs.in[K]...}});
    }
  }
  const Broadcast broadcast(call.shape(0), inputs.shapes, Formula::inputs);
  for_several(call, numel, Broadcasted<Formula, T, Out>{out, {inputs.in[K]...}, places_of<Formula::inputs>(broadcast)});
}

template <class Formula, class T>
constexpr bool has_form() {
  if (std::is_same_v<T, std::uint8_t>) return Formula::booleans;
  return std::is_floating_point_v<T> || Formula::integers;
}

template <class Formula, class T, class Out>
constexpr ElementwiseRun run_of() {
  if constexpr (has_form<Formula, T>() && (std::is_same_v<T, Out> || Formula::is_predicate)) {
    return
        [](const KernelCall& call) { run_formula<Formula, T, Out>(call, std::make_index_sequence<Formula::inputs>()); };
  } else {
    return nullptr;
  }
}

template <class T, class Out, std::size_t... I>
constexpr ElementwiseTable elementwise_table(std::index_sequence<I...>) {
  return {run_of<std::tuple_element_t<I, formulas::Formulas>, T, Out>()...};
}
template <class T, class Out = T>
constexpr ElementwiseTable elementwise_table() {
  return elementwise_table<T, Out>(std::make_index_sequence<formulas::count>());
}

}  // namespace asyncgrad::detail::cuda
