// Convolutions and the gradients of their inputs and weights, by products of matrices, of tiles of pixels: a pixel's
// column has what its outputs read, which is a matrix of (channels and elements of the kernel, pixels). Where they can
// be, tiles are whole images, each with a matrix of its own: their outputs are matrices as they lie in y.
//
// Tiles, and so the order of every sum, depend on the shape alone.
#include <algorithm>

#include "asyncgrad/backends/cuda/families.h"
#include "asyncgrad/backends/cuda/kernels/add_chunks.cuh"
#include "asyncgrad/backends/cuda/kernels/conv_direct.h"
#include "asyncgrad/backends/cuda/kernels/conv_tiles.cuh"
#include "asyncgrad/backends/cuda/kernels/product.h"

namespace asyncgrad::detail::cuda {

namespace {

// --- What is asked of products

// Two matrices of a tile, behind each other in the scratch memory that products leave over.
template <class T>
struct TileMatrices {
  T *first, *second;

  TileMatrices(const KernelCall& call, std::int64_t elements_of_first)
      : first(reinterpret_cast<T*>(call.scratch + multiply_scratch_bytes)), second(first + elements_of_first) {}
};

std::int64_t distance_of(const Product& p, std::int64_t rows, std::int64_t columns, bool repeats = false) {
  return p.batches == 1 || repeats ? 0 : rows * columns * static_cast<std::int64_t>(size_bytes(p.dtype));
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
                 is_aligned(matrices.b, distance_of(p, p.rows_of_b(), p.columns_of_b(), p.repeats_b)) &&
                 is_aligned(matrices.d, distance_of(p, p.rows, p.columns));
  multiply(call, p, matrices, op_name(op, &attributes));
}

// --- How a call is computed

enum class Way { nothing, direct, by_planes, by_images, by_tiles };

ImageTiles image_tiles(const ConvExtents& e, DType dtype) {
  return {e.batch, e.out_plane(), e.channels * e.taps(), dtype};
}

// A pixel has `results` of `depth` terms in each group, and an image has `pixels`. The planes of x are matrices as they are
// if the kernel has one element, and those of y always; products need some pixels, whose number keeps the matrices aligned.
Way way_of(const ConvExtents& e, std::int64_t pixels, std::int64_t results, std::int64_t depth, DType dtype) {
  constexpr std::int64_t fewest_pixels = 64;  // of a product
  // A thread adds up a whole sum, so that long ones need many pixels to keep a GPU busy.
  constexpr std::int64_t short_depth = 64, many_pixels = 1 << 16;
  if (e.batch == 0) return Way::nothing;
  const bool is_direct =
      conv_is_direct(results, depth) && (depth <= short_depth || e.batch * e.groups * pixels >= many_pixels);
  if (is_direct || e.groups > max_batches || !conv_is_small(e)) return Way::direct;
  if (e.groups > 1 || e.out_plane() < fewest_pixels) return Way::by_tiles;
  const auto is_as_it_is = [](const ConvAxis& a) {
    return a.kernel == 1 && a.stride == 1 && a.padding == 0 && a.in == a.out;
  };
  if (is_as_it_is(e.height) && is_as_it_is(e.width) && e.batch <= max_batches) return Way::by_planes;
  const bool is_aligned = e.out_plane() % pixels_at_once == 0;
  return is_aligned && image_tiles(e, dtype).fit > 0 ? Way::by_images : Way::by_tiles;
}

std::int64_t tile_bytes(std::int64_t pixels, std::int64_t elements, DType dtype) {
  return pixels * elements * static_cast<std::int64_t>(size_bytes(dtype));
}

// Of conv and conv_input, which need the same matrices: of (channels and taps) and of outputs.
std::int64_t elements_of_pixel(const ConvExtents& e) { return e.groups * (e.channels * e.taps() + e.outputs); }
ConvPixels pixels_of(const ConvExtents& e, std::int64_t parts = 1) {
  return {e.batch, parts, e.height.out, e.width.out};
}
Tiles tiles_of(const KernelCall& call, const ConvExtents& e) {
  return {pixels_of(e).of_largest_part(), elements_of_pixel(e), call.dtype(0)};
}
// Of conv and conv_input.
std::int64_t scratch_bytes_of(const KernelCall& call, const ConvExtents& e, Way way) {
  const DType dtype = call.dtype(0);
  switch (way) {
    case Way::nothing:
    case Way::direct:
      return 0;
    case Way::by_planes:
      return multiply_scratch_bytes;
    case Way::by_images:
      return multiply_scratch_bytes +
             tile_bytes(image_tiles(e, dtype).images * e.out_plane(), e.channels * e.taps(), dtype);
    case Way::by_tiles:
      break;
  }
  return multiply_scratch_bytes + tile_bytes(tiles_of(call, e).width, elements_of_pixel(e), dtype);
}

template <class T>
const T* bias_of(const KernelCall& call) {
  return call.view_count == 4 ? call.data<T>(3) : nullptr;
}
template <class T>
void add_bias(const KernelCall& call) {
  const Shape& shape = call.shape(0);
  if (call.view_count < 4) return;
  const std::int64_t channels = shape[1], plane = shape[2] * shape[3];
  const AddBias<T> map{call.data<T>(3), channels, plane, Divisor(channels), Divisor(plane)};
  T* const y = call.data<T>(0);
  map_packs(call, call.numel(0), map, y, static_cast<const T*>(y));
}

// --- y: in each image and group y (outputs, pixels) = w (outputs, depth) columns (depth, pixels)

ConvExtents conv_extents(const KernelCall& call) { return {call, 1, 2, 0}; }
Way conv_way(const KernelCall& call, const ConvExtents& e) {
  return way_of(e, e.out_plane(), e.outputs, e.channels * e.taps(), call.dtype(0));
}

template <class T>
void conv_by_planes(const KernelCall& call, const ConvExtents& e) {
  const Product product{
      .rows = e.out_plane(), .columns = e.outputs, .depth = e.channels, .batches = e.batch, .repeats_b = true};
  multiply_matrices(call, Op::conv, product, call.data<T>(1), call.data<T>(2), call.data<T>(0));
  add_bias<T>(call);
}

template <class T>
void conv_by_images(const KernelCall& call, const ConvExtents& e) {
  const std::int64_t depth = e.channels * e.taps(), plane = e.out_plane();
  image_tiles(e, call.dtype(0)).each([&](std::int64_t first, std::int64_t images) {
    T* const columns = TileMatrices<T>(call, 0).first;
    unfold(call, columns, call.data<T>(1) + first * e.channels * e.in_plane(), e.channels, e.height, e.width,
           {images, images, e.height.out, e.width.out}, {0, plane});
    const Product product{.rows = plane, .columns = e.outputs, .depth = depth, .batches = images, .repeats_b = true};
    multiply_matrices(call, Op::conv, product, columns, call.data<T>(2), call.data<T>(0) + first * e.outputs * plane);
  });
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
    for_each(call, packs_of<T>(outputs * tile.width),
             FoldOutputs<T>(call.data<T>(0), tile_of.second, bias_of<T>(call), outputs, pixels, tile));
  });
}

