// Convolutions and the gradients of their inputs and weights, by products of matrices, of tiles of pixels: a pixel's
// column has what its outputs read, which is a matrix of (channels and elements of the kernel, pixels). Where they can
// be, tiles are whole images, each with a matrix of its own: their outputs are matrices as they lie in y.
//
// Tiles, and so the order of every sum, depend on the shape alone.
#include <algorithm>
#include <type_traits>

#include "asyncgrad/backends/cuda/families.h"
#include "asyncgrad/backends/cuda/kernels/conv_direct.h"
#include "asyncgrad/backends/cuda/kernels/conv_places.cuh"
#include "asyncgrad/backends/cuda/kernels/pack.cuh"
#include "asyncgrad/backends/cuda/kernels/product.h"

namespace asyncgrad::detail::cuda {

namespace {

// The same pixels of every part of a batch. Matrices of a tile are as wide as it, and hold zeros where a part has no such
// pixel.
struct Tile {
  std::int64_t begin, width;
};

constexpr std::int64_t max_tile_bytes = std::int64_t{64} << 20;
constexpr int pixels_at_once = 4;  // of a thread; the width of every tile is a multiple

// How pixels are cut into tiles, whose matrices have `elements` elements for each pixel: those take 64 MiB at most, or
// what a few pixels take. Smaller ones would stay in a GPU's cache, but take more launches, which costs more.
struct Tiles {
  std::int64_t pixels, width;

  Tiles(std::int64_t all, std::int64_t elements, DType dtype) : pixels(all) {
    constexpr std::int64_t wanted = 32;
    const std::int64_t most = max_tile_bytes / (elements * static_cast<std::int64_t>(size_bytes(dtype)));
    const std::int64_t multiple = most < wanted ? pixels_at_once : wanted;  // all matrices are aligned
    const std::int64_t widest = std::max(most / multiple * multiple, multiple);
    const std::int64_t count = std::max<std::int64_t>(1, (pixels + widest - 1) / widest);
    width = ((pixels + count - 1) / count + multiple - 1) / multiple * multiple;
  }
  template <class Function>
  void each(Function function) const {
    for (std::int64_t begin = 0; begin < pixels; begin += width) function(Tile{begin, width});
  }
};

// How a batch is cut into tiles of whole images, whose matrices have `elements` elements for each pixel: those take
// 64 MiB at most.
struct ImageTiles {
  std::int64_t batch, fit, images;  // images of all, of the largest tile, which may be 0, and of a tile

  ImageTiles(std::int64_t all, std::int64_t plane, std::int64_t elements, DType dtype)
      : batch(all), fit(max_tile_bytes / (elements * static_cast<std::int64_t>(size_bytes(dtype))) / plane) {
    const std::int64_t most = std::clamp<std::int64_t>(fit, 1, max_batches);
    const std::int64_t count = std::max<std::int64_t>(1, (batch + most - 1) / most);
    images = (batch + count - 1) / count;
  }
  // function(first image, how many)
  template <class Function>
  void each(Function function) const {
    for (std::int64_t first = 0; first < batch; first += images) function(first, std::min(images, batch - first));
  }
};

// columns (parts, channels, kernel height, kernel width, pixels of the tile) = what they read of x, which has so many
// channels.
template <class T, int at_once>  // columns of the kernel
struct Unfold {
  T* columns;
  const T* x;
  std::int64_t channels;
  SmallAxis height, width;
  ConvPixels pixels;
  Tile tile;
  Divisor by_line, by_channels;

