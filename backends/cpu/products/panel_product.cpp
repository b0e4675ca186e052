#include "asyncgrad/backends/cpu/products/panel_product.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>

#include "asyncgrad/backends/cpu/dispatch.h"
#include "asyncgrad/backends/cpu/highway_targets.h"
#include "asyncgrad/core/backend/round_up.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "asyncgrad/backends/cpu/products/panel_product.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "asyncgrad/backends/cpu/vectors/partial_vectors-inl.h"
#include "asyncgrad/backends/cpu/vectors/transpose-inl.h"

#ifndef ASYNCGRAD_BACKENDS_CPU_PANEL_PRODUCT_ONCE
#define ASYNCGRAD_BACKENDS_CPU_PANEL_PRODUCT_ONCE
namespace asyncgrad::detail {

inline constexpr std::int64_t panel_depth = 256;  // along k, so that a panel stays in the first-level cache
inline constexpr int panel_vectors = 4;

template <class T>
struct PanelLoops {
  void (*product)(const PanelProduct<T>& product, void* scratch);
  void (*finish)(const PanelProduct<T>& product);
};

}  // namespace asyncgrad::detail
#endif

HWY_BEFORE_NAMESPACE();
namespace asyncgrad::detail::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A range of k of some columns of w, with the columns in whole vectors.
template <class T>
struct Panel {
  const T* values;
  std::int64_t row;  // from one k to the next
  std::int64_t first_k, depth;
  std::int64_t first_column, columns;
  bool first, last;  // of the ranges of k
};

template <class T, class V>
HWY_INLINE V finish(hn::ScalableTag<T> d, const PanelProduct<T>& p, std::int64_t column, std::int64_t count, V sum) {
  if (p.bias != nullptr) {
    sum = hn::Add(sum, p.bias_column == 0 ? hn::Set(d, *p.bias) : load_up_to(p.bias + column, count));
  }
  // A comparison rather than Max, so that NaN stays NaN.
  return p.relu ? hn::IfThenElse(hn::Lt(sum, hn::Zero(d)), hn::Zero(d), sum) : sum;
}

// Computes Rows rows of out from `row` on, which stay in registers while the panel passes.
template <int Rows, int Vectors, class T>
HWY_INLINE void multiply(const PanelProduct<T>& p, const Panel<T>& panel, std::int64_t row) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  T* const out = p.out + row * p.out_row + panel.first_column;
  V sums[Rows][Vectors];
  for (int r = 0; r < Rows; ++r) {
    for (int v = 0; v < Vectors; ++v) sums[r][v] = hn::Zero(d);
  }
  if (!panel.first) {
    for (int r = 0; r < Rows; ++r) {
      for (int v = 0; v < Vectors; ++v) {
        sums[r][v] = load_up_to(out + r * p.out_row + v * lanes, panel.columns - v * lanes);
      }
    }
  }
  const T* x = p.x + row * p.x_row + panel.first_k * p.x_column;
  const T* w = panel.values;
  for (std::int64_t i = 0; i < panel.depth; ++i, x += p.x_column, w += panel.row) {
    V columns[Vectors];
    for (int v = 0; v < Vectors; ++v) columns[v] = hn::LoadU(d, w + v * lanes);
    for (int r = 0; r < Rows; ++r) {
      const V factor = hn::Set(d, x[r * p.x_row]);
      for (int v = 0; v < Vectors; ++v) sums[r][v] = hn::MulAdd(factor, columns[v], sums[r][v]);
    }
  }
  const bool finishes = panel.last && (p.bias != nullptr || p.relu);
  if (!finishes && panel.columns == Vectors * lanes) {  // without a question for each vector
    for (int r = 0; r < Rows; ++r) {
      for (int v = 0; v < Vectors; ++v) hn::StoreU(sums[r][v], d, out + r * p.out_row + v * lanes);
    }
    return;
  }
  for (int r = 0; r < Rows; ++r) {
    for (int v = 0; v < Vectors; ++v) {
      const std::int64_t count = panel.columns - v * lanes;
      const V sum = finishes ? finish(d, p, panel.first_column + v * lanes, count, sums[r][v]) : sums[r][v];
      store_up_to(sum, out + r * p.out_row + v * lanes, count);
    }
  }
}

