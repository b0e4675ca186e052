// Convolutions and the gradients of their inputs. Both are passes: every output is a sum over channels and over the
// elements of the kernel, which lie at fixed distances from it (conv_field.h). The gradient of an input is a pass for
// each place of an input between two strides, over the gradient of the output.
//
// Every sum is one chain in a fixed order: over blocks of channels, and over the elements of the kernel in each channel.
#include <algorithm>
#include <optional>

#include "asyncgrad/backends/cpu/families.h"
#include "asyncgrad/backends/cpu/windows/conv_blocks.h"

namespace asyncgrad::detail {

namespace {

constexpr std::int64_t max_outputs = 128;  // of a tile
constexpr std::int64_t max_gathered_pixels = 512, max_shifted_pixels = 2048;
constexpr std::int64_t max_shifted_sums = 1 << 16;  // the pixels of all outputs, which take less than twice as much
constexpr double macs_per_tile = 1 << 20;

// A pass reads x and writes y, whichever operands they are.
template <class T>
struct Operands {
  const T *x, *w, *bias;
  T* y;
  std::int64_t x_image = 0, x_plane = 0, y_image = 0, y_plane = 0, y_width = 0;
  std::int64_t w_output = 0, w_channel = 0, kernel_width = 0;  // distances in w
};

struct Pass {
  ConvTaps height, width;
  std::int64_t rows, columns;                                   // of outputs
  std::int64_t first_row, first_column, row_step, column_step;  // where they lie in y
  std::int64_t taps() const { return height.count * width.count; }
};

// The counts of a pass's channels and outputs, of one group, and how the pass is cut: a unit is a block of pixels, a
// part of the outputs of a group.
struct Plan {
  std::int64_t batch, groups, channels, outputs, row_passes, column_passes;
  bool gathers = false;
  ConvGrid grid{};
  std::int64_t output_parts = 1, units_per_tile = 1;

  std::int64_t units() const { return row_passes * column_passes * grid.count() * groups * output_parts; }
};

// Sums of few elements are computed faster than they are transposed: vectors go along pixels.
bool gathers(std::int64_t outputs, std::int64_t depth, std::int64_t lanes) {
  constexpr std::int64_t few = 40, most_outputs = 64;
  return conv_gathers(outputs, lanes) && (depth >= few || outputs > most_outputs);
}

// Tiles are so small that there is work for several threads, and so large that setting them up does not count. With
// few pixels, outputs are cut rather than these, as each tile packs the weight of its outputs.
template <class T>
Plan plan_of(const ConvExtents& e, bool of_inputs) {
  Plan plan{.batch = e.batch,
            .groups = e.groups,
            .channels = of_inputs ? e.outputs : e.channels,
            .outputs = of_inputs ? e.channels : e.outputs,
            // An input's axis has as many places between two strides.
            .row_passes = of_inputs ? std::clamp<std::int64_t>(e.height.in, 1, e.height.stride) : 1,
            .column_passes = of_inputs ? std::clamp<std::int64_t>(e.width.in, 1, e.width.stride) : 1};
  constexpr std::int64_t wanted_tiles = 8;
  const std::int64_t lanes = conv_loops().of<T>().lanes;
  const std::int64_t rows = of_inputs ? e.height.rest_count(0) : e.height.out;
  const std::int64_t columns = of_inputs ? e.width.rest_count(0) : e.width.out;
  const std::int64_t pixels = e.batch * rows * columns, passes = plan.row_passes * plan.column_passes * e.groups;
  plan.gathers = gathers(plan.outputs, plan.channels * e.taps(), lanes);
  std::int64_t max_pixels = std::min(max_shifted_pixels, max_shifted_sums / plan.outputs);
  if (plan.gathers) {
    max_pixels = max_gathered_pixels;
    const std::int64_t missing = wanted_tiles / std::max<std::int64_t>(1, passes * (pixels / max_pixels));
    plan.output_parts =
        std::max((plan.outputs + max_outputs - 1) / max_outputs, std::min(missing, plan.outputs / (2 * lanes)));
  }
  const std::int64_t units = passes * plan.output_parts;
  const double macs_of_pixel = e.macs() / std::max(1.0, static_cast<double>(pixels) * static_cast<double>(units));
  const auto least = static_cast<std::int64_t>(macs_per_tile / std::max(1.0, macs_of_pixel));
  plan.grid = ConvGrid(
      e.batch, rows, columns,
      std::clamp(std::max(pixels * units / wanted_tiles, least), std::min<std::int64_t>(16, max_pixels), max_pixels),
      !plan.gathers);
  const double blocks = static_cast<double>(units) * static_cast<double>(plan.grid.count());
  plan.units_per_tile =
      static_cast<std::int64_t>(std::max(1.0, macs_per_tile / std::max(e.macs() / std::max(1.0, blocks), 4096.0)));
  return plan;
}

Pass pass_of(const ConvExtents& e, bool of_inputs, std::int64_t row_rest, std::int64_t column_rest) {
  if (!of_inputs) return {e.height.of_outputs(), e.width.of_outputs(), e.height.out, e.width.out, 0, 0, 1, 1};
  return {e.height.of_inputs(row_rest),
          e.width.of_inputs(column_rest),
          e.height.rest_count(row_rest),
          e.width.rest_count(column_rest),
          row_rest,
          column_rest,
          e.height.stride,
          e.width.stride};
}

// The scratch memory of a thread.
template <class T>
struct Memory {
  std::int64_t *row_offsets, *depth_offsets;
  T *panel, *sums, *field;

