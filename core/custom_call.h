// An operation as a kernel of one's own sees it; see autograd/custom.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "asyncgrad/core/dtype.h"
#include "asyncgrad/core/shape.h"

namespace asyncgrad {

namespace detail {
struct KernelCall;
struct CustomKernel;
}  // namespace detail

// The elements of every tensor lie one behind the other, the last axis running fastest. They are valid while the kernel
// runs, and no longer. Every function throws Error for an index out of range, and for an element type other than the
// tensor's. On a GPU the elements are in the device's memory.
class CustomCall {
 public:
  template <class T>
  std::span<const T> input(int i) const {
    return {static_cast<const T*>(input_elements(i, dtype_of<T>)), static_cast<std::size_t>(input_shape(i).numel())};
  }
  // An output, of which the kernel must write every element.
  template <class T>
  std::span<T> output(int i = 0) const {
    return {static_cast<T*>(output_elements(i, dtype_of<T>)), static_cast<std::size_t>(output_shape(i).numel())};
  }
  // An input that the kernel may write, see CustomOptions::in_place.
  template <class T>
  std::span<T> in_place(int i) const {
    return {static_cast<T*>(in_place_elements(i, dtype_of<T>)), static_cast<std::size_t>(input_shape(i).numel())};
  }
  const Shape& input_shape(int i) const;
  const Shape& output_shape(int i = 0) const;
  DType input_dtype(int i) const;
  DType output_dtype(int i = 0) const;

  // The kernel runs once for each of CustomOptions::tiles, perhaps several at once, and in any order.
  int tile() const { return tile_; }
  int tiles() const;
  // The tile's part of `count` items, such as rows: from .first up to, but not including, .second.
  std::pair<std::int64_t, std::int64_t> part_of(std::int64_t count) const;
  // Scratch memory of CustomOptions::scratch_bytes, 64-byte aligned, which belongs to the calling thread while the
  // kernel runs.
  std::span<std::byte> scratch() const;
  // The cudaStream_t on which a kernel's form for CUDA has to put its work, and no other. Null in the form for the CPU.
  void* stream() const { return stream_; }

  // The library makes it.
  CustomCall(const detail::KernelCall& call, int tile, void* stream) : call_(call), tile_(tile), stream_(stream) {}
  CustomCall(const CustomCall&) = delete;
  CustomCall& operator=(const CustomCall&) = delete;

 private:
  const detail::CustomKernel& kernel() const;
  int input_view(int i) const;
  int output_view(int i) const;
  void* elements(const char* kind, int i, int view, DType dtype) const;
  const void* input_elements(int i, DType dtype) const;
  void* output_elements(int i, DType dtype) const;
  void* in_place_elements(int i, DType dtype) const;

  const detail::KernelCall& call_;
  int tile_;
  void* stream_;
};

}  // namespace asyncgrad
