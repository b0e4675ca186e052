// Convolutions as products of matrices, a block of columns at a time (conv_columns.h), so that the columns of the whole
// input never exist. With the weight as a matrix w (O, K), K = C h w, of one group and image:
//   y (O, P) = w columns (K, P),  columns' gradient = w^T dy,  w's gradient = dy columns^T, added up over the images.
//
// Every sum is one chain in a fixed order (panel_product.h): over K for an output; over O for a column's gradient,
// which are added to the image from the first output to the last; over images and outputs for the weight's. With one
// output a group, the weight's gradient adds up a dot for each block of columns instead.
#include <algorithm>
#include <utility>

#include "asyncgrad/backends/cpu/families.h"
#include "asyncgrad/backends/cpu/products/panel_product.h"
#include "asyncgrad/backends/cpu/tiling.h"
#include "asyncgrad/backends/cpu/windows/conv_columns.h"

namespace asyncgrad::detail {

namespace {

constexpr std::int64_t block_columns = 64;  // what panel_product computes at once
constexpr std::int64_t block_rows = 256;    // of columns, which stay in the second-level cache
constexpr std::int64_t weight_block_columns = 256;

// The extents of one of the three operations, whose operands x, w and y, or their gradients, are these.
struct Extents {
  std::int64_t batch, groups, channels, outputs;  // channels and outputs of one group
  ConvAxis height, width;

  Extents(const ConvAttributes& a, const Shape& x, const Shape& y, std::int64_t kernel_height,
          std::int64_t kernel_width)
      : batch(x[0]),
        groups(a.groups),
        channels(x[1] / a.groups),
        outputs(y[1] / a.groups),
        height{x[2], y[2], kernel_height, a.stride[0], a.padding[0], a.dilation[0]},
        width{x[3], y[3], kernel_width, a.stride[1], a.padding[1], a.dilation[1]} {}

  std::int64_t rows() const { return channels * height.kernel * width.kernel; }
  std::int64_t columns() const { return height.out * width.out; }
  std::int64_t plane() const { return height.in * width.in; }
  // Whether the columns are the image itself.
  bool is_pointwise() const { return is_pointwise(height) && is_pointwise(width); }
  // The multiplications for `columns` columns of one image's group. The number is floating, so that it cannot overflow.
  double macs(std::int64_t of_columns) const {
    return static_cast<double>(outputs) * static_cast<double>(rows()) * static_cast<double>(of_columns);
  }

 private:
  static bool is_pointwise(const ConvAxis& axis) { return axis.kernel == 1 && axis.stride == 1 && axis.padding == 0; }
};

Extents extents_of(const KernelCall& call, int x, int w, int y) {
  const Shape& weight = call.shape(w);
  return {call.attributes<ConvAttributes>(), call.shape(x), call.shape(y), weight[2], weight[3]};
}
Extents forward_extents(const KernelCall& call) { return extents_of(call, 1, 2, 0); }
Extents input_extents(const KernelCall& call) { return extents_of(call, 0, 2, 1); }
Extents weight_extents(const KernelCall& call) { return extents_of(call, 1, 0, 2); }

constexpr double macs_per_tile = 1 << 20;
std::int64_t units_per_tile(double macs_of_unit) {
  return static_cast<std::int64_t>(std::max(1.0, macs_per_tile / std::max(macs_of_unit, 1024.0)));
}

// The scratch memory of an operation's tiles: columns, and behind them the scratch memory of the products.
template <class T>
class Columns {
 public:
  Columns(const KernelCall& call, std::int64_t elements)
      : columns_(reinterpret_cast<T*>(call.scratch)), product_scratch_(columns_ + elements + room) {}

  T* data() const { return columns_; }
  void product(const PanelProduct<T>& product) const { panel_product(product, product_scratch_); }

  static std::int64_t scratch_bytes(std::int64_t elements, std::int64_t k) {
    return (elements + room) * static_cast<std::int64_t>(sizeof(T)) + panel_scratch_bytes(k);
  }

 private:
  static constexpr std::int64_t room = 64 / static_cast<std::int64_t>(sizeof(T));

