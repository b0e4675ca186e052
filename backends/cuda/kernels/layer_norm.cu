// layer_norm, rms_norm and their gradients: a row has a team, unless there are few long ones, and the columns of a tile of
// rows have a block.
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
    norm_rows(call,
              NormRows<T, RowAffine<T>>{a.width, a.epsilon, a.is_rms, call.data<T>(2), call.data<T>(0),
                                        Statistics<T>{call.data<T>(1), a.rows}, affine},
              call.scratch);
  });
}

std::int64_t scratch_bytes(const KernelCall& call) {
  const auto& a = call.attributes<NormAttributes>();
  return norm_scratch_bytes(a.rows, a.width);
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
    elements.each([&](std::int64_t, const Element& e) { sums = sums + gradient_sums(e.g, e.x, of_row.mean); });
    const RowGradient<T> gradient(of_row, team.folded(sums, added), n, is_rms);
    elements.each([&](std::int64_t i, const Element& e) { dx[first + i] = gradient(e.x, e.g); });
  }
};

// The sums of few long rows.
template <class T>
struct RowGradients {
  using Partial = GradientSums;
  std::int64_t n;
  bool is_rms;
  const T *x, *dy;
  RowAffine<T> affine;
  Statistics<T> statistics;
  RowGradient<T>* gradients;

  __device__ Partial identity() const { return {}; }
  __device__ Partial value(std::int64_t row, std::int64_t element) const {
    return gradient_sums(dy[element] * affine.weight(row, element - row * n), x[element], statistics.data[row]);
  }
  __device__ Partial combine(const Partial& a, const Partial& b) const { return a + b; }
  __device__ void finish(std::int64_t row, const Partial& sums) const {
    gradients[row] = RowGradient<T>(statistics.of(row), sums, n, is_rms);
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

template <class T>
void run_input_grad(const KernelCall& call, const NormAttributes& a, const T* x, const T* dy, const T* weight,
                    const Statistics<T>& statistics) {
  T* const dx = call.data<T>(0);
  const Lines lines = lines_of_rows(a.rows, a.width);
  if (!are_few_and_long(lines)) {
    return with_row_teams(a.width, [&]<int lanes, int kept>() {
      for_teams<lanes>(call, a.rows, NormRowGrad<T, kept>{a.width, a.is_rms, x, dy, weight, dx, statistics});
    });
  }
  auto* const gradients = reinterpret_cast<RowGradient<T>*>(call.scratch + reduce_scratch_bytes(lines));
  const RowAffine<T> affine{weight};
  reduce(call, lines, RowGradients<T>{a.width, a.is_rms, x, dy, affine, statistics, gradients}, call.scratch);
  for_each(call, a.rows * a.width, GradientElement<T, RowAffine<T>>{x, dy, dx, gradients, affine, Divisor(a.width)});
}

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
    run_input_grad(call, a, x, dy, weight, statistics);
  });
}

// At most a thousandth of the elements, and some bytes for each of at most 255 rows.
std::int64_t grad_scratch_bytes(const KernelCall& call) {
  const auto& a = call.attributes<NormAttributes>();
  const std::int64_t sums = scratch_bytes(call);
  return sums == 0 ? 0 : sums + a.rows * static_cast<std::int64_t>(sizeof(RowGradient<double>));
}

}  // namespace

constinit const Kernel kernels::layer_norm{.run = run_layer_norm, .scratch_bytes = scratch_bytes};
constinit const Kernel kernels::layer_norm_grad{.run = run_layer_norm_grad, .scratch_bytes = grad_scratch_bytes};

}  // namespace asyncgrad::detail::cuda
