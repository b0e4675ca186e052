// Tensor, the handle that every operation takes and returns.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "asyncgrad/core/call_site.h"
#include "asyncgrad/core/device.h"
#include "asyncgrad/core/dtype.h"
#include "asyncgrad/core/index.h"
#include "asyncgrad/core/location.h"
#include "asyncgrad/core/scalar.h"
#include "asyncgrad/core/shape.h"

namespace asyncgrad {

class Arg;
class Node;  // a node of the tape, see autograd/
namespace detail {
struct TensorImpl;
}

// The position of a row, and the line where it was written. Every integer type except bool converts to it.
class RowIndex {
 public:
  // Throws Error for an integer that int64 cannot hold.
  template <std::integral T>
  requires(!std::same_as<T, bool>)
      RowIndex(T position, const char* file = __builtin_FILE(),  // NOLINT(google-explicit-constructor): for `x[0]`
               int line = __builtin_LINE())
      : RowIndex(position, Location{file, line}) {}
  template <std::integral T>
  requires(!std::same_as<T, bool>) RowIndex(T position, const Location& where)
      : position_(Scalar(position).as_int64()), where_(where) {}

  std::int64_t position() const { return position_; }
  const Location& where() const { return where_; }

 private:
  std::int64_t position_;
  Location where_;
};

// A shared handle to an array of values, which may not be computed yet. Copying a handle shares the values, `=` rebinds
// the handle, `clone()` copies the values; `+=` and functions whose names end in `_` write the shared values. Values
// are contiguous and row major; `reshape`, `x[0]` and slices of leading rows share storage, see autograd/shape.h.
// Shape, type and device are known at once, values later.
//
// `Tensor{}` holds nothing, and every operation on it throws Error. One thread at a time may use a handle. Several
// threads may each hold a handle of the same tensor, and may read it at once.
class Tensor {
 public:
  Tensor() = default;
  Tensor(const Tensor& other) noexcept;
  Tensor(Tensor&& other) noexcept : impl_(std::exchange(other.impl_, nullptr)) {}
  // Not of a temporary: `x(0) = y` would change nothing, x(0).copy_(y) does.
  Tensor& operator=(const Tensor& other) & noexcept;
  Tensor& operator=(Tensor&& other) & noexcept {
    Tensor moved(std::move(other));  // leaves `other` empty; after the swap it releases this handle's old value
    std::swap(impl_, moved.impl_);
    return *this;
  }
  // Never blocks. A tensor that queued operations use may be destroyed.
  ~Tensor() {
    if (impl_ != nullptr) drop();
  }

  // A tensor of `values` in row-major order, which are copied before the call returns: a std::vector, std::array,
  // std::span or C array. Its type is that of the values: float, double, int64_t, int32_t, uint8_t, BFloat16 or bool.
  // May wait for room in memory. Throws Error if the number of values is not shape.numel().
  template <Contiguous Values>
  static Tensor from(const Values& values, const Shape& shape, Device device = default_device(),
                     Location where = Location::current()) {
    return from_bytes(std::data(values), std::size(values), dtype_of<ElementOf<Values>>, shape, device, where);
  }
  static Tensor from(const std::vector<bool>& values, const Shape& shape, Device device = default_device(),
                     Location where = Location::current());
  // Does the same for values whose type is named: `from<float>({1, 2}, {2})`.
  template <class T>
  static Tensor from(std::span<const std::type_identity_t<T>> values, const Shape& shape,
                     Device device = default_device(), Location where = Location::current()) {
    return from_bytes(values.data(), values.size(), dtype_of<T>, shape, device, where);
  }
  template <class T>
  static Tensor from(std::initializer_list<std::type_identity_t<T>> values, const Shape& shape,
                     Device device = default_device(), Location where = Location::current()) {
    return from_bytes(std::data(values), values.size(), dtype_of<T>, shape, device, where);
  }
  // Does the same for a list whose type is not named: `from({1.5F, 2.5F}, {2})`. A container has chosen the type of its
  // integers; a list has not, and gives int64, in which operations compute. Both serve as labels and indices.
  template <class Named = void, class T>
  requires std::same_as<Named, void>
  static Tensor from(std::initializer_list<T> values, const Shape& shape, Device device = default_device(),
                     Location where = Location::current()) {
    if constexpr (std::integral<T> && !std::same_as<T, bool>) {
      return from(std::vector<std::int64_t>(values.begin(), values.end()), shape, device, where);
    } else {
      return from_bytes(std::data(values), values.size(), dtype_of<T>, shape, device, where);
    }
  }
  // Does the same for a list in which integers and fractions are mixed, `from({1, 2.5}, {2})`: it gives the default
  // type. Throws Error for a number that the type cannot hold.
  static Tensor from(std::initializer_list<Scalar> values, const Shape& shape, Device device = default_device(),
                     Location where = Location::current());

