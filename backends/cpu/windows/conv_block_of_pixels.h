// Computes one block of the outputs of a pass: lays the planes of the input out, packs the weight, sums and stores.
// Internal.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "asyncgrad/backends/cpu/windows/conv_classes.h"
#include "asyncgrad/backends/cpu/windows/conv_copies.h"
#include "asyncgrad/backends/cpu/windows/conv_operands.h"
#include "asyncgrad/backends/cpu/windows/conv_pass.h"
#include "asyncgrad/backends/cpu/windows/conv_products.h"

namespace asyncgrad::detail {

// The scratch memory of a thread.
template <class T>
struct ConvMemory {
  std::int64_t *pixel_offsets, *pixel_numbers;  // class by class
  std::int64_t *depth_offsets, *panel_rows;
  T *panel, *sums, *field;

  ConvMemory(ConvScratch& scratch, const ConvPlan& plan)
      : pixel_offsets(scratch.take<std::int64_t>(plan.grid.max_pixels())),
        pixel_numbers(scratch.take<std::int64_t>(plan.grid.max_pixels())),
        depth_offsets(scratch.take<std::int64_t>(conv_depth)),
        panel_rows(scratch.take<std::int64_t>(conv_depth)),
        panel(scratch.take<T>(conv_depth * (plan.gathers ? products().lanes * products().max_vectors : plan.outputs))),
        // A row of sums along pixels is less than twice as long as its pixels, and in whole vectors.
        sums(scratch.take<T>(plan.gathers ? plan.grid.max_pixels() *
                                                (std::min(plan.max_outputs, plan.outputs) + products().lanes)
                                          : (2 * plan.grid.max_pixels() + products().lanes) * plan.outputs)),
        field(scratch.take<T>(conv_field_room)) {}

 private:
  static const ConvProducts<T>& products() { return conv_products().of<T>(); }
};

// Computes the units of one block of pixels.
template <class T>
class ConvBlockOfPixels {
 public:
  ConvBlockOfPixels(const ConvPlan& plan, const ConvPass& pass, const ConvBlock& block, const ConvOperands<T>& operands,
                    const ConvMemory<T>& memory)
      : products_(conv_products().of<T>()),
        copies_(conv_copies().of<T>()),
        plan_(plan),
        pass_(pass),
        block_(block),
        operands_(operands),
        memory_(memory) {}

  // Computes some of the units, of which each part of a group's outputs is one.
  void run(Range units) {
    if (pass_.taps() > 0) prepare();
    if (order_ == ConvOrder::planes) return run_planes(units);
    for (std::int64_t unit = units.begin; unit < units.end; ++unit) {
      group_ = unit / plan_.output_parts;
      outputs_ = ConvPanels{plan_.outputs, products_.lanes, 1}.part(unit % plan_.output_parts, plan_.output_parts);
      run();
    }
  }

 private:
  ConvField field_of(const ConvTaps& height, const ConvTaps& width) const {
    return {height, width, block_, {operands_.x_image, operands_.x_plane}, plan_.gathers || is_flat()};
  }
  // Whether whole vectors along the pixels of the source are what the block reads.
  bool is_flat() const {
    return plan_.channels > 1 && pass_.taps() == 1 && pass_.height.stride == 1 && pass_.width.stride == 1 &&
           columns() == pass_.width.extent && block_.pixels() % products_.lanes == 0;
  }
  // Whether sums along pixels are written straight to the result: all in one line, or row by row if these are whole
  // vectors, enough of them at once.
  bool writes_one_line() const {
    return is_flat() && pass_.column_step == 1 && pass_.row_step == 1 && columns() == operands_.y_width;
  }
  bool writes_rows() const {
    constexpr std::int64_t enough_vectors = 8, most_outputs = 6;
    return pass_.column_step == 1 && columns() % products_.lanes == 0 &&
           columns() * std::min(most_outputs, plan_.outputs) >= enough_vectors * products_.lanes;
  }
  std::int64_t columns() const { return block_.columns.end - block_.columns.begin; }
  std::int64_t outputs() const { return outputs_.end - outputs_.begin; }
  std::int64_t whole_vectors(std::int64_t elements) const { return products_.whole_vectors(elements); }

  void run() {
    if (pass_.taps() == 0) return store_nothing();
    is_first_ = true;
    if (order_ == ConvOrder::taps) {
      for (std::int64_t i = 0; i < pass_.height.count; ++i) {
        for (std::int64_t j = 0; j < pass_.width.count; ++j) {
          const ConvTaps height = pass_.height.only(i), width = pass_.width.only(j);
          const ConvField field = field_of(height, width);
          if (plan_.gathers) list_pixels(field, height, width);
          add(field, height, width);
        }
      }
    } else {
      add(*field_, pass_.height, pass_.width);
    }
    if (plan_.gathers) {
      store_gathered();
    } else if (!writes_one_line() && !writes_rows()) {
      store_shifted();
    }
  }

