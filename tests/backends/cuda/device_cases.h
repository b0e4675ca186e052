// Calls of every operation, which give the same on every device.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "asyncgrad/core/backend/kernels.h"
#include "tests/backends/cpu/kernel_runner.h"

namespace asyncgrad::tests {

// Makes inputs, the same on every device.
class Inputs {
 public:
  Inputs(Device device, DType dtype) : device_(device), dtype_(dtype) {}

  Device device() const { return device_; }
  DType dtype() const { return dtype_; }
  Tensor operator()(const Shape& shape, double low = -3, double high = 3) {
    const auto values = detail::random_values<double>(shape.numel(), ++seed_, low, high);
    return to(Tensor::from(values, shape, device_), dtype_);
  }
  Tensor parameter(const Shape& shape, double low = -3, double high = 3) {
    return asyncgrad::parameter((*this)(shape, low, high));
  }
  Tensor integers(const Shape& shape, std::int64_t end) {
    std::vector<std::int64_t> values;
    for (const double x : detail::random_values<double>(shape.numel(), ++seed_, 0, static_cast<double>(end))) {
      values.push_back(static_cast<std::int64_t>(x));
    }
    return Tensor::from(values, shape, device_);
  }

 private:
  Device device_;
  DType dtype_;
  unsigned seed_ = 0;
};

using Results = std::vector<Tensor>;

struct DeviceCase {
  std::string name;
  std::vector<detail::Op> ops;  // that it runs, elementwise aside
  std::function<Results(Inputs&)> run;
  double tolerance = 1e-5;  // for float32, of numbers around 1; float64 has its square
  bool is_large = false;    // the emulator takes seconds for it
};

using DeviceCases = std::vector<DeviceCase>;

// Each subject's, from cases/SUBJECT.cpp.
DeviceCases attention_cases();
DeviceCases elementwise_cases();
DeviceCases movement_cases();
DeviceCases normalisation_cases();
DeviceCases nothing_cases();
DeviceCases product_cases();
DeviceCases random_cases();
DeviceCases reduction_cases();
DeviceCases sequence_cases();
DeviceCases scan_cases();
DeviceCases update_cases();
DeviceCases window_cases();

const DeviceCases& device_cases();  // all of them

// The result of a function, and the gradients of its parameters where the result's own gradient is random.
inline Results with_gradients(Inputs& in, const Tensor& y, const std::vector<Tensor>& parameters) {
  sum(y * in(y.shape())).backward();
  Results results{y};
  for (const Tensor& parameter : parameters) results.push_back(parameter.grad());
  return results;
}

// Calls the function with one parameter of this shape.
template <class Function>
std::function<Results(Inputs&)> with_parameter(const Shape& shape, Function function) {
  return [=](Inputs& in) {
    const Tensor x = in.parameter(shape);
    return with_gradients(in, function(x), {x});
  };
}

}  // namespace asyncgrad::tests
