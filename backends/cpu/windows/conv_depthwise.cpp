#include "asyncgrad/backends/cpu/windows/conv_depthwise.h"

#include <algorithm>
#include <array>
#include <span>

#include "asyncgrad/backends/cpu/windows/conv_copies.h"
#include "asyncgrad/backends/cpu/windows/conv_lanes.h"

namespace asyncgrad::detail {

namespace {

// Cuts planes into strips that stay in the cache. Returns false if they would be too large, and mostly padding.
bool cut(DepthwisePlan& p) {
  constexpr std::int64_t most_elements = 1 << 15;
  const ConvExtents& e = p.extents;
  p.taps = conv_distances(e.height, p.of_inputs(), p.pixels.row_passes);
  p.columns = conv_distances(e.width, p.of_inputs(), p.pixels.column_passes);
  p.row_stride = p.of_inputs() ? 1 : e.height.stride;
  const std::int64_t rows = longest_pass(e.height, p.of_inputs());
  const std::int64_t columns = longest_pass(e.width, p.of_inputs());
  p.columns = {p.columns.begin,
               std::max(p.in_width(), p.columns.end + (columns - 1) * (p.of_inputs() ? 1 : e.width.stride))};
  const std::int64_t most_lines = most_elements / p.lanes / p.channels() / p.field_width();
  const std::int64_t of_taps = p.taps.end - p.taps.begin;
  const std::int64_t most_rows = std::min((most_lines - of_taps) / p.row_stride + 1,
                                          most_elements / p.lanes / p.pixels.row_passes / p.out_width());
  if (of_taps > most_lines || most_rows == 0) return false;
  p.strips = divided_up(rows, most_rows);
  p.rows_of_strip = divided_up(rows, p.strips);
  return true;
}

// Vectors along pixels have lanes behind the last column; with strides elements are sorted first, or written apart; and
// for the gradient of a weight each dot sums up its lanes. Here the planes are transposed, and the last block may have
// few groups.
bool is_faster(const DepthwisePlan& p) {
  const std::int64_t of_blocks = p.blocks() * p.lanes, groups = p.extents.groups;
  if (2 * groups < of_blocks) return false;
  const std::int64_t columns = longest_pass(p.extents.width, p.of_inputs());
  const std::int64_t of_vectors = rounded_up(columns, p.lanes);
  constexpr std::int64_t many_taps = 9;
  if (p.op == Op::conv_weight) return true;
  if (p.extents.width.stride > 1) return p.of_inputs() || columns <= 2 * p.lanes;
  return 4 * columns * of_blocks <= 3 * of_vectors * groups || (columns < p.lanes && p.extents.taps() >= many_taps);
}

// Returns what a unit costs: how many multiplications take as long.
double unit_cost(const DepthwisePlan& p) {
  constexpr double of_element = 8;  // that is moved from a plane or to one
  const ConvExtents& e = p.extents;
  const auto moved =
      static_cast<double>(p.channels() * p.in_height() * p.in_width() + p.outputs() * p.out_height() * p.out_width());
  const double of_image = of_element * moved + static_cast<double>(p.of_weight() * e.out_plane());
  return static_cast<double>(p.lanes * e.batch * p.blocks()) * of_image / static_cast<double>(p.units());
}

}  // namespace

template <class T>
std::optional<DepthwisePlan> depthwise_plan(const ConvExtents& e, Op op, std::int64_t parts) {
  const std::int64_t lanes = conv_lanes().of<T>().lanes;
  if (!conv_is_depthwise(e.channels, e.outputs) || conv_gathers(e.outputs, lanes) || e.batch == 0 ||
      e.in_plane() == 0 || e.out_plane() == 0) {
    return std::nullopt;
  }
  DepthwisePlan plan{
      .extents = e, .op = op, .parts = parts, .lanes = lanes, .pixels = conv_plan(e, op == Op::conv_input, lanes)};
  if (plan.pixels.row_passes * plan.pixels.column_passes > DepthwisePlan::max_passes) return std::nullopt;
  if (!cut(plan) || !is_faster(plan)) return std::nullopt;
  constexpr double cost_of_tile = 1 << 20;
  plan.units_per_tile = static_cast<std::int64_t>(std::max(1.0, cost_of_tile / unit_cost(plan)));
  return plan;
}

namespace {

// The scratch memory of a thread. Elements of T lie in vectors, of which each lane is of a group.
template <class T>
struct Memory {
  LaneTap* taps;      // pass by pass, as the pixels
  LanePixel* pixels;  // which all passes together have once
  T *weight, *initial;
  T *plane, *field;  // a strip without padding, or its results, and a strip with padding
  std::int64_t plane_elements, field_elements;

