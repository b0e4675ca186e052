// Convolutions and the gradients of their inputs and weights, by products of matrices, of tiles of pixels: a pixel's
// column has what its outputs read, which is a matrix of (channels and elements of the kernel, pixels).
//
// Tiles, and so the order of every sum, depend on the shape alone.
#include <algorithm>

#include "asyncgrad/backends/cuda/families.h"
#include "asyncgrad/backends/cuda/kernels/conv_direct.h"
#include "asyncgrad/backends/cuda/kernels/conv_places.cuh"
#include "asyncgrad/backends/cuda/kernels/for_each.cuh"
#include "asyncgrad/backends/cuda/kernels/product.h"

namespace asyncgrad::detail::cuda {

namespace {

// The same pixels of every part of a batch. Matrices of a tile are as wide as it, and hold zeros where a part has no such
// pixel.
struct Tile {
  std::int64_t begin, width;
};

// How pixels are cut into tiles, whose matrices have `elements` elements for each pixel: those take 32 MiB at most, which
// stay in the cache of a large GPU, or what a few pixels take.
struct Tiles {
  std::int64_t pixels, width;

  Tiles(std::int64_t all, std::int64_t elements, DType dtype) : pixels(all) {
    constexpr std::int64_t max_bytes = std::int64_t{32} << 20, fewest = 4, wanted = 32;
    const std::int64_t most = max_bytes / (elements * static_cast<std::int64_t>(size_bytes(dtype)));
    const std::int64_t multiple = most < wanted ? fewest : wanted;  // all matrices are aligned
    const std::int64_t widest = std::max(most / multiple * multiple, multiple);
    const std::int64_t count = std::max<std::int64_t>(1, (pixels + widest - 1) / widest);
    width = ((pixels + count - 1) / count + multiple - 1) / multiple * multiple;
  }
  template <class Function>
  void each(Function function) const {
    for (std::int64_t begin = 0; begin < pixels; begin += width) function(Tile{begin, width});
  }
};

// columns (parts, channels, kernel height, kernel width, pixels of the tile) = what they read of x, which has so many
// channels.
template <class T>
struct Unfold {
  T* columns;
  const T* x;
  std::int64_t channels;
  ConvAxis height, width;
  ConvPixels pixels;
  Tile tile;

  // Of one pixel and channel.
  __device__ void operator()(std::int64_t i) const {
    constexpr int at_once = 4;  // loads
    const Divided at = divided(i, tile.width), which = divided(at.quotient, channels);
    const std::int64_t part = pixels.parts == 1 ? 0 : which.quotient;
    const ConvPixels::Place place = pixels.place(part, tile.begin + at.remainder);
    const bool is_there = pixels.is_there(part, place);
    const T* const plane = x + (place.image * channels + which.remainder) * (height.in * width.in);
    T* to = columns + at.quotient * height.kernel * width.kernel * tile.width + at.remainder;
    for (std::int64_t i = 0; i < height.kernel; ++i) {
      const std::int64_t row = first_read(height, place.row) + i * height.dilation;
      const bool has_row = is_there && is_inside(height, row);
      for (std::int64_t j = 0; j < width.kernel; j += at_once, to += at_once * tile.width) {
        T values[at_once];
        for (int k = 0; k < at_once; ++k) {
          const std::int64_t column = first_read(width, place.column) + (j + k) * width.dilation;
          const bool is_read = has_row && j + k < width.kernel && is_inside(width, column);
          values[k] = is_read ? plane[row * width.in + column] : T(0);
        }
        for (int k = 0; k < at_once; ++k) {
          if (j + k < width.kernel) to[k * tile.width] = values[k];
        }
      }
      to -= (at_once - 1 - (width.kernel - 1) % at_once) * tile.width;
    }
  }
};

template <class T>
void unfold(const KernelCall& call, T* columns, const T* x, std::int64_t channels, const ConvAxis& height,
            const ConvAxis& width, const ConvPixels& pixels, const Tile& tile) {
  for_each(call, pixels.parts * channels * tile.width, Unfold<T>{columns, x, channels, height, width, pixels, tile});
}

// columns (parts, channels, pixels of the tile) = a tensor of outputs.
template <class T>
void unfold_outputs(const KernelCall& call, T* columns, const T* y, std::int64_t channels, const ConvPixels& pixels,
                    const Tile& tile) {
  unfold(call, columns, y, channels, {pixels.rows, pixels.rows, 1, 1, 0, 1},
         {pixels.columns, pixels.columns, 1, 1, 0, 1}, pixels, tile);
}

// The pixels of a tile in y = columns (channels, pixels of the tile) + bias.
template <class T>
struct FoldOutputs {
  T* y;
  const T *columns, *bias;  // the bias may be null
  std::int64_t channels;
  ConvPixels pixels;
  Tile tile;