  // Returns how wide rows of the weight are, and those of sums that lie pixel by pixel.
  std::int64_t width() const { return plan_.gathers ? whole_vectors(outputs()) : outputs(); }

  void prepare() {
    field_.emplace(field_of(pass_.height, pass_.width));
    order_ = conv_order(plan_, pass_, *field_, columns());
    if (order_ == ConvOrder::planes) {
      periods_ = pass_.height.periods();
      for (std::int64_t j = 0; j < pass_.width.count; ++j) memory_.depth_offsets[j] = field_->of_column(j);
    } else if (plan_.gathers && order_ == ConvOrder::channels) {
      list_pixels(*field_, pass_.height, pass_.width);
    }
  }
  void list_pixels(const ConvField& field, const ConvTaps& height, const ConvTaps& width) {
    classes_.emplace(height, width, block_, field, memory_.pixel_offsets, memory_.pixel_numbers);
  }

  const T* source() const { return operands_.x + group_ * plan_.channels * operands_.x_plane; }

  // Groups of one channel, whose taps in a column lie in adjacent rows of the planes, class by class. The planes of
  // some groups are copied at once: a plane that has just been written is read slowly.
  void run_planes(Range groups) {
    constexpr std::int64_t elements = 1 << 12;
    outputs_ = {0, plan_.outputs};
    field_->each_channels(operands_.x, groups, memory_.field, elements, [&](Range some, const T* planes) {
      for (group_ = some.begin; group_ < some.end; ++group_, planes += field_->size()) {
        for (std::int64_t o = 0; o < plan_.outputs; ++o) run_plane(planes, o);
      }
    });
  }

  void run_plane(const T* field, std::int64_t o) {
    const ConvTaps &height = pass_.height, &width = pass_.width;
    const T* const w = weight() + o * operands_.w_output;
    const bool is_plain = pass_.column_step == 1;
    T* const out = is_plain ? output(block_.images.begin, o, block_.rows.begin) : memory_.sums;
    const std::int64_t out_row = is_plain ? pass_.row_step * operands_.y_width : columns();
    for (std::int64_t c = 0; c < periods_; ++c) {
      const ConvTaps::Class rows = height.of_class(c, periods_);
      T* to = memory_.panel;
      for (std::int64_t m = 0; m < rows.count; ++m) {
        const T* const line = w + height.kernel(rows.tap(m)) * operands_.kernel_width;
        for (std::int64_t j = 0; j < width.count; ++j) *to++ = line[width.kernel(j)];
      }
      products_.plane({field + field_->of_row(rows.first), field_->row(), memory_.depth_offsets, rows.count,
                       width.count, memory_.panel, block_.rows.end - block_.rows.begin, columns(), out, out_row,
                       bias(o), c > 0});
    }
    if (!is_plain) store_rows(o, memory_.sums, out_row);
  }

  // Adds what these taps contribute.
  void add(const ConvField& field, const ConvTaps& height, const ConvTaps& width) {
    sums_line_ = field.row();
    sums_row_ = whole_vectors(field.flat());
    flat_ = field.flat();
    field.each_channels(source(), {0, plan_.channels}, memory_.field, conv_field_elements,
                        [&](Range channels, const T* x) { add_channels(field, height, width, channels, x); });
  }