  Memory(ConvScratch& scratch, const DepthwisePlan& p)
      : taps(scratch.take<LaneTap>(p.of_weight())),
        pixels(scratch.take<LanePixel>(p.out_rows() * p.out_width())),
        weight(scratch.take<T>(p.of_weight() * p.lanes)),
        initial(scratch.take<T>(p.outputs() * p.lanes)),
        plane_elements(std::max(p.field_height() * p.in_width(), p.out_rows() * p.out_width()) * p.lanes),
        field_elements(p.channels() * p.field_height() * p.field_width() * p.lanes) {
    plane = scratch.take<T>(plane_elements);
    field = scratch.take<T>(field_elements);
  }
};

// Computes the units of a tile.
template <class T>
class DepthwiseTile {
 public:
  DepthwiseTile(const DepthwisePlan& plan, const KernelCall& call)
      : p_(plan), e_(plan.extents), call_(call), scratch_(call.scratch), memory_(scratch_, plan) {
    list_taps();
  }

  void run(Range units) { p_.op == Op::conv_weight ? add_to_weight(units) : compute(units); }

 private:
  void compute(Range units) {
    const T* const x = call_.data<T>(1);
    T* const y = call_.data<T>(0);
    const std::int64_t plane = p_.out_height() * p_.out_width();
    for (std::int64_t unit = units.begin; unit < units.end; ++unit) {
      const std::int64_t strip = unit / e_.batch;
      if (unit == units.begin || unit % e_.batch == 0) {
        begin_block(strip / p_.strips);
        lay_out_weight();
        begin_strip(strip % p_.strips);
      }
      const std::int64_t first = unit % e_.batch * e_.groups + first_group_;
      lay_out_fields(x + first * p_.channels() * p_.in_height() * p_.in_width());
      for (std::int64_t o = 0; o < p_.outputs(); ++o) {
        for (const LaneProduct& pass : passes()) {
          loops_.outputs(pass, memory_.field, memory_.weight + o * e_.taps() * p_.lanes, memory_.initial + o * p_.lanes,
                         memory_.plane);
        }
        copies_.transpose(memory_.plane, p_.lanes, (out_rows_.end - out_rows_.begin) * p_.out_width(), groups_,
                          y + (first * p_.outputs() + o) * plane + out_rows_.begin * p_.out_width(),
                          p_.outputs() * plane);
      }
    }
  }

  void add_to_weight(Range units) {
    for (std::int64_t unit = units.begin; unit < units.end; ++unit) {
      const std::int64_t part = unit / p_.blocks();
      begin_block(unit % p_.blocks());
      std::fill_n(memory_.weight, p_.of_weight() * p_.lanes, T{});
      for (std::int64_t strip = 0; strip < p_.strips; ++strip) {
        begin_strip(strip);
        for (std::int64_t image = e_.batch * part / p_.parts; image < e_.batch * (part + 1) / p_.parts; ++image) {
          add_image(image);
        }
      }
      copies_.transpose(memory_.weight, p_.lanes, p_.of_weight(), groups_,
                        call_.data<T>(0) + (part * e_.groups + first_group_) * p_.of_weight(), p_.of_weight());
    }
  }
  void add_image(std::int64_t image) {
    const T *const x = call_.data<T>(1), *const dy = call_.data<T>(2);
    const std::int64_t first = image * e_.groups + first_group_;
    lay_out_fields(x + first * e_.in_plane());
    for (std::int64_t o = 0; o < e_.outputs; ++o) {
      copies_.transpose(dy + (first * e_.outputs + o) * e_.out_plane() + out_rows_.begin * e_.width.out,
                        e_.outputs * e_.out_plane(), groups_, (out_rows_.end - out_rows_.begin) * e_.width.out,
                        memory_.plane, p_.lanes);
      loops_.weight(passes_[0], memory_.field, memory_.weight + o * p_.lanes, memory_.plane);
    }
  }

