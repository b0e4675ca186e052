
#include <algorithm>
#include <span>

#include "asyncgrad/backends/broadcast.h"
#include "asyncgrad/backends/cpu/families.h"
#include "asyncgrad/backends/cpu/products/product.h"
#include "asyncgrad/backends/cpu/tiling.h"
#include "asyncgrad/backends/element_types.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad::detail {
namespace {

// The products of a matmul: one for each index of the axes before the last two, in which x and w may be repeated.
struct MatmulPlan {
  ProductShape shape;
  ProductPlan plan;
  std::int64_t products = 1, products_per_tile = 1;  // of several in a tile each has one tile

  explicit MatmulPlan(const KernelCall& call) {
    const auto& attributes = call.attributes<MatmulAttributes>();
    const Shape& out = call.shape(0);
    shape = {.m = out[-2],
             .n = out[-1],
             .k = call.shape(1)[attributes.transpose_x ? -2 : -1],
             .transpose_x = attributes.transpose_x,
             .transpose_w = attributes.transpose_w,
             .math = attributes.math,
             .dtype = call.dtype(0)};
    products = out.numel(0, out.rank() - 2);
    shape.is_one_tile = products >= min_whole;
    plan = plan_product(shape);
    if (plan.tiles() > 1) return;
    const std::int64_t macs = shape.m * shape.n * std::max<std::int64_t>(1, shape.k);
    products_per_tile = std::max<std::int64_t>(1, macs_per_tile / (macs + macs_of_a_call));
  }
  int tiles() const { return tile_count(products, products_per_tile) * plan.tiles(); }

 private:
  // This many products keep all threads busy without being cut.
  static constexpr std::int64_t min_whole = 16;
  static constexpr std::int64_t macs_per_tile = 1 << 18, macs_of_a_call = 1 << 10;  // as long as a call takes
};

template <class T>
void run_products(const KernelCall& call, const MatmulPlan& matmul, int tile) {
  const ProductShape& shape = matmul.shape;
  if (matmul.products == 1) {
    return run_product_tile<T>(shape, matmul.plan, {call.data<T>(1), call.data<T>(2), nullptr, call.data<T>(0)}, tile,
                               call.scratch);
  }
  const Shape leading = leading_axes(call.shape(0)), x = leading_axes(call.shape(1)), w = leading_axes(call.shape(2));
  const Broadcast broadcast(leading, {&x, &w}, 2);
  const int cuts = matmul.plan.tiles();
  const Range products = tile_range(matmul.products, matmul.products_per_tile, tile / cuts);
  for (std::int64_t i = products.begin; i < products.end; ++i) {
    const ProductOperands<T> operands{.x = call.data<T>(1) + broadcast.offset(0, i) * shape.m * shape.k,
                                      .w = call.data<T>(2) + broadcast.offset(1, i) * shape.k * shape.n,
                                      .bias = nullptr,
                                      .out = call.data<T>(0) + i * shape.m * shape.n};
    run_product_tile(shape, matmul.plan, operands, tile % cuts, call.scratch);
  }
}

ProductShape dense_shape(const KernelCall& call) {
  const Shape& w = call.shape(2);
  return {.m = call.shape(0)[0],
          .n = w[1],
          .k = w[0],
          .math = call.attributes<DenseAttributes>().math,
          .dtype = call.dtype(0)};
}
template <class T>
ProductOperands<T> dense_operands(const KernelCall& call) {
  const auto& attributes = call.attributes<DenseAttributes>();
  return {.x = call.data<T>(1),
          .w = call.data<T>(2),
          .bias = attributes.has_bias ? call.data<T>(3) : nullptr,
          .out = call.data<T>(0),
          .activation = attributes.activation};
}

void run_matmul(const KernelCall& call, int tile) {
  const MatmulPlan matmul(call);
  visit_floating(call.dtype(0), [&]<class T>(T) { run_products<T>(call, matmul, tile); });
}
void run_dense(const KernelCall& call, int tile) {
  const ProductShape shape = dense_shape(call);
  visit_floating(call.dtype(0), [&]<class T>(T) {
    run_product_tile(shape, plan_product(shape), dense_operands<T>(call), tile, call.scratch);
  });
}

template <Op op>
void check_type(const KernelCall& call) {
  if (!is_floating(call.dtype(0))) throw_error(op_name(op, call.attributes_bytes), "is not for int64");
}

// Sixteen multiplications and sums take about as long as the reading or writing of an element.
std::int64_t cost_of(const ProductShape& shape, std::int64_t products) {
  return products * shape.m * shape.n * std::max<std::int64_t>(16, shape.k) / 16;
}

}  // namespace

constinit const Kernel cpu_kernels::matmul{
    .run = run_matmul,
    .tiles = [](const KernelCall& call) { return MatmulPlan(call).tiles(); },
    .prepare = check_type<Op::matmul>,
    .scratch_bytes = [](const KernelCall& call) { return product_scratch_bytes(MatmulPlan(call).shape); },
    .cost =
        [](const KernelCall& call) {
          const MatmulPlan matmul(call);
          return cost_of(matmul.shape, matmul.products);
        }};

constinit const Kernel cpu_kernels::dense{
    .run = run_dense,
    .tiles = [](const KernelCall& call) { return plan_product(dense_shape(call)).tiles(); },
    .prepare = check_type<Op::dense>,
    .scratch_bytes = [](const KernelCall& call) { return product_scratch_bytes(dense_shape(call)); },
    .cost = [](const KernelCall& call) { return cost_of(dense_shape(call), 1); }};

}  // namespace asyncgrad::detail
