// The one handle type.
#pragma once

#include <initializer_list>
#include <iosfwd>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "asyncgrad/core/device.h"
#include "asyncgrad/core/dtype.h"
#include "asyncgrad/core/location.h"
#include "asyncgrad/core/scalar.h"
#include "asyncgrad/core/shape.h"

namespace asyncgrad {

class Arg;
class Node;  // of the tape, see autograd/
namespace detail {
struct TensorImpl;
}

// A shared handle to an array of values that may not be computed yet. Copying shares, `=` rebinds, `clone()` copies;
// `+=` and names ending in `_` write what is shared. Always contiguous, row major; `reshape` and slices of leading rows
// share storage. Shape, type and device are known at once; values later.
//
// `Tensor{}` holds nothing, and every operation on it throws Error. A handle is used by one thread at a time; several
// threads may each hold their own handle of one tensor, and may read it at once.
class Tensor {
 public:
  Tensor() = default;
  Tensor(const Tensor& other) noexcept;
  Tensor(Tensor&& other) noexcept : impl_(std::exchange(other.impl_, nullptr)) {}
  Tensor& operator=(const Tensor& other) noexcept;
  Tensor& operator=(Tensor&& other) noexcept {
    Tensor moved(std::move(other));  // so that what this was ends now, and `other` holds nothing
    std::swap(impl_, moved.impl_);
    return *this;
  }
  // Never blocks; destroying a tensor that queued operations use is safe.
  ~Tensor() {
    if (impl_ != nullptr) drop();
  }

  // A tensor of `values` in row-major order, copied before it returns. May wait for room in memory. Throws Error if
  // their number is not shape.numel(). T is float, double or int64_t.
  template <class T>
  static Tensor from(std::span<const T> values, const Shape& shape, Device device = default_device(),
                     Location where = Location::current()) {
    return from_bytes(values.data(), values.size(), dtype_of<T>, shape, device, where);
  }
  template <class T>
  static Tensor from(const std::vector<T>& values, const Shape& shape, Device device = default_device(),
                     Location where = Location::current()) {
    return from(std::span<const T>(values), shape, device, where);
  }
  template <class T>
  static Tensor from(std::initializer_list<T> values, const Shape& shape, Device device = default_device(),
                     Location where = Location::current()) {
    return from(std::span<const T>(values.begin(), values.size()), shape, device, where);
  }

  bool defined() const { return impl_ != nullptr; }
  const Shape& shape() const;
  std::int64_t numel() const { return shape().numel(); }
  int rank() const { return shape().rank(); }
  // The extent of an axis; negative axes count from the end.
  std::int64_t size(int axis) const { return shape()[axis]; }
  DType dtype() const;
  Device device() const;

  // --- Blocking: each waits until the value is computed, computing meanwhile, and throws the Error of the first failed
  // --- operation that the value depends on.
  void wait() const;
  // The only element as a double. Throws Error if there is not exactly one.
  double item() const;
  // The only element, exactly. Throws Error if there is not exactly one or T is not the tensor's type.
  template <class T>
  T item() const {
    T value;
    copy_to_host(&value, 1, dtype_of<T>, "item");
    return value;
  }
  // All elements in row-major order. Throws Error if T is not the tensor's type.
  template <class T>
  std::vector<T> to_vector() const {
    std::vector<T> values(static_cast<std::size_t>(numel()));
    copy_to_host(values.data(), numel(), dtype_of<T>, "to_vector");
    return values;
  }
  // The values, shape and type as text; long axes are abbreviated.
  std::string str() const;

  // --- Differentiable, queued; defined in autograd/, described there. ---
  Tensor reshape(const Shape& shape,
                 Location where = Location::current()) const;  // shares storage; one -1 is not taken
  Tensor transpose(int axis_a = -2, int axis_b = -1, Location where = Location::current()) const;
  Tensor slice(std::int64_t begin, std::int64_t end,
               Location where = Location::current()) const;              // rows; shares storage
  Tensor to(Device device, Location where = Location::current()) const;  // itself if it is there already
  Tensor to(DType dtype, Location where = Location::current()) const;    // itself if it has that type already
  Tensor clone(Location where = Location::current()) const;
  Tensor& operator+=(const Arg& other);  // NOLINT(misc-unconventional-assign-operator)
  Tensor& operator+=(const Scalar& value);
  Tensor& operator-=(const Arg& other);
  Tensor& operator-=(const Scalar& value);
  Tensor& operator*=(const Arg& other);
  Tensor& operator*=(const Scalar& value);
  Tensor& copy_(const Arg& source);
  Tensor& fill_(const Scalar& value);

  // --- The tape; defined in autograd/backward.cpp. ---
  bool requires_grad() const;
  bool is_leaf() const;  // false for results of recorded operations
  // Makes this tensor a leaf whose gradient is wanted, or not. Throws Error for int64 and for results of operations.
  Tensor& requires_grad_(bool wanted = true);
  // The gradient accumulated so far; holds nothing if there is none, as of every tensor that is no leaf.
  Tensor grad() const;
  void zero_grad();  // lets the gradient go; queues nothing
  // Queues the gradients of this tensor's one element in every leaf that it depends on, and lets the tape go unless
  // `retain_graph`. Throws Error if there is not exactly one element, or if it depends on no leaf.
  void backward(bool retain_graph = false, Location where = Location::current()) const;
  // The same values, storage shared, without history.
  Tensor detach() const;

  // For the library: the handle's inside.
  explicit Tensor(detail::TensorImpl* adopted) noexcept : impl_(adopted) {}
  detail::TensorImpl* impl() const { return impl_; }

 private:
  static Tensor from_bytes(const void* values, std::size_t count, DType dtype, const Shape& shape, Device device,
                           Location where);
  void copy_to_host(void* values, std::int64_t count, DType dtype, const char* operation) const;
  void drop();  // lets go of its share of impl_, which is not null, and dangles then

  detail::TensorImpl* impl_ = nullptr;
};

// Prints str(). Blocks as str() does.
std::ostream& operator<<(std::ostream& out, const Tensor& tensor);

// An operand, and the line that passed it: what every operation takes instead of a const Tensor&. Only ever a
// parameter.
class Arg {
 public:
  Arg(const Tensor& tensor, const char* file = __builtin_FILE(),  // NOLINT(google-explicit-constructor)
      int line = __builtin_LINE())
      : tensor_(tensor), where_{file, line} {}

  const Tensor& tensor() const { return tensor_; }
  operator const Tensor&() const { return tensor_; }  // NOLINT(google-explicit-constructor)
  const Tensor* operator->() const { return &tensor_; }
  const Location& where() const { return where_; }

 private:
  const Tensor& tensor_;
  Location where_;
};

}  // namespace asyncgrad