// A fused multiply-add takes four cycles, and two start in each cycle: eight sums keep the units busy.
template <int Vectors, class T>
void multiply_rows(const PanelProduct<T>& p, const Panel<T>& panel) {
  constexpr int max_rows = Vectors == 1 ? 8 : 4;
  std::int64_t row = 0;
  for (; row + max_rows <= p.m; row += max_rows) multiply<max_rows, Vectors>(p, panel, row);
  if constexpr (max_rows > 4) {
    if (row + 4 <= p.m) multiply<4, Vectors>(p, panel, row), row += 4;
  }
  for (; row < p.m; ++row) multiply<1, Vectors>(p, panel, row);
}

// Makes the panel from a w whose columns have adjacent elements along k.
template <class T>
void pack_transposed(const PanelProduct<T>& p, const Panel<T>& panel, std::int64_t width, T* packed) {
  transpose(p.w + panel.first_k + panel.first_column * p.w_column, p.w_column, panel.columns, panel.depth, packed,
            width);
  for (std::int64_t i = 0; i < panel.depth; ++i)
    std::fill(packed + i * width + panel.columns, packed + (i + 1) * width, T{});
}

template <class T>
void pack_rows(const PanelProduct<T>& p, const Panel<T>& panel, std::int64_t width, T* packed) {
  const T* from = p.w + panel.first_k * p.w_row + panel.first_column;
  for (std::int64_t i = 0; i < panel.depth; ++i, from += p.w_row, packed += width) {
    std::copy_n(from, panel.columns, packed);
    std::fill(packed + panel.columns, packed + width, T{});
  }
}

// Copies the panel to `packed`, in rows of `width` elements with zeros beyond its columns.
template <class T>
void pack(const PanelProduct<T>& p, Panel<T>& panel, std::int64_t width, T* packed) {
  if (p.w_column == 1) {
    pack_rows(p, panel, width, packed);
  } else {
    pack_transposed(p, panel, width, packed);
  }
  panel.values = packed;
  panel.row = width;
}

template <class T>
void by_panels(const PanelProduct<T>& p, T* scratch) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  // A copy pays if rows of w lie far apart and are read again and again.
  const bool pack_all = p.w_column != 1 || (p.m >= 32 && p.w_row >= 512);
  for (std::int64_t first_k = 0; first_k == 0 || first_k < p.k; first_k += panel_depth) {
    for (std::int64_t column = 0; column < p.n; column += panel_vectors * lanes) {
      Panel<T> panel{.values = p.w + first_k * p.w_row + column,
                     .row = p.w_row,
                     .first_k = first_k,
                     .depth = std::min(panel_depth, p.k - first_k),
                     .first_column = column,
                     .columns = std::min(panel_vectors * lanes, p.n - column),
                     .first = first_k == 0,
                     .last = first_k + panel_depth >= p.k};
      const std::int64_t vectors = divided_up(panel.columns, lanes);
      if (pack_all || panel.columns % lanes != 0) pack(p, panel, vectors * lanes, scratch);
      switch (vectors) {
        case 1:
          multiply_rows<1>(p, panel);
          break;
        case 2:
          multiply_rows<2>(p, panel);
          break;
        case 3:
          multiply_rows<3>(p, panel);
          break;
        default:
          multiply_rows<4>(p, panel);
          break;
      }
    }
  }
}

// Some rows at a time, which are written from one end to the other: sums of few terms take less time than their writing.
template <class T>
void by_strips(const PanelProduct<T>& p, T* scratch) {
  const std::int64_t strip_rows = p.w_column == 1 ? 16 : 64;  // each strip packs a transposed w
  for (std::int64_t row = 0; row < p.m; row += strip_rows) {
    PanelProduct<T> strip = p;
    strip.m = std::min(strip_rows, p.m - row);
    strip.x += row * p.x_row;
    strip.out += row * p.out_row;
    by_panels(strip, scratch);
  }
}

