#include "tests/backends/cpu/kernel_runner.h"

namespace asyncgrad::detail {

namespace {

const std::vector<Shape> shapes = {Shape{},   Shape{0},     Shape{300, 250}, Shape{7},    Shape{15},
                                   Shape{16}, Shape{65536}, Shape{17},       Shape{1000}, Shape{3, 5, 7}};

template <class T>
struct Group {
  std::vector<std::vector<T>> p, v, g;

  explicit Group() {
    unsigned seed = 0;
    for (const Shape& shape : shapes) {
      p.push_back(random_values<T>(shape.numel(), ++seed));
      v.push_back(random_values<T>(shape.numel(), ++seed));
      g.push_back(random_values<T>(shape.numel(), ++seed));
    }
  }

  // One step, written as the books have it.
  void step(const SgdAttributes& a) {
    const auto lr = static_cast<T>(a.lr), momentum = static_cast<T>(a.momentum), decay = static_cast<T>(a.weight_decay);
    for (std::size_t k = 0; k < p.size(); ++k) {
      for (std::size_t i = 0; i < p[k].size(); ++i) {
        T slope = g[k][i] + decay * p[k][i];
        if (a.momentum != 0) {
          v[k][i] = momentum * v[k][i] + slope;
          slope = a.nesterov ? slope + momentum * v[k][i] : v[k][i];
        }
        p[k][i] -= lr * slope;
      }
    }
  }
};

template <class T>
std::vector<Array> arrays_of(const std::vector<std::vector<T>>& values) {
  std::vector<Array> arrays;
  for (std::size_t k = 0; k < values.size(); ++k) arrays.emplace_back(shapes[k], values[k]);
  return arrays;
}

template <class T>
void check_step(double lr, double momentum, double weight_decay, bool nesterov) {
  Group<T> group;
  const SgdAttributes attributes{.lr = lr,
                                 .momentum = momentum,
                                 .weight_decay = weight_decay,
                                 .nesterov = nesterov,
                                 .count = static_cast<std::int32_t>(shapes.size())};
  const std::vector<Array> p = arrays_of(group.p), v = arrays_of(group.v), g = arrays_of(group.g);
  std::vector<View> operands;
  for (const Array& array : p) operands.push_back(updated(array));
  if (momentum != 0) {
    for (const Array& array : v) operands.push_back(updated(array));
  }
  for (const Array& array : g) operands.push_back(read(array));
  run_kernel(Op::sgd, operands, attributes);
  group.step(attributes);
  for (std::size_t k = 0; k < shapes.size(); ++k) {
    expect_same_bits(p[k].values<T>(), group.p[k]);
    expect_same_bits(v[k].values<T>(), group.v[k]);
  }
}

template <class T>
void check_steps() {
  check_step<T>(0.1, 0, 0, false);
  check_step<T>(0.1, 0, 0.01, false);
  check_step<T>(0.1, 0.9, 0, false);
  check_step<T>(0.1, 0.9, 0.01, false);
  check_step<T>(0.1, 0.9, 0.01, true);
}

TEST(Sgd, StepsAsTheBooksHaveIt) {
  check_steps<float>();
  check_steps<double>();
}

TEST(Sgd, OfNoParametersDoesNothing) {
  EXPECT_EQ(run_kernel(Op::sgd, {},
                       SgdAttributes{.lr = 0.1, .momentum = 0, .weight_decay = 0, .nesterov = false, .count = 0}),
            1);
}

}  // namespace

}  // namespace asyncgrad::detail
