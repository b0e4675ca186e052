#include "asyncgrad/backends/cpu/windows/conv_images.h"

#include <algorithm>

#include "asyncgrad/backends/cpu/windows/conv_copies.h"
#include "asyncgrad/backends/cpu/windows/conv_products.h"
#include "asyncgrad/backends/divided.h"

namespace asyncgrad::detail {

namespace {

// Whether the products are so much fewer than those along pixels that it pays to transpose planes.
bool has_few_products(const ImagesPlan& p) {
  const ConvPass pass = conv_pass(p.extents, p.of_inputs, 0, 0);
  if (pass.taps() == 0) return false;
  const ConvWork work = conv_work(pass, p.images.lanes);
  const double share = static_cast<double>(p.extents.batch) / static_cast<double>(p.images.vectors() * p.images.lanes);
  return 4 * work.inside <= 3 * work.along_pixels * share;
}

// Cuts planes into strips that stay in the cache, and of which there is work for several threads. Returns false if one
// row is too much.
bool cut(ImagesPlan& p) {
  constexpr std::int64_t most_elements = 1 << 17, wanted_units = 8;
  p.taps = conv_distances(p.extents.height, p.of_inputs, p.pixels.row_passes);
  p.row_stride = p.of_inputs ? 1 : p.extents.height.stride;
  const std::int64_t rows = longest_pass(p.extents.height, p.of_inputs);
  p.strips = std::clamp<std::int64_t>(divided_up(wanted_units, p.units()), 1, rows);
  for (;; p.strips = std::min(rows, 2 * p.strips)) {
    p.rows_of_strip = divided_up(rows, p.strips);
    if ((p.read_elements() + p.written_elements()) * p.most_images() <= most_elements) break;
    if (p.strips == rows) return false;
  }
  p.strips = divided_up(rows, p.rows_of_strip);
  return true;
}

}  // namespace

template <class T>
std::optional<ImagesPlan> images_plan(const ConvExtents& e, bool of_inputs) {
  const ConvProducts<T>& products = conv_products().of<T>();
  constexpr std::int64_t max_depth = 4096;
  if (e.batch == 0 || e.in_plane() == 0 || e.out_plane() == 0) return std::nullopt;
  ImagesPlan plan{.extents = e,
                  .of_inputs = of_inputs,
                  .pixels = conv_plan(e, of_inputs, products.lanes),
                  .images = {e.batch, products.lanes, products.max_vectors}};
  constexpr std::int64_t enough_sums = 8;  // at once: fewer would wait for each other
  const std::int64_t sums = plan.images.vectors() / plan.images.count() * plan.pixels.outputs;
  if (plan.pixels.gathers || sums < enough_sums || plan.pixels.channels == 0 ||
      plan.pixels.outputs > plan.pixels.max_outputs || plan.pixels.channels * e.taps() > max_depth) {
    return std::nullopt;
  }
  if (!has_few_products(plan) || !cut(plan)) return std::nullopt;
  plan.units_per_tile = static_cast<std::int64_t>(
      std::max(1.0, conv_macs_per_tile * static_cast<double>(plan.units()) / std::max(1.0, e.macs())));
  return plan;
}

namespace {

// The scratch memory of a thread. An element of x or y is a row of the images of a panel.
template <class T>
struct Memory {
  std::int64_t *weights, *outputs;      // of the sums: where each output's weight begins, and its number
  std::int64_t *of_weight, *of_planes;  // of the taps: where they lie in the weight and in the planes
  T *planes, *sums;

  Memory(ConvScratch& scratch, const ImagesPlan& p)
      : weights(scratch.take<std::int64_t>(p.pixels.outputs)),
        outputs(scratch.take<std::int64_t>(p.pixels.outputs)),
        of_weight(scratch.take<std::int64_t>(p.pixels.channels * p.extents.taps())),
        of_planes(scratch.take<std::int64_t>(p.pixels.channels * p.extents.taps())),
        planes(scratch.take<T>(p.read_elements() * p.most_images())),
        sums(scratch.take<T>(p.written_elements() * p.most_images())) {}
};

// Computes the units of a tile.
template <class T>
class ImagesTile {
 public:
  ImagesTile(const ImagesPlan& plan, const ConvOperands<T>& operands, std::byte* scratch_memory)
      : p_(plan), operands_(operands), scratch_(scratch_memory), memory_(scratch_, plan) {
    for (std::int64_t o = 0; o < p_.pixels.outputs; ++o) {
      memory_.weights[o] = o * operands_.w_output;
      memory_.outputs[o] = o;
    }
  }

  void run(Range units) {
    for (std::int64_t unit = units.begin; unit < units.end; ++unit) {
      std::int64_t rest = unit;
      const std::int64_t strip = take_digit(rest, p_.strips);
      group_ = take_digit(rest, p_.extents.groups);
      compute(p_.images.columns(rest), {strip * p_.rows_of_strip, (strip + 1) * p_.rows_of_strip});
    }
  }

 private:
  void compute(Range images, Range rows) {
    images_ = images;
    wide_ = products_.whole_vectors(images.end - images.begin);
    in_rows_ = {std::clamp<std::int64_t>(rows.begin * p_.row_stride + p_.taps.begin, 0, p_.in_height()),
                std::clamp<std::int64_t>((rows.end - 1) * p_.row_stride + p_.taps.end, 0, p_.in_height())};
    out_rows_ = {rows.begin * p_.pixels.row_passes, std::min(rows.end * p_.pixels.row_passes, p_.out_height())};
    lay_out_planes();
    lay_out_bias();
    for (std::int64_t row_rest = 0; row_rest < p_.pixels.row_passes; ++row_rest) {
      for (std::int64_t column_rest = 0; column_rest < p_.pixels.column_passes; ++column_rest) {
        add(conv_pass(p_.extents, p_.of_inputs, row_rest, column_rest), rows);
      }
    }
    store();
  }