  T* columns_;
  T* product_scratch_;
};

template <class Function>
std::int64_t in_type_of(const KernelCall& call, Function function) {
  std::int64_t result = 0;
  visit_floating(call.dtype(0), [&]<class T>(T) { result = function(T{}); });
  return result;
}

// --- y: a unit is a block of columns of one image's group

std::int64_t column_blocks(const Extents& e) { return (e.columns() + block_columns - 1) / block_columns; }
std::int64_t forward_units_per_tile(const Extents& e) {
  return units_per_tile(e.macs(std::min(e.columns(), block_columns)));
}
int forward_tiles(const KernelCall& call) {
  const Extents e = forward_extents(call);
  return tile_count(e.batch * e.groups * column_blocks(e), forward_units_per_tile(e));
}

template <class T>
void outputs_of_block(const KernelCall& call, const Extents& e, std::int64_t image, std::int64_t group, Range block) {
  const bool has_bias = call.view_count == 4;
  const std::int64_t n = block.end - block.begin, all = e.columns();
  const T* const x = call.data<T>(1) + (image * e.groups + group) * e.channels * e.plane();
  const T* const w = call.data<T>(2) + group * e.outputs * e.rows();
  T* const y = call.data<T>(0) + (image * e.groups + group) * e.outputs * all + block.begin;
  if (has_bias) {
    const T* const bias = call.data<T>(3) + group * e.outputs;
    for (std::int64_t o = 0; o < e.outputs; ++o) std::fill_n(y + o * all, n, bias[o]);
  }
  const Columns<T> columns(call, block_rows * block_columns);
  for (std::int64_t row = 0; row < e.rows(); row += block_rows) {
    const std::int64_t depth = std::min(block_rows, e.rows() - row);
    PanelProduct<T> product{.m = e.outputs,
                            .n = n,
                            .k = depth,
                            .x = w + row,
                            .x_row = e.rows(),
                            .x_column = 1,
                            .w = x + row * all + block.begin,
                            .w_row = all,
                            .w_column = 1,
                            .out = y,
                            .out_row = all,
                            .accumulate = has_bias || row > 0};
    if (!e.is_pointwise()) {
      column_loops().of<T>().copy({e.height, e.width, row, row + depth, block.begin, block.end, block_columns}, x,
                                  columns.data());
      product.w = columns.data();
      product.w_row = block_columns;
      product.has_room = true;
    }
    columns.product(product);
  }
}

void run_forward(const KernelCall& call, int tile) {
  const Extents e = forward_extents(call);
  const std::int64_t blocks = column_blocks(e);
  const Range units = tile_range(e.batch * e.groups * blocks, forward_units_per_tile(e), tile);
  visit_floating(call.dtype(0), [&]<class T>(T) {
    for (std::int64_t unit = units.begin; unit < units.end; ++unit) {
      const std::int64_t first = unit % blocks * block_columns, of_image = unit / blocks;
      outputs_of_block<T>(call, e, of_image / e.groups, of_image % e.groups,
                          {first, std::min(e.columns(), first + block_columns)});
    }
  });
}

std::int64_t forward_scratch(const KernelCall& call) {
  return in_type_of(call, []<class T>(T) { return Columns<T>::scratch_bytes(block_rows * block_columns, block_rows); });
}

// --- x's gradient: a unit is a range of channels of one image's group

std::int64_t channel_parts(const Extents& e) {
  constexpr std::int64_t min_parts = 8;
  const std::int64_t whole = std::max<std::int64_t>(1, e.batch * e.groups);
  return std::clamp<std::int64_t>(min_parts / whole, 1, std::max<std::int64_t>(1, e.channels));
}
std::int64_t input_units_per_tile(const Extents& e) {
  return units_per_tile(e.macs(e.columns()) / static_cast<double>(channel_parts(e)));
}
int input_tiles(const KernelCall& call) {
  const Extents e = input_extents(call);
  return tile_count(e.batch * e.groups * channel_parts(e), input_units_per_tile(e));
}

template <class T>
void gradient_of_channels(const KernelCall& call, const Extents& e, std::int64_t image, std::int64_t group,
                          Range channels) {
  const std::int64_t all = e.columns(), kernel = e.height.kernel * e.width.kernel;
  T* const dx = call.data<T>(0) + (image * e.groups + group) * e.channels * e.plane();
  const T* const dy = call.data<T>(1) + (image * e.groups + group) * e.outputs * all;
  const T* const w = call.data<T>(2) + group * e.outputs * e.rows();
  const Columns<T> columns(call, block_rows * block_columns);
  if (!e.is_pointwise()) {
    std::fill_n(dx + channels.begin * e.plane(), (channels.end - channels.begin) * e.plane(), T{0});
  }
  for (std::int64_t column = 0; column < all; column += block_columns) {
    const std::int64_t n = std::min(block_columns, all - column);
    for (std::int64_t row = channels.begin * kernel; row < channels.end * kernel; row += block_rows) {
      const std::int64_t last = std::min(row + block_rows, channels.end * kernel);
      PanelProduct<T> product{.m = last - row,
                              .n = n,
                              .k = e.outputs,
                              .x = w + row,
                              .x_row = 1,
                              .x_column = e.rows(),
                              .w = dy + column,
                              .w_row = all,
                              .w_column = 1,
                              .out = dx + row * all + column,
                              .out_row = all};
      if (!e.is_pointwise()) {
        product.out = columns.data();
        product.out_row = block_columns;
      }
      columns.product(product);
      if (e.is_pointwise()) continue;
      column_loops().of<T>().add({e.height, e.width, row, last, column, column + n, block_columns}, columns.data(), dx);
    }
  }
}

void run_input(const KernelCall& call, int tile) {
  const Extents e = input_extents(call);
  const std::int64_t parts = channel_parts(e);
  const Range units = tile_range(e.batch * e.groups * parts, input_units_per_tile(e), tile);
  visit_floating(call.dtype(0), [&]<class T>(T) {
    for (std::int64_t unit = units.begin; unit < units.end; ++unit) {
      const std::int64_t part = unit % parts, of_image = unit / parts;
      gradient_of_channels<T>(call, e, of_image / e.groups, of_image % e.groups,
                              {e.channels * part / parts, e.channels * (part + 1) / parts});
    }
  });
}

std::int64_t input_scratch(const KernelCall& call) {
  const std::int64_t outputs = input_extents(call).outputs;
  return in_type_of(call, [=]<class T>(T) { return Columns<T>::scratch_bytes(block_rows * block_columns, outputs); });
}

// --- w's gradient: a tile is a range of rows of one group's columns, in a part of the images

std::int64_t row_ranges(const Extents& e) { return (e.rows() + conv_sums_per_tile - 1) / conv_sums_per_tile; }

int weight_tiles(const KernelCall& call) {
  return static_cast<int>(std::max<std::int64_t>(1, call.shape(0)[0] * row_ranges(weight_extents(call))));
}

template <class T>
void gradient_of_rows(const KernelCall& call, const Extents& e, std::int64_t group, Range images, Range rows, T* dw) {
  const std::int64_t all = e.columns();
  const Columns<T> columns(call, conv_sums_per_tile * weight_block_columns);
  std::fill_n(dw, (rows.end - rows.begin) * e.outputs, T{0});
  for (std::int64_t image = images.begin; image < images.end; ++image) {
    const T* const x = call.data<T>(1) + (image * e.groups + group) * e.channels * e.plane();
    const T* const dy = call.data<T>(2) + (image * e.groups + group) * e.outputs * all;
    for (std::int64_t column = 0; column < all; column += weight_block_columns) {
      const std::int64_t last = std::min(all, column + weight_block_columns);
      const T* of_input = x + rows.begin * all + column;
      std::int64_t input_row = all;
      if (!e.is_pointwise()) {
        column_loops().of<T>().copy({e.height, e.width, rows.begin, rows.end, column, last, weight_block_columns}, x,
                                    columns.data());
        of_input = columns.data();
        input_row = weight_block_columns;
      }
      PanelProduct<T> product{.m = rows.end - rows.begin,
                              .n = e.outputs,
                              .k = last - column,
                              .x = of_input,
                              .x_row = input_row,
                              .x_column = 1,
                              .w = dy + column,
                              .w_row = 1,
                              .w_column = all,
                              .out = dw,
                              .out_row = e.outputs,
                              .accumulate = true};
      if (e.outputs == 1) {  // a column would fill one lane of each vector: the transposed product is dots of rows
        std::swap(product.m, product.n);
        std::swap(product.x, product.w);
        product.x_row = all;
        product.w_column = input_row;
        product.out_row = product.n;
      }
      columns.product(product);
    }
  }
}

void run_weight(const KernelCall& call, int tile) {
  const Extents e = weight_extents(call);
  const std::int64_t ranges = row_ranges(e), parts = call.shape(0)[0] / e.groups;
  const std::int64_t group = tile / ranges % e.groups, part = tile / ranges / e.groups;
  const Range rows = tile_range(e.rows(), conv_sums_per_tile, static_cast<int>(tile % ranges));
  const Range images{e.batch * part / parts, e.batch * (part + 1) / parts};
  visit_floating(call.dtype(0), [&]<class T>(T) {
    T* const dw = call.data<T>(0) + ((part * e.groups + group) * e.rows() + rows.begin) * e.outputs;
    gradient_of_rows<T>(call, e, group, images, rows, dw);
  });
}

std::int64_t weight_scratch(const KernelCall& call) {
  return in_type_of(call, []<class T>(T) {
    return Columns<T>::scratch_bytes(conv_sums_per_tile * weight_block_columns, weight_block_columns);
  });
}

// Sixteen multiplications and sums take about as long as the reading of an element elsewhere.
template <Extents (*extents)(const KernelCall&)>
std::int64_t cost(const KernelCall& call) {
  const Extents e = extents(call);
  const double macs = e.macs(e.columns()) * static_cast<double>(e.batch * e.groups);
  return static_cast<std::int64_t>(std::min(macs / 16, 1e18));
}

}  // namespace

constinit const Kernel cpu_kernels::conv{
    .run = run_forward, .tiles = forward_tiles, .scratch_bytes = forward_scratch, .cost = cost<forward_extents>};
constinit const Kernel cpu_kernels::conv_input{
    .run = run_input, .tiles = input_tiles, .scratch_bytes = input_scratch, .cost = cost<input_extents>};
constinit const Kernel cpu_kernels::conv_weight{
    .run = run_weight, .tiles = weight_tiles, .scratch_bytes = weight_scratch, .cost = cost<weight_extents>};

}  // namespace asyncgrad::detail
