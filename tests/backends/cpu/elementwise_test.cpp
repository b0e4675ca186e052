#include <cmath>
#include <utility>

#include "tests/backends/cpu/kernel_runner.h"
#include "tests/backends/each_formula.h"

namespace asyncgrad::detail {

namespace {

// The element of `shape` that element `position` of `out` is computed from.
std::size_t broadcast_position(const Shape& out, const Shape& shape, std::int64_t position) {
  std::int64_t at = 0, stride = 1;
  for (int o = out.rank() - 1, i = shape.rank() - 1; i >= 0; --o, --i) {
    if (shape[i] != 1) at += position % out[o] * stride;
    position /= out[o];
    stride *= shape[i];
  }
  return static_cast<std::size_t>(at);
}

// The highest error of Highway's functions is 4 units; a formula may double it.
constexpr double tolerance_ulps = 12;

// A predicate has the same values as bool and in the type of its inputs.
template <class T>
void check_as_bool(const FormulaCase<T>& formula, const Shape& out_shape, const std::vector<View>& inputs,
                   const std::vector<T>& expected) {
  const Array out(out_shape, boolean);
  std::vector<View> operands{written(out)};
  operands.insert(operands.end(), inputs.begin(), inputs.end());
  run_kernel(Op::elementwise, operands, ElementwiseAttributes{.formula = formula.id});
  const std::byte* const bytes = out.view(Access::read).data;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(static_cast<T>(std::to_integer<int>(bytes[i])), expected[i]) << i;
  }
}

template <class T>
void check_formula(const FormulaCase<T>& formula, const Shape& out_shape, const std::array<Shape, 3>& shapes,
                   const std::array<std::vector<T>, 3>& in) {
  SCOPED_TRACE(std::string(formula.name) + " of " + name(dtype_of<T>) + out_shape.str());
  const Array out(out_shape, dtype_of<T>);
  std::vector<Array> arrays;
  for (std::size_t k = 0; k < formula.inputs; ++k) arrays.emplace_back(shapes[k], in[k]);
  std::vector<View> operands{written(out)};
  for (const Array& array : arrays) operands.push_back(read(array));
  const ElementwiseAttributes attributes{.formula = formula.id};
  run_kernel(Op::elementwise, operands, attributes);
  const std::vector<T> values = out.values<T>();
  for (std::int64_t i = 0; i < out_shape.numel(); ++i) {
    std::array<T, 3> x{};
    for (std::size_t k = 0; k < formula.inputs; ++k) x[k] = in[k][broadcast_position(out_shape, shapes[k], i)];
    const double scale = formula.cancels ? std::abs(static_cast<double>(x[formula.inputs - 1])) : 0;
    const T y = formula.apply(x), value = values[static_cast<std::size_t>(i)];
    ASSERT_TRUE(is_close(value, y, tolerance_ulps, scale))
        << "at " << i << " of " << x[0] << ", " << x[1] << ", " << x[2] << ": " << value << ", expected " << y;
  }
  if (formula.is_predicate) {
    check_as_bool(formula, out_shape, {operands.begin() + 1, operands.end()}, values);
  }
}

template <class T>
void check_shapes(const FormulaCase<T>& formula, const Shape& out, const std::array<Shape, 3>& shapes) {
  std::array<std::vector<T>, 3> in;
  for (unsigned k = 0; k < 3; ++k) in[k] = random_values<T>(shapes[k].numel(), k + 1);
  check_formula(formula, out, shapes, in);
}

TEST(Elementwise, IsTheFormulaForEverySize) {
  each_formula([]<class T>(const FormulaCase<T>& formula) {
    for (const std::int64_t n : {0, 1, 3, 16, 17, 64, 1000, 70001}) check_shapes(formula, n, {n, n, n});
  });
}

TEST(Elementwise, Broadcasts) {
  const std::vector<std::pair<Shape, std::array<Shape, 3>>> cases = {
      {{37, 200}, {Shape{37, 200}, Shape{200}, Shape{37, 1}}},
      {{37, 200}, {Shape{200}, Shape{37, 1}, Shape{}}},
      {{600, 5}, {Shape{5}, Shape{600, 5}, Shape{600, 1}}},
      {{600, 5}, {Shape{600, 1}, Shape{1, 5}, Shape{600, 5}}},
      {{3, 4, 5, 6}, {Shape{4, 1, 6}, Shape{3, 1, 5, 1}, Shape{5, 6}}},
      {{2, 3, 2, 3, 2, 3}, {Shape{2, 1, 2, 1, 2, 1}, Shape{3, 1, 3, 1, 3}, Shape{2, 3, 2, 3, 2, 3}}},
      {{7, 40, 130}, {Shape{7, 1, 130}, Shape{40, 1}, Shape{7, 40, 130}}},
      {{40003, 3}, {Shape{40003, 1}, Shape{3}, Shape{}}},  // tiles that begin within rows
      {{3, 1500, 7}, {Shape{1500, 1}, Shape{3, 1, 7}, Shape{3, 1500, 7}}},
      {{20, 300, 5}, {Shape{300, 5}, Shape{20, 1, 1}, Shape{20, 300, 1}}},
      {{60, 5, 4, 4}, {Shape{5, 1, 1}, Shape{60, 5, 1, 1}, Shape{60, 1, 4, 4}}},
      {{3, 300, 40}, {Shape{3, 300, 1}, Shape{3, 1, 40}, Shape{300, 1}}},
      {{5, 255}, {Shape{5, 1}, Shape{255}, Shape{5, 255}}},
      {{5, 256}, {Shape{5, 1}, Shape{256}, Shape{5, 256}}},
      {{1, 1}, {Shape{1, 1}, Shape{}, Shape{1}}},
      {{}, {Shape{}, Shape{}, Shape{}}},
      {{0, 5}, {Shape{0, 5}, Shape{5}, Shape{0, 1}}},
  };
  each_formula([&]<class T>(const FormulaCase<T>& formula) {
    for (const auto& [out, shapes] : cases) {
      // With fewer inputs, one of them must have the shape of the output.
      std::array<Shape, 3> used = shapes;
      if (formula.inputs < 3) used[0] = out;
      check_shapes(formula, out, used);
    }
  });
}

template <class T>
std::vector<T> special_values() {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::is_integral_v<T>) {
    return {0, 1, -1, 2, -7, 1000};
  } else {
    return {0,
            -T(0),
            1,
            -1,
            T(0.5),
            3,
            -2.5,
            20,
            -20,
            80,
            -80,
            88.5,
            -87.5,
            89.5,
            -104,
            120,
            -1000,
            700,
            709.5,
            711,
            -745,
            2.5,
            -0.25,
            T(1e-6),
            -T(1e-6),
            -8,
            3.14159265358979,
            -12345.678,
            39001,
            -1e9,
            Limits::infinity(),
            -Limits::infinity(),
            Limits::quiet_NaN(),
            Limits::min(),
            Limits::max(),
            Limits::lowest(),
            Limits::denorm_min(),
            -Limits::denorm_min()};
  }
}

