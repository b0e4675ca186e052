#include <cmath>

#include "tests/backends/cpu/kernel_runner.h"

namespace asyncgrad::detail {

namespace {

// The sizes are around a vector and a cache line, zero, and larger than a tile.
const std::vector<Shape> shapes = {Shape{},   Shape{0},     Shape{300, 250}, Shape{7},    Shape{15},
                                   Shape{16}, Shape{65537}, Shape{17},       Shape{1000}, Shape{3, 5, 7}};

template <class T>
using Lists = std::vector<std::vector<T>>;

template <class T>
struct Group {
  Lists<T> p, m, v, g;
  Lists<std::int64_t> steps;

  Group() {
    unsigned seed = 0;
    for (const Shape& shape : shapes) {
      p.push_back(random_values<T>(shape.numel(), ++seed));
      m.push_back(random_values<T>(shape.numel(), ++seed));
      v.push_back(random_values<T>(shape.numel(), ++seed, 0, 9));
      g.push_back(random_values<T>(shape.numel(), ++seed));
      // Each parameter has done as many steps as there are parameters before it.
      steps.emplace_back(static_cast<std::size_t>(adam_counts(shape.numel())), seed / 4 - 1);
    }
  }
};

template <class T>
std::vector<Array> arrays_of(const Lists<T>& values, bool counts = false) {
  std::vector<Array> arrays;
  for (std::size_t k = 0; k < values.size(); ++k) {
    arrays.emplace_back(counts ? Shape{adam_counts(shapes[k].numel())} : shapes[k], values[k]);
  }
  return arrays;
}

// Runs one step of the group by the kernel, on arrays of their own, and returns what it made.
template <class T>
Group<T> stepped(const Group<T>& group, const AdamAttributes& attributes) {
  const std::vector<Array> p = arrays_of(group.p), m = arrays_of(group.m), v = arrays_of(group.v),
                           g = arrays_of(group.g), steps = arrays_of(group.steps, true);
  std::vector<View> operands;
  for (const auto* list : {&p, &m, &v, &steps}) {
    for (const Array& array : *list) operands.push_back(updated(array));
  }
  for (const Array& array : g) operands.push_back(read(array));
  EXPECT_EQ(run_kernel(Op::adam, operands, attributes), 3);
  Group<T> result = group;
  for (std::size_t k = 0; k < shapes.size(); ++k) {
    result.p[k] = p[k].template values<T>();
    result.m[k] = m[k].template values<T>();
    result.v[k] = v[k].template values<T>();
    result.steps[k] = steps[k].template values<std::int64_t>();
  }
  return result;
}

// The papers' formula, in double.
struct Element {
  double p, m, v;
};
Element reference(Element x, double g, double t, const AdamAttributes& a) {
  if (a.decoupled_weight_decay) {
    x.p -= a.lr * a.weight_decay * x.p;
  } else {
    g += a.weight_decay * x.p;
  }
  x.m = a.beta1 * x.m + (1 - a.beta1) * g;
  x.v = a.beta2 * x.v + (1 - a.beta2) * g * g;
  const double m_hat = x.m / (1 - std::pow(a.beta1, t)), v_hat = x.v / (1 - std::pow(a.beta2, t));
  x.p -= a.lr * m_hat / (std::sqrt(v_hat) + a.epsilon);
  return x;
}

template <class T>
void check_step(AdamAttributes attributes) {
  attributes.count = static_cast<std::int32_t>(shapes.size());
  const Group<T> before, after = stepped(before, attributes);
  for (std::size_t k = 0; k < shapes.size(); ++k) {
    std::vector<std::int64_t> steps = before.steps[k];
    for (std::int64_t& step : steps) ++step;
    EXPECT_EQ(after.steps[k], steps);
    std::vector<T> p, m, v;
    for (std::size_t i = 0; i < before.p[k].size(); ++i) {
      const Element x = reference({before.p[k][i], before.m[k][i], before.v[k][i]}, before.g[k][i],
                                  static_cast<double>(steps[0]), attributes);
      p.push_back(static_cast<T>(x.p));
      m.push_back(static_cast<T>(x.m));
      v.push_back(static_cast<T>(x.v));
    }
    expect_close(after.p[k], p, 8, 3);
    expect_close(after.m[k], m, 4, 3);
    expect_close(after.v[k], v, 4, 9);
  }
}

const AdamAttributes plain{.lr = 0.01,
                           .beta1 = 0.9,
                           .beta2 = 0.999,
                           .epsilon = 1e-8,
                           .weight_decay = 0,
                           .decoupled_weight_decay = false,
                           .count = 0};

AdamAttributes with_decay(bool decoupled) {
  AdamAttributes attributes = plain;
  attributes.weight_decay = 0.1;
  attributes.decoupled_weight_decay = decoupled;
  return attributes;
}
AdamAttributes with_betas(double beta1, double beta2, double epsilon) {
  AdamAttributes attributes = plain;
  attributes.beta1 = beta1;
  attributes.beta2 = beta2;
  attributes.epsilon = epsilon;
  return attributes;
}

template <class T>
void check_steps() {
  check_step<T>(plain);
  check_step<T>(with_decay(false));
  check_step<T>(with_decay(true));
  check_step<T>(with_betas(0.5, 0.9, 0.25));
  check_step<T>(with_betas(0, 0, 1e-3));
}

TEST(Adam, StepsAsThePapersHaveIt) {
  check_steps<float>();
  check_steps<double>();
}

// The bits of an element do not depend on its place, whether in a tile, at its end or in a tail, or on its neighbours.
template <class T>
void check_places() {
  AdamAttributes attributes = with_decay(false);
  attributes.count = static_cast<std::int32_t>(shapes.size());
  Group<T> group;
  for (std::size_t k = 0; k < shapes.size(); ++k) {
    for (std::int64_t& step : group.steps[k]) step = 4;
    for (std::size_t i = 0; i < group.p[k].size(); ++i) {
      const auto source = [&](std::vector<T>& values, std::int64_t seed) {
        values[i] = static_cast<T>(1 + static_cast<double>((i + 1) * 7 % 5) / static_cast<double>(seed));
      };
      source(group.p[k], 3);
      source(group.m[k], 7);
      source(group.v[k], 9);
      source(group.g[k], 11);
    }
  }
  const Group<T> after = stepped(group, attributes);
  const std::vector<T>& longest = after.p[2];
  for (const std::vector<T>& p : after.p) {
    expect_same_bits(p, std::vector<T>(longest.begin(), longest.begin() + static_cast<std::ptrdiff_t>(p.size())));
  }
}

TEST(Adam, AnElementsBitsDependOnItsValuesAlone) {
  check_places<float>();
  check_places<double>();
}

TEST(Adam, OfNoParametersDoesNothing) { EXPECT_EQ(run_kernel(Op::adam, {}, plain), 1); }

}  // namespace

}  // namespace asyncgrad::detail
