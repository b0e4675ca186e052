// The gradient of a convolution's weight, sums (parts, groups, C / groups, h, w, O / groups): each part is of some of
// the images. A tile is a range of channels and a range of outputs of one part and group. It goes through the part's
// images block by block, with the planes of the input laid out as in conv.cpp.
//
// With enough outputs, vectors go along them, and every sum is one chain over the pixels. Else they go along the pixels
// of a block, and each block adds a dot.
#include <algorithm>

#include "asyncgrad/backends/cpu/families.h"
#include "asyncgrad/backends/cpu/windows/conv_blocks.h"
#include "asyncgrad/backends/cpu/windows/conv_copies.h"
#include "asyncgrad/backends/cpu/windows/conv_depthwise.h"
#include "asyncgrad/backends/cpu/windows/conv_products.h"
#include "asyncgrad/backends/divided.h"
#include "asyncgrad/core/backend/round_up.h"

namespace asyncgrad::detail {

namespace {

constexpr std::int64_t max_dot_pixels = 2048;
constexpr std::int64_t row_offsets_count = 512;
constexpr std::int64_t max_flat(std::int64_t pixels) { return 3 * pixels; }  // of rows with zeros in between

struct Plan {
  std::int64_t channels, channel_parts, output_parts;  // channels of a tile
  bool gathers;
  ConvGrid grid;  // of one image, or of the batch
};

template <class T>
Plan plan_of(const ConvExtents& e, std::int64_t images) {
  const bool gathers = conv_gathers(e.outputs, conv_products().of<T>().lanes);
  const std::int64_t channels = conv_weight_channels(e.taps());
  return {channels, divided_up(e.channels, channels), conv_weight_output_parts(e.outputs), gathers,
          ConvGrid(images, e.height.out, e.width.out, gathers ? max_gathered_pixels : max_dot_pixels, false)};
}

template <class T>
struct Memory {
  std::int64_t *row_offsets, *rows;             // of the sums
  std::int64_t *pixel_offsets, *pixel_numbers;  // of a block
  T* panel;  // the gradients of a block: a panel of pixels, or rows along pixels with zeros in between
  T* field;

  Memory(ConvScratch& scratch, const ConvExtents& e, const Plan& plan)
      : row_offsets(scratch.take<std::int64_t>(row_offsets_count)),
        rows(scratch.take<std::int64_t>(row_offsets_count)),
        pixel_offsets(scratch.take<std::int64_t>(plan.grid.max_pixels())),
        pixel_numbers(scratch.take<std::int64_t>(plan.grid.max_pixels())),
        panel(scratch.take<T>(plan.gathers ? plan.grid.max_pixels() * products().lanes * products().max_vectors
                                           : (max_flat(plan.grid.max_pixels()) + products().lanes) * e.outputs)),
        field(scratch.take<T>(conv_field_room)) {}

 private:
  static const ConvProducts<T>& products() { return conv_products().of<T>(); }
};

// Adds what one block contributes to the sums of some channels and outputs of a group.
template <class T>
class Contribution {
 public:
  Contribution(const ConvExtents& e, const Plan& plan, const ConvBlock& block, const T* x, const T* dy, T* dw,
               const Memory<T>& memory)
      : products_(conv_products().of<T>()),
        copies_(conv_copies().of<T>()),
        e_(e),
        plan_(plan),
        block_(block),
        x_(x),
        dy_(dy),
        dw_(dw),
        memory_(memory) {}

  void add(Range channels, Range outputs) const {
    const ConvTaps height = taps_of_outputs(e_.height), width = taps_of_outputs(e_.width);
    const ConvField field = field_of(height, width);
    // Each element of the kernel gets planes of its own if those for all of them would be larger.
    const bool is_sparse = !plan_.gathers && field.flat() > max_flat(block_.pixels());
    if (!is_sparse && !field.suits_columns(conv_field_elements)) {
      return add(field, height, width, channels, outputs);
    }
    for (std::int64_t i = 0; i < height.count; ++i) {
      for (std::int64_t j = 0; j < width.count; ++j) {
        add(field_of(height.only(i), width.only(j)), height.only(i), width.only(j), channels, outputs);
      }
    }
  }

 private:
  ConvField field_of(const ConvTaps& height, const ConvTaps& width) const {
    return {height, width, block_, {e_.groups * e_.channels * e_.in_plane(), e_.in_plane()}, plan_.gathers};
  }
  std::int64_t dy_image() const { return e_.groups * e_.outputs * e_.out_plane(); }
  std::int64_t whole_vectors(std::int64_t elements) const { return products_.whole_vectors(elements); }

  void add(const ConvField& field, const ConvTaps& height, const ConvTaps& width, Range all, Range outputs) const {
    if (!plan_.gathers) lay_out_gradients(field, outputs);
    field.each_channels(x_, all, memory_.field, conv_field_elements,
                        [&](Range channels, const T* x) { add_channels(field, height, width, channels, outputs, x); });
  }