// One row: out[j] = x . w[:, j], with the elements of both adjacent along k.
template <int Columns, class T>
HWY_INLINE void dot(const PanelProduct<T>& p, std::int64_t column) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const T* const w = p.w + column * p.w_column;
  V sums[Columns];
  for (V& sum : sums) sum = hn::Zero(d);
  std::int64_t i = 0;
  for (; i + lanes <= p.k; i += lanes) {
    const V x = hn::LoadU(d, p.x + i);
    for (int c = 0; c < Columns; ++c) sums[c] = hn::MulAdd(x, hn::LoadU(d, w + c * p.w_column + i), sums[c]);
  }
  for (int c = 0; c < Columns; ++c) {
    T sum{};
    if (p.k >= lanes) sum += hn::GetLane(hn::SumOfLanes(d, sums[c]));
    for (std::int64_t rest = i; rest < p.k; ++rest) sum += p.x[rest] * w[c * p.w_column + rest];
    if (p.bias != nullptr) sum += p.bias[(column + c) * p.bias_column];
    p.out[column + c] = p.relu && sum < T{} ? T{} : sum;
  }
}

template <class T>
void by_dots(const PanelProduct<T>& p) {
  std::int64_t column = 0;
  for (; column + 4 <= p.n; column += 4) dot<4>(p, column);
  for (; column < p.n; ++column) dot<1>(p, column);
}

// The number of elements below which setting up vectors takes longer than the loop.
template <class T>
void by_elements(const PanelProduct<T>& p) {
  for (std::int64_t row = 0; row < p.m; ++row) {
    for (std::int64_t column = 0; column < p.n; ++column) {
      T sum{};
      for (std::int64_t i = 0; i < p.k; ++i) {
        sum += p.x[row * p.x_row + i * p.x_column] * p.w[i * p.w_row + column * p.w_column];
      }
      if (p.bias != nullptr) sum += p.bias[column * p.bias_column];
      p.out[row * p.out_row + column] = p.relu && sum < T{} ? T{} : sum;
    }
  }
}

template <class T>
void product(const PanelProduct<T>& p, void* scratch) {
  if (p.m * p.n * p.k <= 64 && p.n < 16) {
    by_elements(p);
  } else if (p.m == 1 && p.x_column == 1 && p.w_row == 1 && p.w_column != 1) {
    by_dots(p);
  } else if (p.k <= few_terms) {
    by_strips(p, static_cast<T*>(scratch));
  } else {
    by_panels(p, static_cast<T*>(scratch));
  }
}

template <class T>
void finish_block(const PanelProduct<T>& p) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t row = 0; row < p.m; ++row) {
    T* const out = p.out + row * p.out_row;
    for (std::int64_t column = 0; column < p.n; column += lanes) {
      const std::int64_t count = p.n - column;
      store_up_to(finish(d, p, column, count, load_up_to(out + column, count)), out + column, count);
    }
  }
}

template <class T>
static constexpr PanelLoops<T> functions{product<T>, finish_block<T>};
FloatingLoops<PanelLoops> panel_loops() { return {functions<float>, functions<double>}; }

}  // namespace asyncgrad::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace asyncgrad::detail {

namespace {

HWY_EXPORT(panel_loops);

const FloatingLoops<PanelLoops>& panel_loops() {
  static const auto loops = HWY_DYNAMIC_DISPATCH(panel_loops)();
  return loops;
}

}  // namespace

std::int64_t panel_scratch_bytes(std::int64_t k) {
  constexpr std::int64_t widest_vector_bytes = 64;
  return std::min(k, panel_depth) * panel_vectors * widest_vector_bytes;
}

void panel_product(const PanelProduct<float>& product, void* scratch) {
  panel_loops().of<float>().product(product, scratch);
}
void panel_product(const PanelProduct<double>& product, void* scratch) {
  panel_loops().of<double>().product(product, scratch);
}
void panel_product_for_onednn(const PanelProduct<float>& product) {
  struct alignas(64) Line {
    std::array<std::byte, 64> bytes;
  };
  const auto lines = static_cast<std::size_t>(panel_scratch_bytes(product.k)) / sizeof(Line);
  const std::unique_ptr<Line[]> scratch(new Line[lines]);
  PanelProduct<float> block = product;
  if (block.k == 1) block.x_column = block.w_column = 1;  // any will do, and the loops want this one
  panel_product(block, scratch.get());
}
void add_bias(const PanelProduct<float>& product) { panel_loops().of<float>().finish(product); }

}  // namespace asyncgrad::detail
#endif