  // Of a few adjacent pixels and one channel.
  __device__ void operator()(std::int64_t number) const {
    const Divided at = by_line(number), which = by_channels(at.quotient);
    const std::int64_t part = pixels.parts == 1 ? 0 : which.quotient, end_image = pixels.first_image(part + 1);
    ConvPixels::Place place = pixels.place(part, tile.begin + at.remainder * pixels_at_once);
    const std::int64_t in_plane = std::int64_t{height.in} * width.in;
    const T* plane = x + (place.image * channels + which.remainder) * in_plane;
    const T* planes[pixels_at_once];
    int first_rows[pixels_at_once], first_columns[pixels_at_once];
    bool are_there[pixels_at_once];
#pragma unroll
    for (int p = 0; p < pixels_at_once; ++p) {
      planes[p] = plane;
      first_rows[p] = height.first_read(static_cast<int>(place.row));
      first_columns[p] = width.first_read(static_cast<int>(place.column));
      are_there[p] = place.image < end_image;
      if (++place.column < pixels.columns) continue;
      place.column = 0;
      if (++place.row < pixels.rows) continue;
      place.row = 0;
      ++place.image;
      plane += channels * in_plane;
    }
    T* to = columns + at.quotient * height.kernel * width.kernel * tile.width + at.remainder * pixels_at_once;
    for (int i = 0; i < height.kernel; ++i) {
      int lines[pixels_at_once];
      bool have_line[pixels_at_once];
#pragma unroll
      for (int p = 0; p < pixels_at_once; ++p) {
        const int row = first_rows[p] + i * height.dilation;
        lines[p] = row * width.in;
        have_line[p] = are_there[p] && height.is_inside(row);
      }
      for (int j = 0; j < width.kernel; j += at_once) {
        constexpr int size = Pack<T>::size, packs = pixels_at_once / size;
        Pack<T> values[at_once][packs];
#pragma unroll
        for (int k = 0; k < at_once; ++k) {
#pragma unroll
          for (int p = 0; p < pixels_at_once; ++p) {
            const int column = first_columns[p] + (j + k) * width.dilation;
            const bool is_read = have_line[p] && j + k < width.kernel && width.is_inside(column);
            values[k][p / size].x[p % size] = is_read ? __ldg(planes[p] + (lines[p] + column)) : T(0);
          }
        }
#pragma unroll
        for (int k = 0; k < at_once; ++k) {
          if (j + k == width.kernel) break;
#pragma unroll
          for (int pack = 0; pack < packs; ++pack) pack_at(to, pack) = values[k][pack];
          to += tile.width;
        }
      }
    }
  }
};

// function(how many columns of the kernel to read at once), a constant
template <class Function>
void visit_columns_at_once(const ConvAxis& width, Function function) {
  if (width.kernel == 1) return function(std::integral_constant<int, 1>());
  if (width.kernel <= 3) return function(std::integral_constant<int, 3>());
  function(std::integral_constant<int, 4>());
}

template <class T>
void unfold(const KernelCall& call, T* columns, const T* x, std::int64_t channels, const ConvAxis& height,
            const ConvAxis& width, const ConvPixels& pixels, const Tile& tile) {
  const std::int64_t threads_of_line = tile.width / pixels_at_once;
  visit_columns_at_once(width, [&]<int at_once>(std::integral_constant<int, at_once>) {
    for_each(call, pixels.parts * channels * threads_of_line,
             Unfold<T, at_once>{columns, x, channels, SmallAxis(height), SmallAxis(width), pixels, tile,
                                Divisor(threads_of_line), Divisor(channels)});
  });
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
  Divisor by_line;
  bool are_packs;  // what lies in a pack of columns does so in y

  FoldOutputs(T* to, const T* from, const T* of_channels, std::int64_t count, const ConvPixels& all, const Tile& part)
      : y(to),
        columns(from),
        bias(of_channels),
        channels(count),
        pixels(all),
        tile(part),
        by_line(part.width / Pack<T>::size),
        are_packs(all.plane() % Pack<T>::size == 0 && is_aligned_for_packs(to)) {}

  // Of a pack.
  __device__ void operator()(std::int64_t number) const {
    constexpr int size = Pack<T>::size;
    const Divided at = by_line(number), in_image = pixels.by_plane(tile.begin + at.remainder * size);
    Pack<T> values = pack_at(columns, number);
    const T addend = bias == nullptr ? T(0) : __ldg(bias + at.quotient);
#pragma unroll
    for (T& value : values.x) value += addend;
    std::int64_t image = in_image.quotient, pixel = in_image.remainder;
    T* const to = y + at.quotient * pixels.plane();
    const std::int64_t of_image = channels * pixels.plane();
    if (are_packs) {
      if (image < pixels.batch) pack_at(to + image * of_image + pixel, 0) = values;
      return;
    }
#pragma unroll
    for (int k = 0; k < size; ++k) {
      if (image < pixels.batch) to[image * of_image + pixel] = values.x[k];
      if (++pixel < pixels.plane()) continue;
      pixel = 0;
      ++image;
    }
  }
};

// y + bias, a map of packs
template <class T>
struct AddBias {
  const T* bias;
  std::int64_t channels, plane;
  Divisor by_channels, by_plane;

  struct State {
    std::int64_t channel, pixel;
  };
  __device__ State begin(std::int64_t first) const {
    const Divided in_plane = by_plane(first);
    return {by_channels(in_plane.quotient).remainder, in_plane.remainder};
  }
  __device__ T value(State& at, T y) const {
    const T sum = y + __ldg(bias + at.channel);
    if (++at.pixel < plane) return sum;
    at.pixel = 0;
    if (++at.channel == channels) at.channel = 0;
    return sum;
  }
};

// Where the columns of some images lie: in one matrix, or in one for each.
struct ImageColumns {
  std::int64_t pixels;    // of a matrix
  std::int64_t distance;  // from an image's matrix to the next one's, in elements; 0 if there is one
  std::int64_t image;     // the pixels of an image in a matrix of several
  std::int64_t before;    // those of the first image that are in earlier tiles
};

// dx of some images = bias + columns (channels, kernel height, kernel width, pixels), each element the sum of those for
// the outputs that have read it. An image that began in an earlier tile is added to.
template <class T, int at_once>  // columns of the kernel
struct FoldInputs {
  T* dx;
  const T *columns, *bias;  // the bias may be null
  ImageColumns images;
  SmallAxis height, width;
  Divisor by_plane, by_row, by_channels;