void run_conv(const KernelCall& call, int) {
  const ConvExtents e = conv_extents(call);
  const Way way = conv_way(call, e);
  if (way == Way::direct) return conv_direct(call, e);
  visit_floating(call.dtype(0), [&]<class T>(T) {
    if (way == Way::by_planes) conv_by_planes<T>(call, e);
    if (way == Way::by_images) conv_by_images<T>(call, e);
    if (way == Way::by_tiles) conv_by_tiles<T>(call, e);
  });
}

std::int64_t conv_scratch_bytes(const KernelCall& call) {
  const ConvExtents e = conv_extents(call);
  return scratch_bytes_of(call, e, conv_way(call, e));
}

// --- dx: in each group columns (depth, pixels) = w^T (depth, outputs) dy (outputs, pixels), from which dx takes sums

ConvExtents input_extents(const KernelCall& call) { return {call, 0, 2, 1}; }
Way input_way(const KernelCall& call, const ConvExtents& e) {
  return e.in_plane() == 0 ? Way::nothing : way_of(e, e.in_plane(), e.channels, e.outputs * e.taps(), call.dtype(0));
}

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
void input_by_images(const KernelCall& call, const ConvExtents& e) {
  const std::int64_t depth = e.channels * e.taps(), plane = e.out_plane();
  image_tiles(e, call.dtype(0)).each([&](std::int64_t first, std::int64_t images) {
    T* const columns = TileMatrices<T>(call, 0).first;
    const Product product{
        .rows = plane, .columns = depth, .depth = e.outputs, .transpose_b = true, .batches = images, .repeats_b = true};
    multiply_matrices(call, Op::conv_input, product, call.data<T>(1) + first * e.outputs * plane, call.data<T>(2),
                      columns);
    fold_inputs(call, call.data<T>(0) + first * e.channels * e.in_plane(), columns, bias_of<T>(call), e, images,
                {.pixels = plane, .distance = depth * plane, .image = 0, .before = 0}, {0, e.height.in, 0});
  });
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
    const std::int64_t plane = pixels.plane(), end = tile.begin + tile.width;
    const std::int64_t first_image = tile.begin / plane, end_image = std::min((end + plane - 1) / plane, e.batch);
    const auto fold = [&](std::int64_t image, std::int64_t count, const InputRows& rows) {
      fold_inputs(call, call.data<T>(0) + image * e.groups * e.channels * e.in_plane(), tile_of.first, bias_of<T>(call),
                  e, count, {.pixels = tile.width, .distance = 0, .image = plane, .before = tile.begin - image * plane},
                  rows);
    };
    if (plane <= tile.width) return fold(first_image, end_image - first_image, {0, e.height.in, e.height.in});
    for (std::int64_t image = first_image; image < end_image; ++image) {  // two at most, a part of each
      const std::int64_t first = image * plane;
      fold(image, 1, rows_read(e, std::max(tile.begin - first, std::int64_t{0}), std::min(end - first, plane)));
    }
  });
}