  bool defined() const { return impl_ != nullptr; }
  const Shape& shape() const;
  std::int64_t numel() const { return shape().numel(); }
  int rank() const { return shape().rank(); }
  // The extent of an axis; negative axes count from the end.
  std::int64_t size(int axis) const { return shape()[axis]; }
  DType dtype() const;
  Device device() const;

  // --- Blocking. ---
  // Each of these waits until the value is computed, and computes meanwhile. It throws the Error of the first failed
  // operation on which the value depends.
  void wait(Location where = Location::current()) const;
  // The only element as a double. Throws Error if there is not exactly one.
  double item(Location where = Location::current()) const;
  // The only element, without conversion. Throws Error if there is not exactly one or T is not the tensor's type.
  template <class T>
  T item(Location where = Location::current()) const {
    T value;
    copy_to_host(&value, 1, dtype_of<T>, "item", where);
    return value;
  }
  // All elements in row-major order. Throws Error if T is not the tensor's type.
  template <class T>
  std::vector<T> to_vector(Location where = Location::current()) const {
    const std::int64_t count = defined() ? numel() : 0;
    std::vector<std::conditional_t<std::same_as<T, bool>, std::uint8_t, T>> values(static_cast<std::size_t>(count));
    copy_to_host(values.data(), count, dtype_of<T>, "to_vector", where);
    if constexpr (std::same_as<T, bool>) {
      return {values.begin(), values.end()};
    } else {
      return values;
    }
  }
  // The values, shape and type as text, with long axes abbreviated.
  std::string str() const;

  // --- Not blocking. ---
  // Whether every queued operation that writes the value has finished, so that wait() would return, or throw, at once.
  // Also true if one of them failed: what reads the value throws then. Views share their values, and are ready together.
  // True stays true until an operation is queued that writes the value. May be called on any thread, also inside an
  // operation. Throws Error for Tensor{}.
  bool is_ready(Location where = Location::current()) const;

  // --- Differentiable operations, which are queued; the headers of autograd/ describe them (shape.h, copy.h). ---
  Tensor reshape(const NewShape& shape,
                 Location where = Location::current()) const;  // shares storage; one extent may be -1
  Tensor transpose(int axis_a = -2, int axis_b = -1, Location where = Location::current()) const;
  Tensor slice(std::int64_t begin, std::int64_t end,
               Location where = Location::current()) const;  // rows; shares storage
  Tensor operator[](const RowIndex& row) const;              // x[0]; shares storage
  // x(ag::all, ag::range(1, 4), -1) is Python's x[:, 1:4, -1]; see core/index.h. Axes without an index are whole. It
  // shares storage, and can be written in place, if it is written as positions, then at most one range with a step of
  // 1, then whole axes: x(2), x(0, ag::range(1, 3)), x(ag::range(0, 4)). Otherwise it is a copy by one operation. Throws
  // Error, which shows the axis, the index and the shape, for positions that do not exist; bounds are not clamped.
  Tensor operator()(const Index& first, const Index& second = {}, const Index& third = {}, const Index& fourth = {},
                    const Index& fifth = {}, const Index& sixth = {}, const Index& seventh = {},
                    const Index& eighth = {}, Location where = Location::current()) const;
  Tensor to(Device device, Location where = Location::current()) const;  // itself if it is there already
  Tensor to(DType dtype, Location where = Location::current()) const;    // itself if it has that type already
  Tensor clone(Location where = Location::current()) const;
  Tensor& operator+=(const Arg& other);  // NOLINT(misc-unconventional-assign-operator)
  Tensor& operator+=(const Scalar& value);
  Tensor& operator-=(const Arg& other);
  Tensor& operator-=(const Scalar& value);
  Tensor& operator*=(const Arg& other);
  Tensor& operator*=(const Scalar& value);
  Tensor& operator/=(const Arg& other);
  Tensor& operator/=(const Scalar& value);
  Tensor& copy_(const Arg& source);
  Tensor& fill_(const Scalar& value);
  // Writes `value`, repeated to their shape, to the elements at the indices: x.assign({ag::all, -1}, 0) is Python's
  // x[:, -1] = 0. Like `+=`, it is recorded as a part of this tensor's history, and throws as `+=` does.
  Tensor& assign(std::initializer_list<Index> indices, const Arg& value);
  Tensor& assign(std::initializer_list<Index> indices, const Scalar& value);