  __device__ void operator()(std::int64_t i) const {
    const Divided at = divided(i, tile.width), in_image = divided(tile.begin + at.remainder, pixels.plane());
    if (in_image.quotient >= pixels.batch) return;
    y[(in_image.quotient * channels + at.quotient) * pixels.plane() + in_image.remainder] =
        bias == nullptr ? columns[i] : columns[i] + bias[at.quotient];
  }
};

// y += bias
template <class T>
struct AddBias {
  T* y;
  const T* bias;
  std::int64_t channels, plane;

  __device__ void operator()(std::int64_t i) const {
    y[i] += bias[divided(divided(i, plane).quotient, channels).remainder];
  }
};

// dx = bias + columns (channels, kernel height, kernel width, pixels of the tile), each element the sum of those for the
// outputs that have read it. An image that began in an earlier tile is added to.
template <class T>
struct FoldInputs {
  T* dx;
  const T *columns, *bias;  // the bias may be null
  ConvExtents e;
  Tile tile;
  std::int64_t first_image;  // of which an output is in the tile

  __device__ void operator()(std::int64_t number) const {
    const Divided in_plane = divided(number, e.in_plane()), at = divided(in_plane.quotient, e.groups * e.channels);
    const Divided pixel = divided(in_plane.remainder, e.width.in);
    const std::int64_t channel = at.remainder, first_output = (first_image + at.quotient) * e.out_plane() - tile.begin;
    T* const to = dx + first_image * e.groups * e.channels * e.in_plane() + number;
    T sum = first_output < 0 ? *to : bias == nullptr ? T(0) : bias[channel];
    const T* const lines = columns + channel * e.taps() * tile.width;
    each_reader(e.height, pixel.quotient, [&](std::int64_t i, std::int64_t row) {
      each_reader(e.width, pixel.remainder, [&](std::int64_t j, std::int64_t column) {
        const std::int64_t output = first_output + row * e.width.out + column;
        if (output >= 0 && output < tile.width) sum += lines[(i * e.width.kernel + j) * tile.width + output];
      });
    });
    *to = sum;
  }
};

// --- What is asked of products

// Two matrices of a tile, behind each other in the scratch memory that products leave over.
template <class T>
struct TileMatrices {
  T *first, *second;