TEST(Elementwise, TreatsSpecialValuesAsTheStandardLibraryDoes) {
  each_formula([]<class T>(const FormulaCase<T>& formula) {
    const std::vector<T> values = special_values<T>();
    std::array<std::vector<T>, 3> in;
    for (const T x : values) {
      for (const T y : values) {
        in[0].push_back(x);
        in[1].push_back(y);
        in[2].push_back(y);
      }
    }
    const auto n = static_cast<std::int64_t>(in[0].size());
    check_formula(formula, n, {n, n, n}, in);
  });
}

TEST(Elementwise, TakesNumbersForInputs) {
  each_formula([]<class T>(const FormulaCase<T>& formula) {
    for (unsigned mask = 1; mask + 1 < 1U << formula.inputs; ++mask) {
      SCOPED_TRACE(formula.name);
      constexpr std::int64_t n = 131;
      const Array out(n, dtype_of<T>), whole(n, dtype_of<T>);
      ElementwiseAttributes attributes{.formula = formula.id, .scalar_mask = static_cast<std::uint8_t>(mask)};
      std::vector<Array> arrays;
      std::vector<View> operands{written(out)}, all{written(whole)};
      arrays.reserve(formula.inputs);
      for (unsigned k = 0; k < formula.inputs; ++k) {
        std::vector<T> values = random_values<T>(n, k + 7);
        if ((mask >> k & 1U) != 0) {
          values.assign(n, T(2));
          if constexpr (std::is_integral_v<T>) {
            attributes.scalars[k].integer = 2;
          } else {
            attributes.scalars[k].floating = 2;
          }
        }
        arrays.emplace_back(n, values);
        if ((mask >> k & 1U) == 0) operands.push_back(read(arrays.back()));
        all.push_back(read(arrays.back()));
      }
      run_kernel(Op::elementwise, operands, attributes);
      run_kernel(Op::elementwise, all, ElementwiseAttributes{.formula = formula.id});
      expect_same_bits(out.values<T>(), whole.values<T>());
    }
  });
}

