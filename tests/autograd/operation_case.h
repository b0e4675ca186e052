// Cases of a table of operations whose gradients are checked.
#pragma once

#include <ostream>
#include <span>

#include "tests/autograd/gradient_check.h"

namespace asyncgrad::tests {

using Tensors = std::vector<Tensor>;

struct OperationCase {
  const char* name;
  std::vector<Shape> shapes;  // of the inputs
  Function f;

  friend std::ostream& operator<<(std::ostream& out, const OperationCase& row) { return out << row.name; }
  Tensors inputs() const {
    Tensors inputs;
    for (const Shape& shape : shapes) inputs.push_back(random64(shape, 50 + inputs.size()));
    return inputs;
  }
};

// The tables of operation_gradient_test.cpp and of shape_gradient_test.cpp.
std::span<const OperationCase> operation_cases();
std::span<const OperationCase> shape_cases();

inline std::string name_of_case(const ::testing::TestParamInfo<OperationCase>& info) { return info.param.name; }

// Expects that the gradients of the case agree with differences of its values.
inline void check_gradients_of(const OperationCase& row) { check_gradients(row.f, row.inputs()); }

// Expects the same of its square, and of the gradients of its square's gradients.
inline void check_second_order_of(const OperationCase& row) {
  const Function f = [&row](const Tensors& t) { return square(row.f(t)); };
  for (const int order : {0, 1}) check_derivatives(order, f, row.inputs());
}

}  // namespace asyncgrad::tests