  // Rows of the gradient as they lie in the field, with zeros in between, which add nothing.
  void lay_out_gradients(const ConvField& field, Range outputs) const {
    const std::int64_t columns = block_.columns.end - block_.columns.begin;
    for (std::int64_t o = outputs.begin; o < outputs.end; ++o) {
      T* const to = memory_.panel + (o - outputs.begin) * whole_vectors(field.flat());
      std::fill_n(to, whole_vectors(field.flat()), T{});
      const T* const plane = dy_ + o * e_.out_plane() + block_.columns.begin;
      field.each_row([&](std::int64_t image, std::int64_t row, std::int64_t at) {
        std::copy_n(plane + image * dy_image() + row * e_.width.out, columns, to + at);
      });
    }
  }

  // Row p has the gradients of pixel p, with zeros behind the last output.
  void transpose_gradients(Range outputs, std::int64_t width) const {
    const std::int64_t rows = block_.rows.end - block_.rows.begin, columns = block_.columns.end - block_.columns.begin;
    const std::int64_t lines = columns == e_.width.out ? 1 : rows, length = rows * columns / lines;
    T* to = memory_.panel;
    for (std::int64_t image = block_.images.begin; image < block_.images.end; ++image) {
      for (std::int64_t line = 0; line < lines; ++line, to += length * width) {
        copies_.transpose(dy_ + image * dy_image() + outputs.begin * e_.out_plane() +
                              (block_.rows.begin + line) * e_.width.out + block_.columns.begin,
                          e_.out_plane(), outputs.end - outputs.begin, length, to, width);
      }
    }
    const std::int64_t count = outputs.end - outputs.begin;
    if (count == width) return;
    for (T* row = memory_.panel; row < to; row += width) std::fill(row + count, row + width, T{});
  }

  void add_channels(const ConvField& field, const ConvTaps& height, const ConvTaps& width, Range channels,
                    Range outputs, const T* x) const {
    const Range lines{0, height.count}, columns{0, width.count};
    if (!plan_.gathers) {
      return each_rows(field, height, width, channels, lines, columns, [&](std::int64_t rows) {
        products_.dots({.x = x,
                        .depth_offsets = memory_.row_offsets,
                        .depth = rows,
                        .y = memory_.panel,
                        .y_row = whole_vectors(field.flat()),
                        .rows = outputs.end - outputs.begin,
                        .columns = field.flat(),
                        .inside = block_.columns.end - block_.columns.begin,
                        .line = field.row(),
                        .inside_lines = block_.rows.end - block_.rows.begin,
                        .lines = field.lines(),
                        .out = dw_ + outputs.begin,
                        .out_rows = memory_.rows,
                        .out_row = e_.outputs});
      });
    }
    // A tap has a row of sums for each channel: only with several of them are the sums independent of each other.
    constexpr std::int64_t enough_channels = 8;
    const bool by_taps = channels.end - channels.begin >= enough_channels && reads_much_padding(height, width);
    const ConvPanels panels{outputs.end - outputs.begin, products_.lanes, products_.max_vectors};
    for (std::int64_t p = 0; p < panels.count(); ++p) {
      const Range part = panels.columns(p), some{outputs.begin + part.begin, outputs.begin + part.end};
      transpose_gradients(some, whole_vectors(some.end - some.begin));
      const auto add_taps = [&](Range of_lines, Range of_columns, Range pixel_rows, Range pixel_columns) {
        const std::int64_t pixels =
            field.list_pixels(pixel_rows, pixel_columns, memory_.pixel_offsets, memory_.pixel_numbers);
        each_rows(field, height, width, channels, of_lines, of_columns, [&](std::int64_t rows) {
          products_.gathered({x, memory_.row_offsets, memory_.rows, rows, memory_.pixel_offsets,
                              pixels < block_.pixels() ? memory_.pixel_numbers : nullptr, pixels, memory_.panel,
                              some.end - some.begin, dw_ + some.begin, e_.outputs, nullptr, true});
        });
      };
      if (!by_taps) {
        add_taps(lines, columns, block_.rows, block_.columns);
        continue;
      }
      for (std::int64_t i = 0; i < height.count; ++i) {
        for (std::int64_t j = 0; j < width.count; ++j) {
          add_taps({i, i + 1}, {j, j + 1}, height.outputs_inside(i, block_.rows),
                   width.outputs_inside(j, block_.columns));
        }
      }
    }
  }

  // Whether it pays to leave out the pixels that read padding, tap by tap.
  bool reads_much_padding(const ConvTaps& height, const ConvTaps& width) const {
    const std::int64_t images = block_.images.end - block_.images.begin;
    return leaving_out_padding_pays(images * height.count_inside(block_.rows) * width.count_inside(block_.columns),
                                    height.count * width.count * block_.pixels());
  }

