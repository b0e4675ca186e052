// layer_norm, rms_norm and their gradients: a row has a team, and the columns of a tile of rows have a block.
#include "asyncgrad/backends/cuda/families.h"
#include "asyncgrad/backends/cuda/kernels/column_sums.cuh"
#include "asyncgrad/backends/cuda/kernels/norm_rows.cuh"
#include "asyncgrad/backends/element_types.h"

namespace asyncgrad::detail::cuda {

namespace {

// A weight and a bias for each element of a row, or null.
template <class T>
struct RowAffine {
  const T *weights = nullptr, *biases = nullptr;

  __device__ T weight(std::int64_t, std::int64_t i) const { return weights == nullptr ? T(1) : weights[i]; }
  __device__ T bias(std::int64_t, std::int64_t i) const { return biases == nullptr ? T(0) : biases[i]; }
};

void run_layer_norm(const KernelCall& call, int) {
  const auto& a = call.attributes<NormAttributes>();
  visit_floating(call.dtype(0), [&]<class T>(T) {
    RowAffine<T> affine;
    if (a.has_weight) affine.weights = call.data<T>(3);
    if (a.has_bias) affine.biases = call.data<T>(a.has_weight ? 4 : 3);
    with_row_teams(a.width, [&]<int lanes, int kept>() {
      for_teams<lanes>(call, a.rows,
                       NormRow<T, RowAffine<T>, kept>{a.width, a.epsilon, a.is_rms, call.data<T>(2), call.data<T>(0),
                                                      Statistics<T>{call.data<T>(1), a.rows}, affine});
    });
  });
}

// --- The gradient of x, perhaps over dy.

template <class T, int kept>
struct NormRowGrad {
  static constexpr int blocks_at_once = row_blocks_at_once<T>;

  std::int64_t n;
  bool is_rms;
  const T *x, *dy, *weight;  // weight may be null
  T* dx;
  Statistics<T> statistics;

  template <class Team>
  __device__ void operator()(Team team, std::int64_t row) const {
    struct Element {
      T x, g;
    };
    const RowStatistics<T> of_row = statistics.of(row);
    const std::int64_t first = row * n;
    const auto load = [this, first](std::int64_t i) {
      return Element{x[first + i], weight == nullptr ? dy[first + i] : dy[first + i] * weight[i]};
    };
    const LaneElements<kept, Team, decltype(load)> elements(n, load);
    GradientSums sums{};
    elements.each([&](std::int64_t, const Element& e) {
      sums = sums + GradientSums{static_cast<double>(e.g), static_cast<double>(e.g * (e.x - of_row.mean))};
    });
    const auto add = [](const GradientSums& a, const GradientSums& b) { return a + b; };
    const RowGradient<T> gradient(of_row, team.folded(sums, add), n, is_rms);
    elements.each([&](std::int64_t i, const Element& e) { dx[first + i] = gradient(e.x, e.g); });
  }
};

// --- The gradients of weight and bias: the sums of dy normal and of dy over a tile of rows. Either may be null.

template <class T>
struct ColumnGradients {
  struct Partial {
    double weight, bias;
    __device__ Partial operator+(const Partial& other) const { return {weight + other.weight, bias + other.bias}; }
  };
  std::int64_t columns;
  const T *x, *dy;
  Statistics<T> statistics;
  T *dweight, *dbias;

  __device__ Partial value(std::int64_t row, std::int64_t column) const {
    const std::int64_t i = row * columns + column;
    const T gradient = dy[i];
    const T product = dweight == nullptr ? T(0) : gradient * statistics.of(row).normal(x[i]);
    return {static_cast<double>(product), static_cast<double>(gradient)};
  }
  __device__ void finish(std::int64_t tile, std::int64_t column, const Partial& sums) const {
    if (dweight != nullptr) dweight[tile * columns + column] = static_cast<T>(sums.weight);
    if (dbias != nullptr) dbias[tile * columns + column] = static_cast<T>(sums.bias);
  }
};

void run_layer_norm_grad(const KernelCall& call, int) {
  const auto& a = call.attributes<NormAttributes>();
  const int bias = a.has_weight ? 2 : 1, in = bias + (a.has_bias ? 1 : 0);
  visit_floating(call.dtype(0), [&]<class T>(T) {
    const T *const x = call.data<T>(in), *const dy = call.data<T>(in + 2);
    const T* const weight = a.has_weight ? call.data<T>(in + 3) : nullptr;
    const Statistics<T> statistics{call.data<T>(in + 1), a.rows};
    if (a.has_weight || a.has_bias) {  // first, as dx may be dy
      sum_columns(call, a.rows, a.width, norm_rows_per_tile(a.width), block_columns(a.width),
                  ColumnGradients<T>{a.width, x, dy, statistics, a.has_weight ? call.data<T>(1) : nullptr,
                                     a.has_bias ? call.data<T>(bias) : nullptr});
    }
    with_row_teams(a.width, [&]<int lanes, int kept>() {
      for_teams<lanes>(call, a.rows,
                       NormRowGrad<T, kept>{a.width, a.is_rms, x, dy, weight, call.data<T>(0), statistics});
    });
  });
}

}  // namespace

constinit const Kernel kernels::layer_norm{.run = run_layer_norm};
constinit const Kernel kernels::layer_norm_grad{.run = run_layer_norm_grad};

}  // namespace asyncgrad::detail::cuda
