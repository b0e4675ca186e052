#include "asyncgrad/backends/cpu/windows/conv_pass.h"

#include <algorithm>

namespace asyncgrad::detail {

namespace {

constexpr std::int64_t max_shifted_pixels = 2048;
constexpr std::int64_t max_shifted_sums = 1 << 16;  // the pixels of all outputs, which take less than twice as much

ConvTaps taps_of_pass(const ConvAxis& axis, bool of_inputs, std::int64_t rest) {
  return of_inputs ? taps_of_inputs(axis, rest) : taps_of_outputs(axis);
}

// Whether vectors go along the outputs, else along the pixels of an image. The latter compute what a row has of padding,
// and pack the weight for each image, but the fewer vectors of outputs there are, the more the former wait for each
// other. Few pixels do not fill vectors, and sums of few elements are computed faster than they are transposed.
bool gathers(const ConvExtents& e, bool of_inputs, std::int64_t outputs, std::int64_t depth, std::int64_t lanes) {
  constexpr std::int64_t few = 40, few_pixels = 64;
  constexpr int most_vectors = 4;
  if (!conv_gathers(outputs, lanes)) return false;
  const ConvPass pass = conv_pass(e, of_inputs, 0, 0);
  const std::int64_t vectors = divided_up(outputs, lanes);
  if (vectors > most_vectors || pass.rows * pass.columns <= few_pixels || pass.taps() == 0) return true;
  if (depth < few) return false;
  const double share = static_cast<double>(outputs) / static_cast<double>(vectors * lanes);
  const ConvWork work = conv_work(pass, lanes);
  return work.along_pixels * share > work.inside * (1 + 1.0 / static_cast<double>(1 << vectors));
}

}  // namespace

ConvPass conv_pass(const ConvExtents& e, bool of_inputs, std::int64_t row_rest, std::int64_t column_rest) {
  const ConvTaps height = taps_of_pass(e.height, of_inputs, row_rest);
  const ConvTaps width = taps_of_pass(e.width, of_inputs, column_rest);
  if (!of_inputs) return {height, width, e.height.out, e.width.out, 0, 0, 1, 1};
  return {height,
          width,
          rest_count(e.height, row_rest),
          rest_count(e.width, column_rest),
          row_rest,
          column_rest,
          e.height.stride,
          e.width.stride};
}

ConvWork conv_work(const ConvPass& pass, std::int64_t lanes) {
  const std::int64_t row = pass.columns + pass.width.highest() - pass.width.lowest();
  const std::int64_t pixels = rounded_up((pass.rows - 1) * row + pass.columns, lanes) + lanes;
  return {static_cast<double>(pixels) * static_cast<double>(pass.taps()),
          static_cast<double>(pass.height.count_inside({0, pass.rows})) *
              static_cast<double>(pass.width.count_inside({0, pass.columns}))};
}

// Tiles are so small that there is work for several threads, and so large that setting them up does not count. With
// few pixels, outputs are cut rather than these, as each tile packs the weight of its outputs.
ConvPlan conv_plan(const ConvExtents& e, bool of_inputs, std::int64_t lanes) {
  ConvPlan plan{.groups = e.groups,
                .channels = of_inputs ? e.outputs : e.channels,
                .outputs = of_inputs ? e.channels : e.outputs,
                // An input's axis has as many places between two strides.
                .row_passes = of_inputs ? std::clamp<std::int64_t>(e.height.in, 1, e.height.stride) : 1,
                .column_passes = of_inputs ? std::clamp<std::int64_t>(e.width.in, 1, e.width.stride) : 1};
  constexpr std::int64_t wanted_tiles = 8;
  const std::int64_t rows = longest_pass(e.height, of_inputs);
  const std::int64_t columns = longest_pass(e.width, of_inputs);
  const std::int64_t pixels = e.batch * rows * columns, passes = plan.row_passes * plan.column_passes * e.groups;
  plan.gathers = gathers(e, of_inputs, plan.outputs, plan.channels * e.taps(), lanes);
  std::int64_t max_pixels = std::min(max_shifted_pixels, max_shifted_sums / plan.outputs);
  if (plan.gathers) {
    max_pixels = max_gathered_pixels;
    const std::int64_t missing = wanted_tiles / std::max<std::int64_t>(1, passes * (pixels / max_pixels));
    plan.output_parts =
        std::max(divided_up(plan.outputs, ConvPlan::max_outputs), std::min(missing, plan.outputs / (2 * lanes)));
  }
  const std::int64_t units = passes * plan.output_parts;
  const double macs_of_pixel = e.macs() / std::max(1.0, static_cast<double>(pixels) * static_cast<double>(units));
  const auto least = static_cast<std::int64_t>(conv_macs_per_tile / std::max(1.0, macs_of_pixel));
  plan.grid = ConvGrid(
      e.batch, rows, columns,
      std::clamp(std::max(pixels * units / wanted_tiles, least), std::min<std::int64_t>(16, max_pixels), max_pixels),
      !plan.gathers);
  const double blocks = static_cast<double>(units) * static_cast<double>(plan.grid.count());
  plan.units_per_tile =
      static_cast<std::int64_t>(std::max(1.0, conv_macs_per_tile / std::max(e.macs() / std::max(1.0, blocks), 4096.0)));
  return plan;
}

ConvOrder conv_order(const ConvPlan& plan, const ConvPass& pass, const ConvField& field, std::int64_t columns) {
  // Each element of the kernel gets planes of its own if those for all of them would be larger.
  if (field.suits_columns(conv_field_elements)) return ConvOrder::taps;
  if (plan.gathers) return ConvOrder::channels;
  if (field.row() > 2 * columns) return ConvOrder::taps;
  const std::int64_t step = pass.height.step * pass.height.period();
  const bool has_rows = step == pass.height.stride || step == -pass.height.stride || pass.height.count == 1;
  return plan.channels == 1 && pass.taps() <= conv_depth && has_rows ? ConvOrder::planes : ConvOrder::channels;
}

ConvOrder conv_pixel_order(const ConvPlan& plan, const ConvPass& pass) {
  const ConvBlock block = plan.grid.block(0, pass.rows, pass.columns);
  const ConvField field(pass.height, pass.width, block, {0, 0}, false);
  return conv_order(plan, pass, field, block.columns.end - block.columns.begin);
}

Range conv_distances(const ConvAxis& axis, bool of_inputs, std::int64_t passes) {
  Range range{0, 1};
  for (std::int64_t rest = 0; rest < passes; ++rest) {
    const ConvTaps taps = taps_of_pass(axis, of_inputs, rest);
    if (taps.count == 0) continue;
    const std::int64_t one = taps.at(0), other = taps.at(taps.count - 1);
    range = {std::min({range.begin, one, other}), std::max({range.end, one + 1, other + 1})};
  }
  return range;
}

}  // namespace asyncgrad::detail