  static std::int64_t widest(const Plan& plan) {
    return plan.gathers ? std::min(max_outputs, plan.outputs) + conv_loops().of<T>().lanes : plan.outputs;
  }
  // A row of sums along pixels is less than twice as long as its pixels, and in whole vectors.
  static std::int64_t sums_elements(const Plan& plan) {
    const std::int64_t pixels = plan.grid.max_pixels();
    return (plan.gathers ? pixels : 2 * pixels + 16) * widest(plan);
  }
  static std::int64_t panel_elements(const Plan& plan) {
    const ConvLoops<T>& loops = conv_loops().of<T>();
    return conv_depth * (plan.gathers ? loops.lanes * loops.max_vectors : plan.outputs);
  }
  static constexpr std::int64_t field_elements = max_channel_elements + 64;

  Memory(std::byte* scratch, const Plan& plan) {
    ConvScratch pieces(scratch);
    row_offsets = pieces.take<std::int64_t>(plan.grid.max_pixels());
    depth_offsets = pieces.take<std::int64_t>(conv_depth);
    panel = pieces.take<T>(panel_elements(plan));
    sums = pieces.take<T>(sums_elements(plan));
    field = pieces.take<T>(field_elements);
  }
  static std::int64_t bytes(const Plan& plan) {
    return ConvScratch::bytes<std::int64_t>(plan.grid.max_pixels()) + ConvScratch::bytes<std::int64_t>(conv_depth) +
           ConvScratch::bytes<T>(panel_elements(plan)) + ConvScratch::bytes<T>(sums_elements(plan)) +
           ConvScratch::bytes<T>(field_elements);
  }
};

// Computes the units of one block of pixels.
template <class T>
class BlockOfPixels {
 public:
  BlockOfPixels(const Plan& plan, const Pass& pass, const ConvBlock& block, const Operands<T>& operands,
                const Memory<T>& memory)
      : loops_(conv_loops().of<T>()), plan_(plan), pass_(pass), block_(block), operands_(operands), memory_(memory) {}

  // Computes some of the units, of which each part of a group's outputs is one.
  void run(Range units) {
    if (pass_.taps() > 0 && !field_) prepare();
    if (by_planes_) return run_planes(units);
    for (std::int64_t unit = units.begin; unit < units.end; ++unit) {
      group_ = unit / plan_.output_parts;
      outputs_ = ConvPanels{plan_.outputs, loops_.lanes, 1}.part(unit % plan_.output_parts, plan_.output_parts);
      run();
    }
  }

