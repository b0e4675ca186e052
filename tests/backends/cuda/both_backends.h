// Makes the same call with the CPU's kernels and with those of CUDA, which the emulator runs at once.
#pragma once

#include <memory>
#include <vector>

#include "asyncgrad/backends/cuda/launch.h"
#include "tests/backends/cpu/kernel_runner.h"
#include "tests/backends/cuda/cuda_backend.h"

namespace asyncgrad::detail {

// The launch of a call without a queue.
inline const cuda::Launch& at_once() {
  static std::shared_ptr<cuda::Planner> planner;
  static const cuda::Launch launch{nullptr, nullptr, planner};
  return launch;
}

template <class Attributes>
void run_on_cuda(Op op, const std::vector<View>& views, const Attributes& attributes) {
  run_kernel(cuda_backend(), op, views, attributes, &at_once());
}

// Of operations that have none.
struct WithoutAttributes {};

// The shape of the operand that is reduced, or normalised, along the axis.
inline Shape shape_of(const ReduceAttributes& a) { return {a.outer, a.axis, a.inner}; }

// Operands are added in the order of the table in core/backend/operations.h.
class BothBackends {
 public:
  template <class T>
  BothBackends& output(const Shape& shape) {
    return add<T>(shape, std::vector<T>(static_cast<std::size_t>(shape.numel()), T(77)), Access::write);
  }
  template <class T>
  BothBackends& update(const Shape& shape, const std::vector<T>& values) {
    return add<T>(shape, values, Access::update);
  }
  template <class T>
  BothBackends& input(const Shape& shape, const std::vector<T>& values) {
    return add<T>(shape, values, Access::read);
  }
  template <class T>
  BothBackends& random_input(const Shape& shape, double low = -3, double high = 3) {
    return input(shape, random_values<T>(shape.numel(), static_cast<unsigned>(cpu_.size()) + 1, low, high));
  }

  template <class Attributes>
  BothBackends& run(Op op, const Attributes& attributes) {
    run_kernel(cpu_backend(), op, views(cpu_), attributes);
    run_on_cuda(op, views(cuda_), attributes);
    return *this;
  }

  template <class Attributes>
  BothBackends& run_on_cuda_alone(Op op, const Attributes& attributes) {
    run_on_cuda(op, views(cuda_), attributes);
    return *this;
  }

  template <class T>
  std::vector<T> cuda_values(int operand = 0) const {
    return cuda_[static_cast<std::size_t>(operand)].values<T>();
  }
  template <class T>
  void expect_same_bits(int operand = 0) const {
    detail::expect_same_bits(cuda_values<T>(operand), cpu_[static_cast<std::size_t>(operand)].values<T>());
  }
  template <class T>
  void expect_close(double ulps, double scale = 0, int operand = 0) const {
    detail::expect_close(cuda_values<T>(operand), cpu_[static_cast<std::size_t>(operand)].values<T>(), ulps, scale);
  }

 private:
  template <class T>
  BothBackends& add(const Shape& shape, const std::vector<T>& values, Access access) {
    cpu_.emplace_back(shape, values);
    cuda_.emplace_back(shape, values);
    access_.push_back(access);
    return *this;
  }
  std::vector<View> views(const std::vector<Array>& arrays) const {
    std::vector<View> views;
    for (std::size_t i = 0; i < arrays.size(); ++i) views.push_back(arrays[i].view(access_[i]));
    return views;
  }

  std::vector<Array> cpu_, cuda_;
  std::vector<Access> access_;
};

// Calls function(T()) for both floating types.
template <class Function>
void for_floating(Function function) {
  function(float{});
  function(double{});
}

}  // namespace asyncgrad::detail