  // --- The tape; defined in autograd/tape/backward.cpp. ---
  bool requires_grad() const;
  bool is_leaf() const;  // false for results of recorded operations
  // Makes this tensor a leaf whose gradient is wanted, or not. Throws Error for types that are not floating and for
  // results of operations.
  Tensor& requires_grad_(bool wanted = true, Location where = Location::current());
  // The gradient that has accumulated so far, or Tensor{} if there is none. Leaves have one, and results of operations
  // after retain_grad(). Throws Error if it is kept by rows (EmbeddingOptions::row_gradients).
  Tensor grad() const;
  void zero_grad();  // drops the gradient; queues nothing
  // Makes the values of `gradient` the gradient of this leaf, in place of what has accumulated: for gradients that the
  // program computes or changes. Queued; may wait for room. Throws Error unless this is a leaf whose gradient is wanted,
  // and for a gradient of another shape, type or device.
  void set_grad(const Arg& gradient);
  // From now on backward() keeps the gradient of this result of an operation, and adds to it. It belongs to the history
  // that the tensor has now: an operation in place begins another. Does nothing for a leaf. Throws Error for a tensor
  // without a history.
  void retain_grad(Location where = Location::current()) const;
  // Queues the computation of this tensor's gradient in every leaf that it depends on, which is added to the leaf's
  // grad(), and drops the tape unless `retain_graph`. May wait for room. Throws Error if the tensor has not exactly one
  // element, or depends on no leaf. autograd/gradients.h has the same for several tensors, and gradients as values.
  void backward(bool retain_graph = false, Location where = Location::current()) const;
  // The same from this tensor's own gradient dy, of any shape: the gradients of sum(*this * dy). Throws Error for one
  // of another shape, type or device.
  void backward(const Tensor& dy, bool retain_graph = false, Location where = Location::current()) const;
  // A tensor that shares the values and has no history.
  Tensor detach() const;

  // For the library's own use: the object to which the handle points.
  explicit Tensor(detail::TensorImpl* adopted) noexcept : impl_(adopted) {}
  detail::TensorImpl* impl() const { return impl_; }
  // from() and to_vector() for elements of a type that is known when the program runs.
  static Tensor from_bytes(const void* values, std::size_t count, DType dtype, const Shape& shape, Device device,
                           Location where);
  void copy_to_host(void* values, std::int64_t count, DType dtype, const char* operation,
                    const Location& where = {}) const;

 private:
  void drop();  // gives up this handle's share of impl_, which is not null and dangles afterwards

  detail::TensorImpl* impl_ = nullptr;
};

// Prints str(). Blocks as str() does.
std::ostream& operator<<(std::ostream& out, const Tensor& tensor);

// An operand, and the line of the program that passed it. Operations take it in place of a const Tensor&. It refers to
// the tensor, so use it as a parameter only.
class Arg {
 public:
  Arg(const Tensor& tensor, const char* file = __builtin_FILE(),  // NOLINT(google-explicit-constructor)
      int line = __builtin_LINE())
      : tensor_(tensor), site_({file, line}) {}
  Arg(const Tensor& tensor, const Location& where) : tensor_(tensor), site_(where) {}

  const Tensor& tensor() const { return tensor_; }
  operator const Tensor&() const { return tensor_; }  // NOLINT(google-explicit-constructor)
  const Tensor* operator->() const { return &tensor_; }
  const Location& where() const { return site_.where(); }

 private:
  const Tensor& tensor_;
  CallSite site_;
};

}  // namespace asyncgrad