  // Lists these taps of some channels, each of which is a row of the sums, as many at a time as there is room for, and
  // calls product(count).
  template <class Product>
  void each_rows(const ConvField& field, const ConvTaps& height, const ConvTaps& width, Range channels, Range lines,
                 Range columns, Product product) const {
    std::int64_t count = 0;
    for (std::int64_t c = channels.begin; c < channels.end; ++c) {
      for (std::int64_t i = lines.begin; i < lines.end; ++i) {
        const std::int64_t of_line = (c - channels.begin) * field.channel() + field.of_row(i);
        for (std::int64_t j = columns.begin; j < columns.end;) {
          if (count == row_offsets_count) {
            product(count);
            count = 0;
          }
          const std::int64_t end = std::min(columns.end, j + row_offsets_count - count);
          field.list_columns({j, end}, of_line, memory_.row_offsets + count);
          count_up((c * e_.height.kernel + height.kernel(i)) * e_.width.kernel + width.kernel(j), width.kernel_step,
                   end - j, memory_.rows + count);
          count += end - j;
          j = end;
        }
      }
    }
    if (count > 0) product(count);
  }

  const ConvProducts<T>& products_;
  const ConvCopies<T>& copies_;
  const ConvExtents& e_;
  const Plan& plan_;
  const ConvBlock& block_;
  const T *x_, *dy_;  // of the group, in the first image
  T* dw_;             // of the part and the group
  const Memory<T>& memory_;
};

std::int64_t parts_of(const KernelCall& call, const ConvExtents& e) { return call.shape(0)[0] / e.groups; }
ConvExtents extents_of(const KernelCall& call) { return {call, 1, 0, 2}; }

template <class T>
void run_tile(const KernelCall& call, int tile) {
  const ConvExtents e = extents_of(call);
  const std::int64_t parts = parts_of(call, e), images = divided_up(e.batch, parts);
  const Plan plan = plan_of<T>(e, images);
  ConvScratch scratch(call.scratch);
  const Memory<T> memory(scratch, e, plan);
  std::int64_t rest = tile;
  const std::int64_t output_part = take_digit(rest, plan.output_parts),
                     channel_part = take_digit(rest, plan.channel_parts), group = take_digit(rest, e.groups),
                     part = rest;
  const Range channels = tile_range(e.channels, plan.channels, static_cast<int>(channel_part));
  const Range outputs = ConvPanels{e.outputs, conv_products().of<T>().lanes, 1}.part(output_part, plan.output_parts);
  T* const dw = call.data<T>(0) + (part * e.groups + group) * e.channels * e.taps() * e.outputs;
  for (std::int64_t row = channels.begin * e.taps(); row < channels.end * e.taps(); ++row) {
    std::fill(dw + row * e.outputs + outputs.begin, dw + row * e.outputs + outputs.end, T{});
  }
  const Range of_part{e.batch * part / parts, e.batch * (part + 1) / parts};
  const T* const x = call.data<T>(1) + group * e.channels * e.in_plane();
  const T* const dy = call.data<T>(2) + group * e.outputs * e.out_plane();
  for (std::int64_t index = 0; index < plan.grid.count(); ++index) {
    ConvBlock block = plan.grid.block(index, e.height.out, e.width.out);
    block.images = {std::min(of_part.end, of_part.begin + block.images.begin),
                    std::min(of_part.end, of_part.begin + block.images.end)};
    if (block.pixels() == 0) continue;
    Contribution<T>(e, plan, block, x, dy, dw, memory).add(channels, outputs);
  }
}

template <class T>
std::optional<DepthwisePlan> depthwise(const KernelCall& call) {
  const ConvExtents e = extents_of(call);
  return depthwise_plan<T>(e, Op::conv_weight, parts_of(call, e));
}

void run(const KernelCall& call, int tile) {
  visit_floating(call.dtype(0), [&]<class T>(T) {
    if (const auto plan = depthwise<T>(call)) {
      run_depthwise<T>(*plan, call, tile);
    } else {
      run_tile<T>(call, tile);
    }
  });
}
int tiles(const KernelCall& call) {
  return static_cast<int>(in_type_of(call, [&]<class T>(T) -> std::int64_t {
    if (const auto plan = depthwise<T>(call)) return plan->tiles();
    const Plan plan = plan_of<T>(extents_of(call), 1);
    return std::max<std::int64_t>(1, call.shape(0)[0] * plan.channel_parts * plan.output_parts);
  }));
}
std::int64_t scratch_bytes(const KernelCall& call) {
  const ConvExtents e = extents_of(call);
  const std::int64_t parts = std::max<std::int64_t>(1, parts_of(call, e));
  return in_type_of(call, [&]<class T>(T) {
    if (const auto plan = depthwise<T>(call)) return depthwise_scratch_bytes<T>(*plan);
    ConvScratch scratch(nullptr);
    const Memory<T> memory(scratch, e, plan_of<T>(e, divided_up(e.batch, parts)));
    return scratch.taken_bytes();
  });
}
std::int64_t cost(const KernelCall& call) { return extents_of(call).cost(); }

}  // namespace

constinit const Kernel cpu_kernels::conv_weight{
    .run = run, .tiles = tiles, .scratch_bytes = scratch_bytes, .cost = cost};

}  // namespace asyncgrad::detail