  __device__ void operator()(std::int64_t number) const {
    const Divided in_plane = by_plane(number), at = by_channels(in_plane.quotient);
    const Divided pixel = by_row(in_plane.remainder);
    const int first_output = static_cast<int>(at.quotient * images.image - images.before);
    const int end_output = static_cast<int>(images.pixels);
    const int input_row = static_cast<int>(pixel.quotient), input_column = static_cast<int>(pixel.remainder);
    T* const to = dx + number;
    T sum = first_output < 0 ? *to : bias == nullptr ? T(0) : __ldg(bias + at.remainder);
    const T* line =
        columns + at.quotient * images.distance + at.remainder * height.kernel * width.kernel * images.pixels;
    for (int i = 0; i < height.kernel; ++i, line += width.kernel * images.pixels) {
      const int row = height.reader(input_row, i);
      if (row < 0) continue;
      const int of_row = first_output + row * width.out;
      for (int j = 0; j < width.kernel; j += at_once) {
        T values[at_once];
#pragma unroll
        for (int k = 0; k < at_once; ++k) {
          const int column = j + k < width.kernel ? width.reader(input_column, j + k) : -1, output = of_row + column;
          const bool is_read = column >= 0 && output >= 0 && output < end_output;
          values[k] = is_read ? __ldg(line + (j + k) * images.pixels + output) : T(0);
        }
#pragma unroll
        for (const T value : values) sum += value;
      }
    }
    *to = sum;
  }
};

template <class T>
void fold_inputs(const KernelCall& call, T* dx, const T* columns, const T* bias, const ConvExtents& e,
                 std::int64_t count, const ImageColumns& images) {
  const std::int64_t channels = e.groups * e.channels;
  visit_columns_at_once(e.width, [&]<int at_once>(std::integral_constant<int, at_once>) {
    for_each(call, count * channels * e.in_plane(),
             FoldInputs<T, at_once>{dx, columns, bias, images, SmallAxis(e.height), SmallAxis(e.width),
                                    Divisor(e.in_plane()), Divisor(e.width.in), Divisor(channels)});
  });
}

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

// `results` and `depth`: of a pixel in a group. The planes of x are matrices as they are if the kernel has one element,
// and those of y always; products need some pixels, whose number keeps the matrices aligned.
Way way_of(const ConvExtents& e, std::int64_t results, std::int64_t depth, DType dtype) {
  constexpr std::int64_t fewest_pixels = 64;  // of a product
  if (e.batch == 0) return Way::nothing;
  if (conv_is_direct(results, depth) || e.groups > max_batches || !conv_is_small(e)) return Way::direct;
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
  return way_of(e, e.outputs, e.channels * e.taps(), call.dtype(0));
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
  return e.in_plane() == 0 ? Way::nothing : way_of(e, e.channels, e.outputs * e.taps(), call.dtype(0));
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
                {.pixels = plane, .distance = depth * plane, .image = 0, .before = 0});
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
    const std::int64_t first_image = tile.begin / pixels.plane();
    const std::int64_t end = (tile.begin + tile.width + pixels.plane() - 1) / pixels.plane();
    fold_inputs(call, call.data<T>(0) + first_image * e.groups * e.channels * e.in_plane(), tile_of.first,
                bias_of<T>(call), e, std::min(end, e.batch) - first_image,
                {.pixels = tile.width,
                 .distance = 0,
                 .image = pixels.plane(),
                 .before = tile.begin - first_image * pixels.plane()});
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

ConvExtents weight_extents(const KernelCall& call) { return {call, 1, 0, 2}; }
std::int64_t parts_of(const KernelCall& call, const ConvExtents& e) { return call.shape(0)[0] / e.groups; }
Tiles weight_tiles(const KernelCall& call, const ConvExtents& e) {
  const std::int64_t parts = parts_of(call, e);
  return {pixels_of(e, parts).of_largest_part(), parts * elements_of_pixel(e), call.dtype(0)};
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
  const std::int64_t elements = parts_of(call, e) * elements_of_pixel(e);
  return multiply_scratch_bytes + tile_bytes(weight_tiles(call, e).width, elements, call.dtype(0));
}

}  // namespace

constinit const Kernel kernels::conv{.run = run_conv, .scratch_bytes = conv_scratch_bytes};
constinit const Kernel kernels::conv_input{.run = run_conv_input, .scratch_bytes = input_scratch_bytes};
constinit const Kernel kernels::conv_weight{.run = run_conv_weight, .scratch_bytes = weight_scratch_bytes};

}  // namespace asyncgrad::detail::cuda