  TileMatrices(const KernelCall& call, std::int64_t elements_of_first)
      : first(reinterpret_cast<T*>(call.scratch + multiply_scratch_bytes)), second(first + elements_of_first) {}
};

std::int64_t distance_of(const Product& p, std::int64_t rows, std::int64_t columns) {
  return p.batches == 1 ? 0 : rows * columns * static_cast<std::int64_t>(size_bytes(p.dtype));
}

// Of matrices that lie one behind another.
template <class T>
void multiply_matrices(const KernelCall& call, Op op, Product p, const T* a, const T* b, T* d) {
  const auto& attributes = call.attributes<ConvAttributes>();
  const Matrices matrices{reinterpret_cast<const std::byte*>(a), reinterpret_cast<const std::byte*>(b),
                          reinterpret_cast<std::byte*>(d)};
  p.dtype = call.dtype(0);
  p.math = attributes.math;
  p.is_aligned = is_aligned(matrices.a, distance_of(p, p.rows_of_a(), p.columns_of_a())) &&
                 is_aligned(matrices.b, distance_of(p, p.rows_of_b(), p.columns_of_b())) &&
                 is_aligned(matrices.d, distance_of(p, p.rows, p.columns));
  multiply(call, p, matrices, op_name(op, &attributes));
}

// --- How a call is computed

enum class Way { nothing, direct, by_planes, by_tiles };

// `results` and `depth`: of a pixel in a group. The planes of x are matrices as they are if the kernel has one element.
Way way_of(const ConvExtents& e, std::int64_t results, std::int64_t depth) {
  constexpr std::int64_t fewest_pixels = 64;  // of a product
  if (e.batch == 0) return Way::nothing;
  if (conv_is_direct(results, depth) || e.groups > max_batches) return Way::direct;
  const auto is_as_it_is = [](const ConvAxis& a) { return a.kernel == 1 && a.stride == 1 && a.padding == 0; };
  return is_as_it_is(e.height) && is_as_it_is(e.width) && e.groups == 1 && e.out_plane() >= fewest_pixels &&
                 e.batch <= max_batches
             ? Way::by_planes
             : Way::by_tiles;
}

std::int64_t scratch_bytes_of(Way way, const Tiles& tiles, std::int64_t elements, DType dtype) {
  if (way == Way::by_planes) return multiply_scratch_bytes;
  if (way != Way::by_tiles) return 0;
  return multiply_scratch_bytes + tiles.width * elements * static_cast<std::int64_t>(size_bytes(dtype));
}

// Of conv and conv_input, which need the same matrices: of (channels and taps) and of outputs.
std::int64_t elements_of_pixel(const ConvExtents& e) { return e.groups * (e.channels * e.taps() + e.outputs); }
ConvPixels pixels_of(const ConvExtents& e, std::int64_t parts = 1) {
  return {e.batch, parts, e.height.out, e.width.out};
}
Tiles tiles_of(const KernelCall& call, const ConvExtents& e) {
  return {pixels_of(e).of_largest_part(), elements_of_pixel(e), call.dtype(0)};
}
template <class T>
const T* bias_of(const KernelCall& call) {
  return call.view_count == 4 ? call.data<T>(3) : nullptr;
}
template <class T>
void add_bias(const KernelCall& call) {
  const Shape& shape = call.shape(0);
  if (call.view_count < 4) return;
  for_each(call, call.numel(0), AddBias<T>{call.data<T>(0), call.data<T>(3), shape[1], shape[2] * shape[3]});
}

// --- y: in each image and group y (outputs, pixels) = w (outputs, depth) columns (depth, pixels)

ConvExtents conv_extents(const KernelCall& call) { return {call, 1, 2, 0}; }
Way conv_way(const ConvExtents& e) { return way_of(e, e.outputs, e.channels * e.taps()); }

template <class T>
void conv_by_planes(const KernelCall& call, const ConvExtents& e) {
  const Product product{
      .rows = e.out_plane(), .columns = e.outputs, .depth = e.channels, .batches = e.batch, .repeats_b = true};
  multiply_matrices(call, Op::conv, product, call.data<T>(1), call.data<T>(2), call.data<T>(0));
  add_bias<T>(call);
}

template <class T>
void conv_by_tiles(const KernelCall& call, const ConvExtents& e) {
  const std::int64_t depth = e.channels * e.taps(), outputs = e.groups * e.outputs;
  const ConvPixels pixels = pixels_of(e);
  tiles_of(call, e).each([&](const Tile& tile) {
    const TileMatrices<T> tile_of(call, e.groups * depth * tile.width);
    unfold(call, tile_of.first, call.data<T>(1), e.groups * e.channels, e.height, e.width, pixels, tile);
    const Product product{.rows = tile.width, .columns = e.outputs, .depth = depth, .batches = e.groups};
    multiply_matrices(call, Op::conv, product, tile_of.first, call.data<T>(2), tile_of.second);
    for_each(call, outputs * tile.width,
             FoldOutputs<T>{call.data<T>(0), tile_of.second, bias_of<T>(call), outputs, pixels, tile});
  });
}

void run_conv(const KernelCall& call, int) {
  const ConvExtents e = conv_extents(call);
  const Way way = conv_way(e);
  if (way == Way::direct) return conv_direct(call, e);
  visit_floating(call.dtype(0), [&]<class T>(T) {
    if (way == Way::by_planes) conv_by_planes<T>(call, e);
    if (way == Way::by_tiles) conv_by_tiles<T>(call, e);
  });
}

std::int64_t conv_scratch_bytes(const KernelCall& call) {
  const ConvExtents e = conv_extents(call);
  return scratch_bytes_of(conv_way(e), tiles_of(call, e), elements_of_pixel(e), call.dtype(0));
}

// --- dx: in each group columns (depth, pixels) = w^T (depth, outputs) dy (outputs, pixels), from which dx takes sums

ConvExtents input_extents(const KernelCall& call) { return {call, 0, 2, 1}; }
Way input_way(const ConvExtents& e) { return way_of(e, e.channels, e.outputs * e.taps()); }

template <class T>
void input_by_planes(const KernelCall& call, const ConvExtents& e) {
  const Product product{.rows = e.in_plane(),
                        .columns = e.channels,
                        .depth = e.outputs,
                        .transpose_b = true,
                        .batches = e.batch,
                        .repeats_b = true};
  multiply_matrices(call, Op::conv_input, product, call.data<T>(1), call.data<T>(2), call.data<T>(0));
  add_bias<T>(call);
}

template <class T>
void input_by_tiles(const KernelCall& call, const ConvExtents& e) {
  const std::int64_t depth = e.channels * e.taps(), outputs = e.groups * e.outputs;
  const ConvPixels pixels = pixels_of(e);
  tiles_of(call, e).each([&](const Tile& tile) {
    const TileMatrices<T> tile_of(call, e.groups * depth * tile.width);
    unfold_outputs(call, tile_of.second, call.data<T>(1), outputs, pixels, tile);
    const Product product{
        .rows = tile.width, .columns = depth, .depth = e.outputs, .transpose_b = true, .batches = e.groups};
    multiply_matrices(call, Op::conv_input, product, tile_of.second, call.data<T>(2), tile_of.first);
    const std::int64_t first_image = tile.begin / pixels.plane();
    const std::int64_t end = (tile.begin + tile.width + pixels.plane() - 1) / pixels.plane();
    for_each(call, (std::min(end, e.batch) - first_image) * e.groups * e.channels * e.in_plane(),
             FoldInputs<T>{call.data<T>(0), tile_of.first, bias_of<T>(call), e, tile, first_image});
  });
}

void run_conv_input(const KernelCall& call, int) {
  const ConvExtents e = input_extents(call);
  const Way way = input_way(e);
  if (way == Way::direct) return conv_input_direct(call, e);
  visit_floating(call.dtype(0), [&]<class T>(T) {
    if (way == Way::by_planes) input_by_planes<T>(call, e);
    if (way == Way::by_tiles) input_by_tiles<T>(call, e);
  });
}

std::int64_t input_scratch_bytes(const KernelCall& call) {
  const ConvExtents e = input_extents(call);
  return scratch_bytes_of(input_way(e), tiles_of(call, e), elements_of_pixel(e), call.dtype(0));
}

// --- dw: in each part and group dw (depth, outputs) = columns (depth, pixels) dy^T (pixels, outputs), added up over tiles

ConvExtents weight_extents(const KernelCall& call) { return {call, 1, 0, 2}; }
std::int64_t parts_of(const KernelCall& call, const ConvExtents& e) { return call.shape(0)[0] / e.groups; }
Tiles weight_tiles(const KernelCall& call, const ConvExtents& e) {
  const std::int64_t parts = parts_of(call, e);
  return {pixels_of(e, parts).of_largest_part(), parts * elements_of_pixel(e), call.dtype(0)};
}
bool weight_is_direct(const KernelCall& call, const ConvExtents& e) {
  // Without images there is no product, whose result would be zero.
  return e.batch == 0 || conv_is_direct(e.outputs, e.channels * e.taps()) || call.shape(0)[0] > max_batches;
}

template <class T>
void weight_by_tiles(const KernelCall& call, const ConvExtents& e) {
  const std::int64_t depth = e.channels * e.taps(), parts = parts_of(call, e);
  const ConvPixels pixels = pixels_of(e, parts);
  weight_tiles(call, e).each([&](const Tile& tile) {
    const TileMatrices<T> tile_of(call, parts * e.groups * depth * tile.width);
    unfold(call, tile_of.first, call.data<T>(1), e.groups * e.channels, e.height, e.width, pixels, tile);
    unfold_outputs(call, tile_of.second, call.data<T>(2), e.groups * e.outputs, pixels, tile);
    const Product product{.rows = e.outputs,
                          .columns = depth,
                          .depth = tile.width,
                          .transpose_a = true,
                          .accumulates = tile.begin > 0,
                          .batches = parts * e.groups};
    multiply_matrices(call, Op::conv_weight, product, tile_of.second, tile_of.first, call.data<T>(0));
  });
}

void run_conv_weight(const KernelCall& call, int) {
  const ConvExtents e = weight_extents(call);
  if (weight_is_direct(call, e)) return conv_weight_direct(call, e);
  visit_floating(call.dtype(0), [&]<class T>(T) { weight_by_tiles<T>(call, e); });
}

std::int64_t weight_scratch_bytes(const KernelCall& call) {
  const ConvExtents e = weight_extents(call);
  if (weight_is_direct(call, e)) return conv_weight_direct_scratch_bytes(call, e);
  return scratch_bytes_of(Way::by_tiles, weight_tiles(call, e), parts_of(call, e) * elements_of_pixel(e),
                          call.dtype(0));
}

}  // namespace

constinit const Kernel kernels::conv{.run = run_conv, .scratch_bytes = conv_scratch_bytes};
constinit const Kernel kernels::conv_input{.run = run_conv_input, .scratch_bytes = input_scratch_bytes};
constinit const Kernel kernels::conv_weight{.run = run_conv_weight, .scratch_bytes = weight_scratch_bytes};

}  // namespace asyncgrad::detail::cuda
