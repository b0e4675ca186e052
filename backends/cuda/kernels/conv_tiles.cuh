// The tiles in which convolutions are computed, and what fills their matrices and adds them up. Internal.
#pragma once

#include <algorithm>
#include <type_traits>

#include "asyncgrad/backends/cuda/kernels/conv_places.cuh"
#include "asyncgrad/backends/cuda/kernels/for_each.cuh"
#include "asyncgrad/backends/cuda/kernels/pack.cuh"
#include "asyncgrad/backends/cuda/kernels/product.h"

namespace asyncgrad::detail::cuda {

// The same pixels of every part of a batch, cut into pieces of `width`; only a batch of one part has several. Each part and
// piece has matrices of its own, which are as wide as it, and hold zeros where a part has no such pixel.
struct Tile {
  std::int64_t begin, width, pieces = 1;
};

constexpr std::int64_t max_tile_bytes = std::int64_t{64} << 20;
constexpr int pixels_at_once = 4;  // of a thread; the width of every tile is a multiple

// How pixels are cut into tiles, whose matrices have `elements` elements for each pixel: those take 64 MiB at most, or
// what a few pixels take. Smaller ones would stay in a GPU's cache, but take more launches, which costs more. A tile is
// cut into `most_pieces` pieces, or fewer if these would be small.
struct Tiles {
  std::int64_t pixels, width, pieces;  // of all, of a piece, of a tile

  Tiles(std::int64_t all, std::int64_t elements, DType dtype, std::int64_t most_pieces = 1) : pixels(all) {
    constexpr std::int64_t fewest_pixels = 512;  // of a piece
    constexpr std::int64_t wanted = 32;
    const std::int64_t most = max_tile_bytes / (elements * static_cast<std::int64_t>(size_bytes(dtype)));
    const std::int64_t multiple = most < wanted ? pixels_at_once : wanted;  // all matrices are aligned
    const std::int64_t widest = std::max(most / multiple * multiple, multiple);
    const std::int64_t count = std::max<std::int64_t>(1, (pixels + widest - 1) / widest);
    pieces = std::clamp<std::int64_t>((pixels + count - 1) / count / fewest_pixels, 1, most_pieces);
    const std::int64_t pieces_of_all = count * pieces;
    width = ((pixels + pieces_of_all - 1) / pieces_of_all + multiple - 1) / multiple * multiple;
  }
  std::int64_t tile_width() const { return pieces * width; }
  template <class Function>
  void each(Function function) const {
    for (std::int64_t begin = 0; begin < pixels; begin += tile_width()) function(Tile{begin, width, pieces});
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

// columns (parts or pieces, channels, kernel height, kernel width, pixels) = what the tile's pixels read of x, which has so
// many channels.
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
    const std::int64_t begin = pixels.parts == 1 ? tile.begin + which.quotient * tile.width : tile.begin;
    ConvPixels::Place place = pixels.place(part, begin + at.remainder * pixels_at_once);
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
    for_each(call, pixels.parts * tile.pieces * channels * threads_of_line,
             Unfold<T, at_once>{columns, x, channels, SmallAxis(height), SmallAxis(width), pixels, tile,
                                Divisor(threads_of_line), Divisor(channels)});
  });
}

// columns (parts or pieces, channels, pixels) = the tile's pixels of a tensor of outputs.
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

// The rows of inputs that are visited for a tile. Those before `begun` have sums of earlier tiles, if the image has.
struct InputRows {
  std::int64_t begin, end, begun;
};

// Those that the tile's outputs of its only image may have read, behind those visited for earlier tiles, and all that are
// left for the last one. `first`, `last`: the image's first output that is in the tile, and the one behind the last.
inline InputRows rows_read(const ConvExtents& e, std::int64_t first, std::int64_t last) {
  const ConvAxis& h = e.height;
  const auto visited_before = [&](std::int64_t output) {  // the rows of inputs for the outputs before this one
    const std::int64_t row = (output + e.width.out - 1) / e.width.out;
    if (row == 0 || row >= h.out) return row == 0 ? std::int64_t{0} : h.in;
    const std::int64_t end = (row - 1) * h.stride - h.padding + (h.kernel - 1) * h.dilation + 1;
    return std::clamp<std::int64_t>(std::max(end, row * h.stride - h.padding), 0, h.in);
  };
  const std::int64_t begin = first / e.width.out * h.stride - h.padding;
  const std::int64_t begun = visited_before(first);
  return {std::min(std::clamp<std::int64_t>(begin, 0, h.in), begun), visited_before(last), begun};
}

// dx of some images = bias + columns (channels, kernel height, kernel width, pixels), each element the sum of those for
// the outputs that have read it. An image that began in an earlier tile is added to.
template <class T, int at_once>  // columns of the kernel
struct FoldInputs {
  T* dx;
  const T *columns, *bias;  // the bias may be null
  ImageColumns images;
  InputRows rows;
  SmallAxis height, width;
  Divisor by_rows, by_row, by_channels;

  __device__ void operator()(std::int64_t number) const {
    const Divided in_plane = by_rows(number), at = by_channels(in_plane.quotient);
    const Divided pixel = by_row(in_plane.remainder);
    const int first_output = static_cast<int>(at.quotient * images.image - images.before);
    const int end_output = static_cast<int>(images.pixels);
    const int input_row = static_cast<int>(rows.begin + pixel.quotient);
    const int input_column = static_cast<int>(pixel.remainder);
    T* const to = dx + (in_plane.quotient * height.in + input_row) * width.in + input_column;
    T sum = first_output < 0 && input_row < rows.begun ? *to : bias == nullptr ? T(0) : __ldg(bias + at.remainder);
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
                 std::int64_t count, const ImageColumns& images, const InputRows& rows) {
  const std::int64_t channels = e.groups * e.channels, elements = (rows.end - rows.begin) * e.width.in;
  if (elements == 0) return;
  visit_columns_at_once(e.width, [&]<int at_once>(std::integral_constant<int, at_once>) {
    for_each(call, count * channels * elements,
             FoldInputs<T, at_once>{dx, columns, bias, images, rows, SmallAxis(e.height), SmallAxis(e.width),
                                    Divisor(elements), Divisor(e.width.in), Divisor(channels)});
  });
}

}  // namespace asyncgrad::detail::cuda
