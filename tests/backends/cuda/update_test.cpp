#include "tests/backends/cpu/update_harness.h"
#include "tests/backends/cuda/both_backends.h"

namespace asyncgrad::detail {

namespace {

// Parameters without elements, with one part and with several, and more parameters than one launch takes.
std::vector<Shape> parameter_shapes() {
  std::vector<Shape> shapes = {Shape{}, Shape{0}, Shape{4096}, Shape{65, 130}, Shape{9001}, Shape{3, 5, 7}};
  for (std::int64_t i = 0; i < 100; ++i) shapes.emplace_back(1 + i * 37);
  return shapes;
}

TEST(CudaUpdate, HasTheCpusBits) {
  for_every_rule([]<class Rule, class T>() {
    const UpdateLists<Rule, T> lists(parameter_shapes());
    const std::vector<Shape>& shapes = lists.shapes;
    BothBackends both;
    for (const auto& list : lists.updated) {
      for (std::size_t i = 0; i < shapes.size(); ++i) both.update(shapes[i], list[i]);
    }
    if (Rule::counts_steps) {
      for (const auto& counts : lists.counts) both.update({static_cast<std::int64_t>(counts.size())}, counts);
    }
    for (std::size_t i = 0; i < shapes.size(); ++i) both.input(shapes[i], lists.gradients[i]);
    both.run(Op::update, lists.attributes());
    const int updated = static_cast<int>(lists.updated.size() * shapes.size());
    for (int i = 0; i < updated; ++i) {
      SCOPED_TRACE("operand " + std::to_string(i));
      both.expect_same_bits<T>(i);
    }
    if (!Rule::counts_steps) return;
    for (int i = updated; i < updated + static_cast<int>(shapes.size()); ++i) both.expect_same_bits<std::int64_t>(i);
  });
}

// Some rows are not used, and some are used twice: the second place has no gradient of its own.
TEST(CudaUpdateRows, HasTheCpusBits) {
  for_every_rule([]<class Rule, class T>() {
    for (const Shape& shape : {Shape{70, 13}, Shape{70, 1000}, Shape{3, 0}, Shape{0, 4}}) {
      const UpdateLists<Rule, T> lists({shape});
      std::vector<std::int64_t> indices, places;
      for (std::int64_t row = shape[0] - 1; row >= 0; --row) {
        if (row % 7 == 0) continue;
        places.insert(places.end(), row % 5 == 0 ? 2 : 1, static_cast<std::int64_t>(indices.size()));
        indices.insert(indices.end(), row % 5 == 0 ? 2 : 1, row);
      }
      const auto n = static_cast<std::int64_t>(indices.size());
      BothBackends both;
      for (const auto& list : lists.updated) both.update(shape, list[0]);
      if (Rule::counts_steps) both.update({static_cast<std::int64_t>(lists.counts[0].size())}, lists.counts[0]);
      both.input({n}, indices).input({n}, places).template random_input<T>({n, shape[1]});
      both.run(Op::update_rows, lists.attributes());
      for (int i = 0; i < static_cast<int>(lists.updated.size()); ++i) both.template expect_same_bits<T>(i);
      if (Rule::counts_steps) both.template expect_same_bits<std::int64_t>(static_cast<int>(lists.updated.size()));
    }
  });
}

// An index out of range, which lies on the device and cannot be checked before, changes nothing.
TEST(CudaUpdateRows, OfARowThatIsNotThereChangeNothing) {
  using Rule = std::tuple_element_t<0, rules::Rules>;
  const UpdateLists<Rule, float> lists({Shape{4, 3}});
  BothBackends both;
  for (const auto& list : lists.updated) both.update({4, 3}, list[0]);
  if (Rule::counts_steps) both.update({static_cast<std::int64_t>(lists.counts[0].size())}, lists.counts[0]);
  both.input<std::int64_t>({3}, {4, -1, 1 << 20}).input<std::int64_t>({3}, {0, 1, 2}).random_input<float>({3, 3});
  both.run_on_cuda_alone(Op::update_rows, lists.attributes());
  EXPECT_EQ(both.cuda_values<float>(), lists.updated[0][0]);
}

}  // namespace

}  // namespace asyncgrad::detail