void run_conv_input(const KernelCall& call, int) {
  const ConvExtents e = input_extents(call);
  const Way way = input_way(call, e);
  if (way == Way::direct) return conv_input_direct(call, e);
  visit_floating(call.dtype(0), [&]<class T>(T) {
    if (way == Way::by_planes) input_by_planes<T>(call, e);
    if (way == Way::by_images) input_by_images<T>(call, e);
    if (way == Way::by_tiles) input_by_tiles<T>(call, e);
  });
}

std::int64_t input_scratch_bytes(const KernelCall& call) {
  const ConvExtents e = input_extents(call);
  return scratch_bytes_of(call, e, input_way(call, e));
}

// --- dw: in each part and group dw (depth, outputs) = columns (depth, pixels) dy^T (pixels, outputs), added up over tiles
// --- and pieces

ConvExtents weight_extents(const KernelCall& call) { return {call, 1, 0, 2}; }
std::int64_t parts_of(const KernelCall& call, const ConvExtents& e) { return call.shape(0)[0] / e.groups; }
// A product of few results has too few blocks for a GPU. So the pixels of a batch without parts are cut into pieces, whose
// products run at once, and are added up afterwards.
Tiles weight_tiles(const KernelCall& call, const ConvExtents& e) {
  constexpr std::int64_t wanted_results = 1 << 20;  // of all pieces
  const std::int64_t parts = parts_of(call, e);
  const std::int64_t wanted = parts > 1 ? 1 : wanted_results / std::max<std::int64_t>(call.numel(0), 1);
  return {pixels_of(e, parts).of_largest_part(), parts * elements_of_pixel(e), call.dtype(0),
          std::clamp<std::int64_t>(wanted, 1, max_batches / e.groups)};
}
std::int64_t weight_tile_elements(const KernelCall& call, const ConvExtents& e) {
  return parts_of(call, e) * elements_of_pixel(e) * weight_tiles(call, e).tile_width();
}
// The pieces' products lie behind the matrices of a tile.
template <class T>
T* products_of_pieces(const KernelCall& call, const ConvExtents& e) {
  return reinterpret_cast<T*>(call.scratch + multiply_scratch_bytes) + weight_tile_elements(call, e);
}
bool weight_is_direct(const KernelCall& call, const ConvExtents& e) {
  // Without images there is no product, whose result would be zero.
  return e.batch == 0 || conv_is_direct(e.outputs, e.channels * e.taps()) || call.shape(0)[0] > max_batches ||
         !conv_is_small(e);
}

template <class T>
void weight_by_tiles(const KernelCall& call, const ConvExtents& e) {
  const std::int64_t depth = e.channels * e.taps(), parts = parts_of(call, e);
  const ConvPixels pixels = pixels_of(e, parts);
  const Tiles tiles = weight_tiles(call, e);
  T* const dw = call.data<T>(0);
  T* const products = tiles.pieces == 1 ? dw : products_of_pieces<T>(call, e);
  tiles.each([&](const Tile& tile) {
    const std::int64_t batches = parts * tile.pieces * e.groups;
    const TileMatrices<T> tile_of(call, batches * depth * tile.width);
    unfold(call, tile_of.first, call.data<T>(1), e.groups * e.channels, e.height, e.width, pixels, tile);
    unfold_outputs(call, tile_of.second, call.data<T>(2), e.groups * e.outputs, pixels, tile);
    const Product product{.rows = e.outputs,
                          .columns = depth,
                          .depth = tile.width,
                          .transpose_a = true,
                          .accumulates = tile.begin > 0,
                          .batches = batches};
    multiply_matrices(call, Op::conv_weight, product, tile_of.second, tile_of.first, products);
  });
  if (tiles.pieces > 1) for_each(call, call.numel(0), AddChunks<T>{dw, products, call.numel(0), tiles.pieces});
}

void run_conv_weight(const KernelCall& call, int) {
  const ConvExtents e = weight_extents(call);
  if (weight_is_direct(call, e)) return conv_weight_direct(call, e);
  visit_floating(call.dtype(0), [&]<class T>(T) { weight_by_tiles<T>(call, e); });
}

std::int64_t weight_scratch_bytes(const KernelCall& call) {
  const ConvExtents e = weight_extents(call);
  if (weight_is_direct(call, e)) return conv_weight_direct_scratch_bytes(call, e);
  const std::int64_t pieces = weight_tiles(call, e).pieces, products = pieces == 1 ? 0 : pieces * call.numel(0);
  return multiply_scratch_bytes + tile_bytes(1, weight_tile_elements(call, e) + products, call.dtype(0));
}

}  // namespace

constinit const Kernel kernels::conv{.run = run_conv, .scratch_bytes = conv_scratch_bytes};
constinit const Kernel kernels::conv_input{.run = run_conv_input, .scratch_bytes = input_scratch_bytes};
constinit const Kernel kernels::conv_weight{.run = run_conv_weight, .scratch_bytes = weight_scratch_bytes};

}  // namespace asyncgrad::detail::cuda