  std::int64_t image_count() const { return images_.end - images_.begin; }
  std::int64_t in_plane() const { return (in_rows_.end - in_rows_.begin) * p_.in_width(); }
  std::int64_t out_plane() const { return (out_rows_.end - out_rows_.begin) * p_.out_width(); }

  void lay_out_planes() {
    const std::int64_t count = p_.pixels.channels * in_plane();
    // Lanes behind the last image are computed, too, so they hold zeros.
    if (image_count() < wide_) std::fill_n(memory_.planes, count * wide_, T{});
    const T* from = operands_.x + images_.begin * operands_.x_image + group_ * p_.pixels.channels * operands_.x_plane +
                    in_rows_.begin * p_.in_width();
    for (std::int64_t c = 0; c < p_.pixels.channels; ++c, from += operands_.x_plane) {
      copies_.transpose(from, operands_.x_image, image_count(), in_plane(), memory_.planes + c * in_plane() * wide_,
                        wide_);
    }
  }

  void lay_out_bias() {
    if (operands_.bias == nullptr) return;
    const std::int64_t length = out_plane() * wide_;
    for (std::int64_t o = 0; o < p_.pixels.outputs; ++o) {
      std::fill_n(memory_.sums + o * length, length, operands_.bias[group_ * p_.pixels.outputs + o]);
    }
  }

  void add(const ConvPass& pass, Range rows) {
    const ConvTaps &height = pass.height, &width = pass.width;
    const ConvOrder order = pass.taps() > 0 ? conv_pixel_order(p_.pixels, pass) : ConvOrder::channels;
    for (std::int64_t row = rows.begin; row < std::min(rows.end, pass.rows); ++row) {
      const Range lines = height.inside(row);
      const std::int64_t to = (pass.first_row + row * pass.row_step - out_rows_.begin) * p_.out_width();
      Range listed{-1, -1};
      std::int64_t depth = 0;
      for (std::int64_t column = 0; column < pass.columns; ++column) {
        const Range columns = width.inside(column);
        if (columns.begin != listed.begin || columns.end != listed.end) {
          depth = list_taps(pass, order, lines, columns);
          listed = columns;
        }
        const std::int64_t first =
            depth == 0 ? 0
                       : (row * height.stride + height.at(lines.begin) - in_rows_.begin) * p_.in_width() +
                             column * width.stride + width.at(columns.begin);
        products_.gathered({operands_.weight(p_.pixels, group_), memory_.weights, memory_.outputs, p_.pixels.outputs,
                            memory_.of_weight, memory_.of_planes, depth, memory_.planes + first * wide_, wide_,
                            memory_.sums + (to + pass.first_column + column * pass.column_step) * wide_,
                            out_plane() * wide_, nullptr, operands_.bias != nullptr});
      }
    }
  }

  // Lists the taps in these rows and columns of the kernel, as seen from the first of them in the first channel. Returns
  // how many they are.
  std::int64_t list_taps(const ConvPass& pass, ConvOrder order, Range rows, Range columns) const {
    std::int64_t listed = 0;
    if (rows.begin == rows.end || columns.begin == columns.end) return 0;
    const ConvTaps &height = pass.height, &width = pass.width;
    each_tap(p_.pixels, pass, order, rows, columns, [&](std::int64_t channel, std::int64_t i, std::int64_t j) {
      memory_.of_weight[listed] =
          channel * operands_.w_channel + height.kernel(i) * operands_.kernel_width + width.kernel(j);
      memory_.of_planes[listed++] = channel * in_plane() + (height.at(i) - height.at(rows.begin)) * p_.in_width() +
                                    width.at(j) - width.at(columns.begin);
    });
    return listed;
  }

  void store() const {
    for (std::int64_t o = 0; o < p_.pixels.outputs; ++o) {
      copies_.transpose(memory_.sums + o * out_plane() * wide_, wide_, out_plane(), image_count(),
                        operands_.y + images_.begin * operands_.y_image +
                            (group_ * p_.pixels.outputs + o) * operands_.y_plane + out_rows_.begin * p_.out_width(),
                        operands_.y_image);
    }
  }

  const ConvProducts<T>& products_ = conv_products().of<T>();
  const ConvCopies<T>& copies_ = conv_copies().of<T>();
  const ImagesPlan& p_;
  const ConvOperands<T>& operands_;
  ConvScratch scratch_;
  Memory<T> memory_;
  std::int64_t group_ = 0, wide_ = 0;
  Range images_{}, in_rows_{}, out_rows_{};
};

}  // namespace

template <class T>
std::int64_t images_scratch_bytes(const ImagesPlan& plan) {
  ConvScratch scratch(nullptr);
  const Memory<T> memory(scratch, plan);
  return scratch.taken_bytes();
}

template <class T>
void run_images(const ImagesPlan& plan, const ConvOperands<T>& operands, std::byte* scratch, int tile) {
  ImagesTile<T>(plan, operands, scratch).run(tile_range(plan.units(), plan.units_per_tile, tile));
}

template std::optional<ImagesPlan> images_plan<float>(const ConvExtents&, bool);
template std::optional<ImagesPlan> images_plan<double>(const ConvExtents&, bool);
template std::int64_t images_scratch_bytes<float>(const ImagesPlan&);
template std::int64_t images_scratch_bytes<double>(const ImagesPlan&);
template void run_images<float>(const ImagesPlan&, const ConvOperands<float>&, std::byte*, int);
template void run_images<double>(const ImagesPlan&, const ConvOperands<double>&, std::byte*, int);

}  // namespace asyncgrad::detail