 private:
  ConvField field_of(const ConvTaps& height, const ConvTaps& width) const {
    return {height, width, block_, {operands_.x_image, operands_.x_plane}, plan_.gathers};
  }
  std::int64_t columns() const { return block_.columns.end - block_.columns.begin; }
  std::int64_t outputs() const { return outputs_.end - outputs_.begin; }
  std::int64_t whole_vectors(std::int64_t elements) const {
    return (elements + loops_.lanes - 1) / loops_.lanes * loops_.lanes;
  }
  void run() {
    if (pass_.taps() == 0) return store_nothing();
    is_first_ = true;
    if (by_columns_) {
      for (std::int64_t i = 0; i < pass_.height.count; ++i) {
        for (std::int64_t j = 0; j < pass_.width.count; ++j) {
          const ConvTaps height = pass_.height.only(i), width = pass_.width.only(j);
          const ConvField field = field_of(height, width);
          if (plan_.gathers) field.set_offsets(memory_.row_offsets);
          add(field, height, width);
        }
      }
    } else {
      add(*field_, pass_.height, pass_.width);
    }
    plan_.gathers ? store_gathered() : store_shifted();
  }

  // Of the rows of the weight, and of the sums if these lie pixel by pixel.
  std::int64_t width() const { return plan_.gathers ? whole_vectors(outputs()) : outputs(); }

  void prepare() {
    field_.emplace(field_of(pass_.height, pass_.width));
    // Each element of the kernel gets planes of its own if those for all of them would be larger.
    by_columns_ =
        !field_->is_source() && ((!plan_.gathers && field_->row() > 2 * columns()) ||
                                 field_->size() > std::min(max_channel_elements, pass_.taps() * block_.pixels()));
    const std::int64_t step = pass_.height.step * pass_.height.period();
    by_planes_ = !plan_.gathers && !by_columns_ && plan_.channels == 1 && pass_.taps() <= conv_depth &&
                 (step == pass_.height.stride || step == -pass_.height.stride || pass_.height.count == 1);
    if (by_planes_) {
      classes_ = std::min(pass_.height.count, pass_.height.period());
      for (std::int64_t j = 0; j < pass_.width.count; ++j) memory_.depth_offsets[j] = field_->of_column(j);
    } else if (plan_.gathers && !by_columns_) {
      field_->set_offsets(memory_.row_offsets);
    }
  }

  const T* source() const { return operands_.x + group_ * plan_.channels * operands_.x_plane; }

  // Groups of one channel, whose taps in a column lie in adjacent rows of the planes, class by class. The planes of
  // some groups are copied at once: a plane that has just been written is read slowly.
  void run_planes(Range groups) {
    constexpr std::int64_t elements = 1 << 12;
    const std::int64_t at_once = std::max<std::int64_t>(1, elements / field_->size());
    outputs_ = {0, plan_.outputs};
    for (std::int64_t first = groups.begin; first < groups.end; first += at_once) {
      group_ = first;
      const std::int64_t count = std::min(at_once, groups.end - first);
      field_->copy(loops_, source(), count, memory_.field);
      for (; group_ < first + count; ++group_) {
        for (std::int64_t o = 0; o < plan_.outputs; ++o)
          run_plane(memory_.field + (group_ - first) * field_->size(), o);
      }
    }
  }

  void run_plane(const T* field, std::int64_t o) {
    const ConvTaps &height = pass_.height, &width = pass_.width;
    const T* const w = weight() + o * operands_.w_output;
    const bool is_plain = pass_.column_step == 1;
    T* const out = is_plain ? output(block_.images.begin, o, block_.rows.begin) : memory_.sums;
    const std::int64_t out_row = is_plain ? pass_.row_step * operands_.y_width : whole_vectors(columns());
    for (std::int64_t c = 0; c < classes_; ++c) {
      const std::int64_t count = (height.count - 1 - c) / classes_ + 1, last = c + (count - 1) * classes_;
      const bool is_upwards = height.step < 0;
      T* to = memory_.panel;
      for (std::int64_t m = 0; m < count; ++m) {
        const T* const line =
            w + height.kernel(is_upwards ? last - m * classes_ : c + m * classes_) * operands_.kernel_width;
        for (std::int64_t j = 0; j < width.count; ++j) *to++ = line[width.kernel(j)];
      }
      loops_.plane({field + field_->of_row(is_upwards ? last : c), field_->row(), memory_.depth_offsets, count,
                    width.count, memory_.panel, block_.rows.end - block_.rows.begin, columns(), out, out_row, bias(o),
                    c > 0});
    }
    if (!is_plain) store_rows(o, memory_.sums, out_row);
  }