  void add_channels(const ConvField& field, const ConvTaps& height, const ConvTaps& width, Range channels, const T* x) {
    const std::int64_t taps = height.count * width.count, depth = (channels.end - channels.begin) * taps;
    for (std::int64_t first = 0; first < depth; first += conv_depth) {
      const Range part{first, std::min(depth, first + conv_depth)};
      const T* const bias =
          operands_.bias == nullptr ? nullptr : operands_.bias + group_ * plan_.outputs + outputs_.begin;
      const std::int64_t wide = this->width();
      if (!plan_.gathers) {
        pack(height, width, channels.begin, part, outputs_, wide);
        list_depth(field, taps, width.count, part, {0, height.count}, {0, width.count});
        const auto add_line = [&](std::int64_t row, std::int64_t length, T* to, std::int64_t to_row) {
          products_.shifted({x + field.offset(0, row, 0), memory_.depth_offsets, part.end - part.begin, memory_.panel,
                             wide, length, to, to_row, bias, !is_first_});
        };
        if (writes_one_line()) {
          add_line(0, flat_, output(block_.images.begin, outputs_.begin, block_.rows.begin), operands_.y_plane);
        } else if (!writes_rows()) {
          add_line(0, flat_, memory_.sums, sums_row_);
        } else {
          for (std::int64_t row = block_.rows.begin; row < block_.rows.end; ++row) {
            add_line(row - block_.rows.begin, columns(), output(block_.images.begin, outputs_.begin, row),
                     operands_.y_plane);
          }
        }
      } else {
        const ConvPanels panels{outputs(), products_.lanes, products_.max_vectors};
        for (std::int64_t p = 0; p < panels.count(); ++p) {
          const Range columns = panels.columns(p);
          const std::int64_t count = columns.end - columns.begin;
          pack(height, width, channels.begin, part, {outputs_.begin + columns.begin, outputs_.begin + columns.end},
               whole_vectors(count));
          for (const ConvClass& some : classes_->all()) {
            const std::int64_t pixels = some.pixels.end - some.pixels.begin;
            const std::int64_t listed = list_depth(field, taps, width.count, part, some.rows, some.columns);
            products_.gathered({x, memory_.pixel_offsets + some.pixels.begin, memory_.pixel_numbers + some.pixels.begin,
                                pixels, memory_.depth_offsets,
                                listed < part.end - part.begin ? memory_.panel_rows : nullptr, listed, memory_.panel,
                                count, memory_.sums + columns.begin, wide,
                                bias == nullptr ? nullptr : bias + columns.begin, !is_first_});
          }
        }
      }
      is_first_ = false;
    }
  }

  // Lists where these taps of the channels in a part of the depth lie in the field, and which of the part they are.
  // Returns how many they are.
  std::int64_t list_depth(const ConvField& field, std::int64_t taps, std::int64_t width, Range part, Range rows,
                          Range columns) const {
    std::int64_t listed = 0;
    for (std::int64_t c = part.begin / taps; c * taps < part.end; ++c) {
      for (std::int64_t i = rows.begin; i < rows.end; ++i) {
        const std::int64_t of_line = c * field.channel() + field.of_row(i), line = c * taps + i * width - part.begin;
        const std::int64_t begin = std::max(columns.begin, -line);
        const std::int64_t count = std::min(columns.end, part.end - part.begin - line) - begin;
        if (count <= 0) continue;
        field.list_columns({begin, begin + count}, of_line, memory_.depth_offsets + listed);
        count_up(line + begin, 1, count, memory_.panel_rows + listed);
        listed += count;
      }
    }
    return listed;
  }

  const T* weight() const { return operands_.weight(plan_, group_); }

  // The weight's elements for a range of k, in rows of `row` outputs, with zeros behind the last.
  void pack(const ConvTaps& height, const ConvTaps& width, std::int64_t first_channel, Range depth, Range outputs,
            std::int64_t row) {
    const ConvOperands<T>& o = operands_;
    const std::int64_t taps = height.count * width.count, count = outputs.end - outputs.begin;
    const T* const w = weight() + outputs.begin * o.w_output + first_channel * o.w_channel;
    T* to = memory_.panel;
    const bool is_whole = height.kernel_step == 1 && width.kernel_step == 1 && width.count == o.kernel_width;
    if (is_whole && taps == o.w_channel) {
      copies_.transpose(w + depth.begin, o.w_output, count, depth.end - depth.begin, to, row);
    } else {
      for (std::int64_t k = depth.begin; k < depth.end;) {
        const std::int64_t c = k / taps, tap = k % taps, end = std::min(taps, tap + depth.end - k);
        const T* const from = w + c * o.w_channel;
        T* const at = to + (k - depth.begin) * row;
        if (is_whole) {
          copies_.transpose(from + height.kernel_first * o.kernel_width + tap, o.w_output, count, end - tap, at, row);
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
          copies_.transpose(from, wide, length, outputs(), to, operands_.y_plane);
          continue;
        }
        copies_.transpose(from, wide, length, outputs(), memory_.field, length);  // which no longer counts
        for (std::int64_t o = 0; o < outputs(); ++o) {
          T* const row = to + o * operands_.y_plane;
          const T* const elements = memory_.field + o * length;
          for (std::int64_t p = 0; p < length; ++p) row[p * pass_.column_step] = elements[p];
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

  const ConvProducts<T>& products_;
  const ConvCopies<T>& copies_;
  const ConvPlan& plan_;
  const ConvPass& pass_;
  const ConvBlock& block_;
  const ConvOperands<T>& operands_;
  const ConvMemory<T>& memory_;
  std::optional<ConvField> field_;
  ConvOrder order_ = ConvOrder::channels;
  std::optional<ConvClasses> classes_;
  std::int64_t periods_ = 1, group_ = 0;
  Range outputs_{};
  std::int64_t flat_ = 0, sums_line_ = 0, sums_row_ = 0;
  bool is_first_ = true;
};

}  // namespace asyncgrad::detail