TEST(Elementwise, GivesAnElementTheSameBitsWhereverItStands) {
  each_formula([]<class T>(const FormulaCase<T>& formula) {
    SCOPED_TRACE(formula.name);
    constexpr std::int64_t n = 67;
    const ElementwiseAttributes attributes{.formula = formula.id};
    const auto run = [&](std::int64_t first, std::int64_t count) {
      const Array out(count, dtype_of<T>);
      std::vector<Array> arrays;
      std::vector<View> operands{written(out)};
      for (unsigned k = 0; k < formula.inputs; ++k) {
        const std::vector<T> values = random_values<T>(n, k + 3);
        arrays.emplace_back(count, std::vector<T>(values.begin() + first, values.begin() + first + count));
      }
      for (const Array& array : arrays) operands.push_back(read(array));
      run_kernel(Op::elementwise, operands, attributes);
      return out.values<T>();
    };
    const std::vector<T> whole = run(0, n);
    for (const std::int64_t first : {1, 5, 30, 66}) {
      expect_same_bits(run(first, n - first), std::vector<T>(whole.begin() + first, whole.end()));
    }
  });
}

TEST(Elementwise, MayWriteWhatItReads) {
  const std::vector<float> x = random_values<float>(70003, 1), bias = random_values<float>(7, 2);
  for (const Shape& shape : {Shape{70003}, Shape{10000, 7}}) {
    const auto n = static_cast<std::size_t>(shape.numel());
    const Array target(shape, std::vector<float>(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(n)));
    const Array other(Shape{7}, bias), one(Shape{1}, std::vector<float>{bias[0]});
    const Array& added = shape.rank() == 2 ? other : one;
    run_kernel(Op::elementwise, {updated(target), read(target), read(added)},
               ElementwiseAttributes{.formula = formulas::id<formulas::Add>()});
    std::vector<float> expectation(n);
    for (std::size_t i = 0; i < n; ++i) expectation[i] = x[i] + (shape.rank() == 2 ? bias[i % 7] : bias[0]);
    expect_same_bits(target.values<float>(), expectation);
  }
}

TEST(Elementwise, CutsBigOperationsIntoTiles) {
  const Array out(Shape{1024, 2048}, float32), x(Shape{1024, 2048}, float32);
  EXPECT_EQ(run_kernel(Op::elementwise, {written(out), read(x)},
                       ElementwiseAttributes{.formula = formulas::id<formulas::Relu>()}),
            32);
}

}  // namespace

}  // namespace asyncgrad::detail