  // Adds what these taps contribute.
  void add(const ConvField& field, const ConvTaps& height, const ConvTaps& width) {
    sums_line_ = field.row();
    sums_row_ = whole_vectors(field.flat());
    flat_ = field.flat();
    const std::int64_t channels =
        field.is_source() ? plan_.channels : std::max<std::int64_t>(1, conv_field_elements / field.size());
    for (std::int64_t channel = 0; channel < plan_.channels; channel += channels) {
      const Range part{channel, std::min(plan_.channels, channel + channels)};
      const T* const from = source() + channel * operands_.x_plane;
      if (!field.is_source()) field.copy(loops_, from, part.end - part.begin, memory_.field);
      add_channels(field, height, width, part, field.is_source() ? from : memory_.field);
    }
  }

  void add_channels(const ConvField& field, const ConvTaps& height, const ConvTaps& width, Range channels, const T* x) {
    const std::int64_t taps = height.count * width.count, depth = (channels.end - channels.begin) * taps;
    for (std::int64_t first = 0; first < depth; first += conv_depth) {
      const Range part{first, std::min(depth, first + conv_depth)};
      std::int64_t c = first / taps, i = first % taps / width.count, j = first % width.count;
      for (std::int64_t k = 0; k < part.end - part.begin;) {
        const std::int64_t of_line = c * field.channel() + field.of_row(i);
        for (; j < width.count && k < part.end - part.begin; ++j)
          memory_.depth_offsets[k++] = of_line + field.of_column(j);
        if (j < width.count) break;
        j = 0;
        if (++i < height.count) continue;
        i = 0;
        ++c;
      }
      const T* const bias =
          operands_.bias == nullptr ? nullptr : operands_.bias + group_ * plan_.outputs + outputs_.begin;
      const std::int64_t wide = this->width();
      if (!plan_.gathers) {
        pack(height, width, channels.begin, part, outputs_, wide);
        loops_.shifted({x, memory_.depth_offsets, part.end - part.begin, memory_.panel, wide, flat_, memory_.sums,
                        sums_row_, bias, !is_first_});
      } else {
        const ConvPanels panels{outputs(), loops_.lanes, loops_.max_vectors};
        for (std::int64_t p = 0; p < panels.count(); ++p) {
          const Range columns = panels.columns(p);
          const std::int64_t count = columns.end - columns.begin;
          pack(height, width, channels.begin, part, {outputs_.begin + columns.begin, outputs_.begin + columns.end},
               whole_vectors(count));
          loops_.gathered({x, memory_.row_offsets, block_.pixels(), memory_.depth_offsets, part.end - part.begin,
                           memory_.panel, count, memory_.sums + columns.begin, wide,
                           bias == nullptr ? nullptr : bias + columns.begin, !is_first_});
        }
      }
      is_first_ = false;
    }
  }

  const T* weight() const {
    return operands_.w + group_ * std::max(plan_.outputs * operands_.w_output, plan_.channels * operands_.w_channel);
  }

  // The weight's elements for a range of k, in rows of `row` outputs, with zeros behind the last.
  void pack(const ConvTaps& height, const ConvTaps& width, std::int64_t first_channel, Range depth, Range outputs,
            std::int64_t row) {
    const Operands<T>& o = operands_;
    const std::int64_t taps = height.count * width.count, count = outputs.end - outputs.begin;
    const T* const w = weight() + outputs.begin * o.w_output + first_channel * o.w_channel;
    T* to = memory_.panel;
    const bool is_whole = height.kernel_step == 1 && width.kernel_step == 1 && width.count == o.kernel_width;
    if (is_whole && taps == o.w_channel) {
      loops_.transpose(w + depth.begin, o.w_output, count, depth.end - depth.begin, to, row);
    } else {
      for (std::int64_t k = depth.begin; k < depth.end;) {
        const std::int64_t c = k / taps, tap = k % taps, end = std::min(taps, tap + depth.end - k);
        const T* const from = w + c * o.w_channel;
        T* const at = to + (k - depth.begin) * row;
        if (is_whole) {
          loops_.transpose(from + height.kernel_first * o.kernel_width + tap, o.w_output, count, end - tap, at, row);
        } else {
          for (std::int64_t t = tap; t < end; ++t) {
            const T* const element =
                from + height.kernel(t / width.count) * o.kernel_width + width.kernel(t % width.count);
            for (std::int64_t n = 0; n < count; ++n) at[(t - tap) * row + n] = element[n * o.w_output];
          }
        }
        k += end - tap;
      }
    }
    if (count == row) return;
    for (std::int64_t k = 0; k < depth.end - depth.begin; ++k) std::fill(to + k * row + count, to + (k + 1) * row, T{});
  }