  std::span<const LaneProduct> passes() const { return {passes_.data(), pass_count_}; }

  void begin_block(std::int64_t block) {
    first_group_ = block * p_.lanes;
    groups_ = std::min(p_.lanes, e_.groups - first_group_);
    if (groups_ == p_.lanes) return;
    // The lanes of no group are computed, too.
    std::fill_n(memory_.plane, memory_.plane_elements, T{});
    std::fill_n(memory_.weight, p_.of_weight() * p_.lanes, T{});
  }

  void lay_out_weight() {
    copies_.transpose(call_.data<T>(2) + first_group_ * p_.of_weight(), p_.of_weight(), groups_, p_.of_weight(),
                      memory_.weight, p_.lanes);
    std::fill_n(memory_.initial, p_.outputs() * p_.lanes, T{});
    if (call_.view_count < 4) return;
    copies_.transpose(call_.data<T>(3) + first_group_ * p_.outputs(), p_.outputs(), groups_, p_.outputs(),
                      memory_.initial, p_.lanes);
  }

  void begin_strip(std::int64_t strip) {
    const Range rows{strip * p_.rows_of_strip, (strip + 1) * p_.rows_of_strip};
    const std::int64_t first = rows.begin * p_.row_stride + p_.taps.begin;
    field_row_ = first;
    in_rows_ = {std::clamp<std::int64_t>(first, 0, p_.in_height()),
                std::clamp<std::int64_t>(first + p_.field_height(), 0, p_.in_height())};
    out_rows_ = {rows.begin * p_.pixels.row_passes, std::min(rows.end * p_.pixels.row_passes, p_.out_height())};
    std::fill_n(memory_.field, memory_.field_elements, T{});
    list_pixels(rows);
  }

  // `from` is the first plane of the first group. Rows that are whole squares of the transposition are transposed to
  // where they belong, others all at once.
  void lay_out_fields(const T* from) {
    const std::int64_t width = p_.in_width(), plane = p_.in_height() * width, of_group = p_.channels() * plane;
    const bool by_rows = width * sizeof(T) % 16 == 0;
    for (std::int64_t c = 0; c < p_.channels(); ++c, from += plane) {
      if (!by_rows) {
        copies_.transpose(from + in_rows_.begin * width, of_group, groups_, (in_rows_.end - in_rows_.begin) * width,
                          memory_.plane, p_.lanes);
      }
      for (std::int64_t row = in_rows_.begin; row < in_rows_.end; ++row) {
        T* const to = memory_.field + of_field(c, row - field_row_, -p_.columns.begin);
        if (by_rows) {
          copies_.transpose(from + row * width, of_group, groups_, width, to, p_.lanes);
        } else {
          std::copy_n(memory_.plane + (row - in_rows_.begin) * width * p_.lanes, width * p_.lanes, to);
        }
      }
    }
  }
  std::int64_t of_field(std::int64_t channel, std::int64_t row, std::int64_t column) const {
    return ((channel * p_.field_height() + row) * p_.field_width() + column) * p_.lanes;
  }

