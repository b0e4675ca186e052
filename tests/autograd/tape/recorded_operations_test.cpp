// The table of operations says of which ones autograd has a gradient. The tables of gradients that are checked must
// have a case of each.
#include "asyncgrad/autograd/tape/tape_watch.h"
#include "asyncgrad/core/backend/operations.h"
#include "tests/autograd/operation_case.h"

namespace asyncgrad::tests {
namespace {

// Records the operations of the case, and those of its gradients.
void differentiate_twice(const OperationCase& row) {
  Tensors leaves;
  for (const Tensor& input : row.inputs()) leaves.push_back(parameter(input));
  const GradOptions options{.create_graph = true, .allow_unused = true};
  for (const Tensor& gradient : grad(sum(square(row.f(leaves))), leaves, {}, options)) {
    if (gradient.defined() && gradient.requires_grad()) grad(sum(square(gradient)), leaves, {}, options);
  }
}

TEST(RecordedOperations, AreThoseWithAGradientInTheTable) {
  const detail::TapeWatch watch;
  for (const OperationCase& row : operation_cases()) differentiate_twice(row);
  for (const OperationCase& row : shape_cases()) differentiate_twice(row);
  for (const detail::OperationRow& row : detail::operations) {
    EXPECT_EQ(watch.has_seen(row.op), row.gradient == detail::GradientBy::autograd) << row.name;
  }
}

}  // namespace
}  // namespace asyncgrad::tests