  T* output(std::int64_t image, std::int64_t o, std::int64_t row) const {
    return operands_.y + image * operands_.y_image + (group_ * plan_.outputs + o) * operands_.y_plane +
           (pass_.first_row + row * pass_.row_step) * operands_.y_width + pass_.first_column +
           block_.columns.begin * pass_.column_step;
  }
  T bias(std::int64_t o) const { return operands_.bias == nullptr ? T{} : operands_.bias[group_ * plan_.outputs + o]; }

  // Sums lie pixel by pixel.
  void store_gathered() const {
    const bool is_plain = pass_.column_step == 1 && pass_.row_step == 1 && columns() == operands_.y_width;
    const std::int64_t rows = block_.rows.end - block_.rows.begin, lines = is_plain ? 1 : rows;
    const std::int64_t length = is_plain ? rows * columns() : columns(), wide = width();
    const T* from = memory_.sums;
    for (std::int64_t image = block_.images.begin; image < block_.images.end; ++image) {
      for (std::int64_t line = 0; line < lines; ++line, from += length * wide) {
        T* const to = output(image, outputs_.begin, block_.rows.begin + line);
        if (pass_.column_step == 1) {
          loops_.transpose(from, wide, length, outputs(), to, operands_.y_plane);
          continue;
        }
        for (std::int64_t o = 0; o < outputs(); ++o) {
          T* const row = to + o * operands_.y_plane;
          for (std::int64_t p = 0; p < length; ++p) row[p * pass_.column_step] = from[p * wide + o];
        }
      }
    }
  }

  // Sums lie output by output, in rows of the field.
  void store_shifted() const {
    for (std::int64_t o = outputs_.begin; o < outputs_.end; ++o) {
      store_rows(o, memory_.sums + (o - outputs_.begin) * sums_row_, sums_line_);
    }
  }
  void store_rows(std::int64_t o, const T* from, std::int64_t from_row) const {
    for (std::int64_t row = block_.rows.begin; row < block_.rows.end; ++row, from += from_row) {
      T* const to = output(block_.images.begin, o, row);
      if (pass_.column_step == 1) {
        std::copy_n(from, columns(), to);
      } else {
        for (std::int64_t p = 0; p < columns(); ++p) to[p * pass_.column_step] = from[p];
      }
    }
  }
  void store_nothing() const {
    for (std::int64_t image = block_.images.begin; image < block_.images.end; ++image) {
      for (std::int64_t o = outputs_.begin; o < outputs_.end; ++o) {
        for (std::int64_t row = block_.rows.begin; row < block_.rows.end; ++row) {
          T* const to = output(image, o, row);
          for (std::int64_t p = 0; p < columns(); ++p) to[p * pass_.column_step] = bias(o);
        }
      }
    }
  }