  // Calls visit(pass, what the loops take of it) for each pass.
  template <class Visit>
  void each_pass(Visit visit) {
    pass_count_ = 0;
    for (std::int64_t row_rest = 0; row_rest < p_.pixels.row_passes; ++row_rest) {
      for (std::int64_t column_rest = 0; column_rest < p_.pixels.column_passes; ++column_rest) {
        visit(conv_pass(e_, p_.of_inputs(), row_rest, column_rest), passes_[pass_count_++]);
      }
    }
  }

  // The outputs of a strip, counted from its first.
  void list_pixels(Range rows) {
    LanePixel* next = memory_.pixels;
    each_pass([&](const ConvPass& pass, LaneProduct& product) {
      product.pixels = next;
      for (std::int64_t row = 0; row < std::min(rows.end, pass.rows) - rows.begin; ++row) {
        const std::int64_t line = (pass.first_row + row * pass.row_step) * p_.out_width() + pass.first_column;
        for (std::int64_t column = 0; column < pass.columns; ++column) {
          *next++ = {of_field(0, row * pass.height.stride, column * pass.width.stride),
                     (line + column * pass.column_step) * p_.lanes};
        }
      }
      product.pixel_count = next - product.pixels;
    });
  }

  void list_taps() {
    LaneTap* next = memory_.taps;
    each_pass([&](const ConvPass& pass, LaneProduct& product) {
      product.taps = next;
      if (pass.taps() > 0) list_taps(pass, next);
      product.tap_count = next - product.taps;
    });
  }
  void list_taps(const ConvPass& pass, LaneTap*& next) const {
    const ConvTaps &height = pass.height, &width = pass.width;
    each_tap(p_.pixels, pass, conv_pixel_order(p_.pixels, pass), {0, height.count}, {0, width.count},
             [&](std::int64_t channel, std::int64_t i, std::int64_t j) {
               const std::int64_t element = height.kernel(i) * e_.width.kernel + width.kernel(j);
               const std::int64_t of_weight =
                   p_.op == Op::conv_weight ? element * e_.outputs : channel * e_.taps() + element;
               *next++ = {of_field(channel, height.at(i) - p_.taps.begin, width.at(j) - p_.columns.begin),
                          of_weight * p_.lanes};
             });
  }

  const ConvLanes<T>& loops_ = conv_lanes().of<T>();
  const ConvCopies<T>& copies_ = conv_copies().of<T>();
  const DepthwisePlan& p_;
  const ConvExtents& e_;
  const KernelCall& call_;
  ConvScratch scratch_;
  Memory<T> memory_;
  std::array<LaneProduct, DepthwisePlan::max_passes> passes_{};
  std::size_t pass_count_ = 0;
  std::int64_t first_group_ = 0, groups_ = 0;  // of the block
  std::int64_t field_row_ = 0;                 // of a plane, where the strip's field begins
  Range in_rows_{}, out_rows_{};               // of planes, in the strip
};

}  // namespace

template <class T>
std::int64_t depthwise_scratch_bytes(const DepthwisePlan& plan) {
  ConvScratch scratch(nullptr);
  const Memory<T> memory(scratch, plan);
  return scratch.taken_bytes();
}

template <class T>
void run_depthwise(const DepthwisePlan& plan, const KernelCall& call, int tile) {
  DepthwiseTile<T>(plan, call).run(tile_range(plan.units(), plan.units_per_tile, tile));
}

template std::optional<DepthwisePlan> depthwise_plan<float>(const ConvExtents&, Op, std::int64_t);
template std::optional<DepthwisePlan> depthwise_plan<double>(const ConvExtents&, Op, std::int64_t);
template std::int64_t depthwise_scratch_bytes<float>(const DepthwisePlan&);
template std::int64_t depthwise_scratch_bytes<double>(const DepthwisePlan&);
template void run_depthwise<float>(const DepthwisePlan&, const KernelCall&, int);
template void run_depthwise<double>(const DepthwisePlan&, const KernelCall&, int);

}  // namespace asyncgrad::detail
