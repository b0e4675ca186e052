#include "tests/backends/cuda/both_backends.h"

namespace asyncgrad::detail {

namespace {

// Parameters without elements, with one part and with several, and more parameters than one launch takes.
std::vector<Shape> parameter_shapes() {
  std::vector<Shape> shapes = {Shape{}, Shape{0}, Shape{4096}, Shape{65, 130}, Shape{70000}, Shape{3, 5, 7}};
  for (std::int64_t i = 0; i < 100; ++i) shapes.emplace_back(1 + i * 37);
  return shapes;
}

template <class T>
void add_list(BothBackends& both, const std::vector<Shape>& shapes, bool is_updated, double low = -3, double high = 3) {
  unsigned seed = is_updated ? 100 : 900;
  for (const Shape& shape : shapes) {
    const std::vector<T> values = random_values<T>(shape.numel(), ++seed, low, high);
    is_updated ? both.update(shape, values) : both.input(shape, values);
  }
}

template <class T>
void expect_same_lists(const BothBackends& both, int operands) {
  for (int i = 0; i < operands; ++i) {
    SCOPED_TRACE("operand " + std::to_string(i));
    both.expect_same_bits<T>(i);
  }
}

TEST(CudaSgd, HasTheCpusBits) {
  const std::vector<Shape> shapes = parameter_shapes();
  const int count = static_cast<int>(shapes.size());
  for (const double momentum : {0.0, 0.9}) {
    for (const bool nesterov : {false, true}) {
      for_floating([&]<class T>(T) {
        BothBackends both;
        add_list<T>(both, shapes, true);
        if (momentum != 0) add_list<T>(both, shapes, true);
        add_list<T>(both, shapes, false);
        both.run(
            Op::sgd,
            SgdAttributes{.lr = 0.1, .momentum = momentum, .weight_decay = 0.01, .nesterov = nesterov, .count = count});
        expect_same_lists<T>(both, momentum != 0 ? 2 * count : count);
      });
    }
  }
}

TEST(CudaAdagrad, HasTheCpusBits) {
  const std::vector<Shape> shapes = parameter_shapes();
  const int count = static_cast<int>(shapes.size());
  for_floating([&]<class T>(T) {
    BothBackends both;
    add_list<T>(both, shapes, true);
    add_list<T>(both, shapes, true, 0, 9);
    add_list<T>(both, shapes, false);
    both.run(Op::adagrad, AdagradAttributes{.lr = 0.1, .epsilon = 1e-10, .weight_decay = 0.01, .count = count});
    expect_same_lists<T>(both, 2 * count);
  });
}

TEST(CudaRmsprop, HasTheCpusBits) {
  const std::vector<Shape> shapes = parameter_shapes();
  const int count = static_cast<int>(shapes.size());
  for (const double momentum : {0.0, 0.9}) {
    for (const bool centered : {false, true}) {
      for_floating([&]<class T>(T) {
        BothBackends both;
        add_list<T>(both, shapes, true);
        add_list<T>(both, shapes, true, 0, 9);
        if (centered) add_list<T>(both, shapes, true);
        if (momentum != 0) add_list<T>(both, shapes, true);
        add_list<T>(both, shapes, false);
        both.run(Op::rmsprop, RmspropAttributes{.lr = 0.1,
                                                .alpha = 0.9,
                                                .epsilon = 1e-8,
                                                .weight_decay = 0.01,
                                                .momentum = momentum,
                                                .centered = centered,
                                                .count = count});
        expect_same_lists<T>(both, (2 + (centered ? 1 : 0) + (momentum != 0 ? 1 : 0)) * count);
      });
    }
  }
}

// Each parameter has another count of steps.
TEST(CudaAdam, HasTheCpusBits) {
  const std::vector<Shape> shapes = parameter_shapes();
  const int count = static_cast<int>(shapes.size());
  for (const bool decoupled : {false, true}) {
    for_floating([&]<class T>(T) {
      BothBackends both;
      add_list<T>(both, shapes, true);
      add_list<T>(both, shapes, true);
      add_list<T>(both, shapes, true, 0, 9);
      std::int64_t steps = 0;
      for (const Shape& shape : shapes) {
        std::vector<std::int64_t> counts(static_cast<std::size_t>(adam_counts(shape.numel())));
        for (std::int64_t& count : counts) count = steps++;
        both.update({adam_counts(shape.numel())}, counts);
      }
      add_list<T>(both, shapes, false);
      both.run(Op::adam, AdamAttributes{.lr = 0.01,
                                        .beta1 = 0.9,
                                        .beta2 = 0.999,
                                        .epsilon = 1e-8,
                                        .weight_decay = 0.1,
                                        .decoupled_weight_decay = decoupled,
                                        .count = count});
      expect_same_lists<T>(both, 3 * count);
      for (int i = 3 * count; i < 4 * count; ++i) both.expect_same_bits<std::int64_t>(i);
    });
  }
}

}  // namespace

}  // namespace asyncgrad::detail