  const ConvLoops<T>& loops_;
  const Plan& plan_;
  const Pass& pass_;
  const ConvBlock& block_;
  const Operands<T>& operands_;
  const Memory<T>& memory_;
  std::optional<ConvField> field_;
  bool by_columns_ = false, by_planes_ = false;
  std::int64_t classes_ = 1, group_ = 0;
  Range outputs_{};
  std::int64_t flat_ = 0, sums_line_ = 0, sums_row_ = 0;
  bool is_first_ = true;
};

ConvExtents extents_of(const KernelCall& call, bool of_inputs) {
  return of_inputs ? ConvExtents(call, 0, 2, 1) : ConvExtents(call, 1, 2, 0);
}

template <class T>
Operands<T> operands_of(const KernelCall& call, const ConvExtents& e, bool of_inputs) {
  const std::int64_t in = e.groups * e.channels * e.in_plane(), out = e.groups * e.outputs * e.out_plane();
  const std::int64_t of_output = e.channels * e.taps(), of_channel = e.taps();
  Operands<T> o{.x = call.data<T>(1), .w = call.data<T>(2), .bias = nullptr, .y = call.data<T>(0)};
  if (call.view_count == 4) o.bias = call.data<T>(3);
  o.kernel_width = e.width.kernel;
  if (of_inputs) {
    o.x_image = out, o.x_plane = e.out_plane(), o.y_image = in, o.y_plane = e.in_plane(), o.y_width = e.width.in;
    o.w_output = of_channel, o.w_channel = of_output;
  } else {
    o.x_image = in, o.x_plane = e.in_plane(), o.y_image = out, o.y_plane = e.out_plane(), o.y_width = e.width.out;
    o.w_output = of_output, o.w_channel = of_channel;
  }
  return o;
}

template <class T>
void run_tile(const KernelCall& call, bool of_inputs, int tile) {
  const ConvExtents e = extents_of(call, of_inputs);
  const Plan plan = plan_of<T>(e, of_inputs);
  const Operands<T> operands = operands_of<T>(call, e, of_inputs);
  const Memory<T> memory(call.scratch, plan);
  const Range units = tile_range(plan.units(), plan.units_per_tile, tile);
  const std::int64_t of_block = plan.groups * plan.output_parts;
  for (std::int64_t unit = units.begin; unit < units.end;) {
    std::int64_t rest = unit / of_block;
    const auto next = [&](std::int64_t count) {
      const std::int64_t index = rest % count;
      rest /= count;
      return index;
    };
    const std::int64_t column_rest = next(plan.column_passes), row_rest = next(plan.row_passes);
    const Pass pass = pass_of(e, of_inputs, row_rest, column_rest);
    const ConvBlock block = plan.grid.block(rest, pass.rows, pass.columns);
    const Range of_this{unit % of_block, std::min(of_block, unit % of_block + units.end - unit)};
    if (block.pixels() > 0) BlockOfPixels<T>(plan, pass, block, operands, memory).run(of_this);
    unit += of_this.end - of_this.begin;
  }
}

template <class Function>
std::int64_t in_type_of(const KernelCall& call, Function function) {
  std::int64_t result = 0;
  visit_floating(call.dtype(0), [&]<class T>(T) { result = function(T{}); });
  return result;
}

template <bool of_inputs>
void run(const KernelCall& call, int tile) {
  visit_floating(call.dtype(0), [&]<class T>(T) { run_tile<T>(call, of_inputs, tile); });
}
template <bool of_inputs>
int tiles(const KernelCall& call) {
  return static_cast<int>(in_type_of(call, [&]<class T>(T) -> std::int64_t {
    const Plan plan = plan_of<T>(extents_of(call, of_inputs), of_inputs);
    return tile_count(plan.units(), plan.units_per_tile);
  }));
}
template <bool of_inputs>
std::int64_t scratch_bytes(const KernelCall& call) {
  return in_type_of(call,
                    [&]<class T>(T) { return Memory<T>::bytes(plan_of<T>(extents_of(call, of_inputs), of_inputs)); });
}
// Sixteen multiplications and sums take about as long as the reading of an element elsewhere.
template <bool of_inputs>
std::int64_t cost(const KernelCall& call) {
  return static_cast<std::int64_t>(std::min(extents_of(call, of_inputs).macs() / 16, 1e18));
}

}  // namespace

constinit const Kernel cpu_kernels::conv{
    .run = run<false>, .tiles = tiles<false>, .scratch_bytes = scratch_bytes<false>, .cost = cost<false>};
constinit const Kernel cpu_kernels::conv_input{
    .run = run<true>, .tiles = tiles<true>, .scratch_bytes = scratch_bytes<true>, .cost = cost<true>};

}  // namespace asyncgrad::detail
