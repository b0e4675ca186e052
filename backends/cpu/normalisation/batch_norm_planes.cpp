// Compiled once for every instruction set. A channel's sum adds in the same order under all of them: 64 running sums
// over some 4096 elements, folded in halves, which are added up in double; of channels of single elements 64 in a row.
#include "asyncgrad/backends/cpu/normalisation/batch_norm_planes.h"

#include <algorithm>
#include <cmath>

#include "asyncgrad/backends/cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "asyncgrad/backends/cpu/normalisation/batch_norm_planes.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include <hwy/highway.h>
#include "asyncgrad/backends/cpu/vectors/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace asyncgrad::detail::HWY_NAMESPACE {

// The terms of the sums: x; (x - mean)^2; dy and dy (x - mean).
enum class Terms { values, squares, gradients };

template <Terms terms, class T, class V>
HWY_INLINE void add_terms(V x, V dy, V mean, V& first, V& second) {
  if constexpr (terms == Terms::values) {
    first = hn::Add(first, x);
  } else if constexpr (terms == Terms::squares) {
    const V distance = hn::Sub(x, mean);
    first = hn::Add(first, hn::Mul(distance, distance));
  } else {
    first = hn::Add(first, dy);
    second = hn::Add(second, hn::Mul(dy, hn::Sub(x, mean)));
  }
}

// Adds n elements of a channel to its running sums.
template <Terms terms, class T>
HWY_INLINE void add_row(const T* x, const T* dy, std::int64_t n, T mean, T* running) {
  const hn::ScalableTag<T> d;
  const auto zero = hn::Zero(d), means = hn::Set(d, terms == Terms::values ? T{0} : mean);
  std::int64_t i = 0;
  const auto add = [&](T* sums, std::int64_t count) HWY_ATTR {
    auto first = hn::LoadU(d, sums), second = terms == Terms::gradients ? hn::LoadU(d, sums + running_sums) : zero;
    const auto gradients = terms == Terms::gradients ? load_up_to(zero, dy + i, count) : zero;
    add_terms<terms, T>(load_up_to(means, x + i, count), gradients, means, first, second);
    hn::StoreU(first, d, sums);
    if (terms == Terms::gradients) hn::StoreU(second, d, sums + running_sums);
  };
  if (n >= 2 * running_sums) {  // the sums stay in registers
    Lanes<T> first[running_vectors<T>], second[running_vectors<T>];
    for (std::size_t v = 0; v < running_vectors<T>; ++v) {
      const std::size_t at = v * static_cast<std::size_t>(lanes_of<T>);
      first[v] = hn::LoadU(d, running + at);
      second[v] = terms == Terms::gradients ? hn::LoadU(d, running + running_sums + at) : zero;
    }
    for (; i + running_sums <= n; i += running_sums) {
      for (std::size_t v = 0; v < running_vectors<T>; ++v) {
        const std::int64_t at = i + static_cast<std::int64_t>(v) * lanes_of<T>;
        const auto gradients = terms == Terms::gradients ? hn::LoadU(d, dy + at) : zero;
        add_terms<terms, T>(hn::LoadU(d, x + at), gradients, means, first[v], second[v]);
      }
    }
    for (std::size_t v = 0; v < running_vectors<T>; ++v) {
      const std::size_t at = v * static_cast<std::size_t>(lanes_of<T>);
      hn::StoreU(first[v], d, running + at);
      if (terms == Terms::gradients) hn::StoreU(second[v], d, running + running_sums + at);
    }
  }
  for (std::int64_t place = 0; i < n; i += lanes_of<T>, place = (place + lanes_of<T>) % running_sums) {
    add(running + place, n - i);
  }
}

template <class T>
HWY_INLINE double folded(const T* running) {
  Lanes<T> lanes[running_vectors<T>];
  for (std::size_t v = 0; v < running_vectors<T>; ++v) {
    lanes[v] = hn::LoadU(hn::ScalableTag<T>(), running + v * static_cast<std::size_t>(lanes_of<T>));
  }
  return static_cast<double>(fold<T>(lanes, AddLanes()));
}

// The sums of all channels into b.sums, two for each channel.
template <Terms terms, class T>
HWY_INLINE void sum_planes(const BatchNormBlock<T>& b) {
  constexpr std::int64_t width = 2 * running_sums;
  for (std::int64_t begin = 0; begin < b.inner; begin += block_elements) {
    const std::int64_t n = std::min(block_elements, b.inner - begin), samples = block_elements / n;
    for (std::int64_t first = 0; first < b.outer; first += samples) {
      std::fill_n(b.running, b.channels * width, T{0});
      const std::int64_t last = std::min(b.outer, first + samples);
      for (std::int64_t sample = first; sample < last; ++sample) {
        const std::int64_t at = sample * b.step + begin;
        for (std::int64_t c = 0; c < b.channels; ++c) {
          const T* const dy = terms == Terms::gradients ? b.dy + at + c * b.inner : nullptr;
          add_row<terms>(b.x + at + c * b.inner, dy, n, b.mean[c], b.running + c * width);
        }
      }
      for (std::int64_t c = 0; c < b.channels; ++c) {
        b.sums[2 * c] += folded(b.running + c * width);
        if (terms == Terms::gradients) b.sums[2 * c + 1] += folded(b.running + c * width + running_sums);
      }
    }
  }
}

// The same where a channel is a column: a vector has several channels.
template <Terms terms, class T>
HWY_INLINE void sum_columns(const BatchNormBlock<T>& b) {
  T *const first = b.running, *const second = first + b.channels;
  const auto add_value = [](auto sum, auto x) HWY_ATTR { return hn::Add(sum, x); };
  const auto add_square = [](auto sum, auto x, auto mean) HWY_ATTR {
    const auto distance = hn::Sub(x, mean);
    return hn::Add(sum, hn::Mul(distance, distance));
  };
  const auto add_product = [](auto sum, auto x, auto mean, auto dy)
                               HWY_ATTR { return hn::Add(sum, hn::Mul(dy, hn::Sub(x, mean))); };
  for (std::int64_t begin = 0; begin < b.outer; begin += running_sums) {
    std::fill_n(b.running, 2 * b.channels, T{0});
    for (std::int64_t sample = begin; sample < std::min(b.outer, begin + running_sums); ++sample) {
      const T* const x = b.x + sample * b.step;
      if constexpr (terms == Terms::values) {
        map_row(first, b.channels, add_value, first, x);
      } else if constexpr (terms == Terms::squares) {
        map_row(first, b.channels, add_square, first, x, b.mean);
      } else {
        const T* const dy = b.dy + sample * b.step;
        map_row(first, b.channels, add_value, first, dy);
        map_row(second, b.channels, add_product, second, x, b.mean, dy);
      }
    }
    for (std::int64_t c = 0; c < b.channels; ++c) {
      b.sums[2 * c] += static_cast<double>(first[c]);
      b.sums[2 * c + 1] += static_cast<double>(second[c]);
    }
  }
}

template <Terms terms, class T>
HWY_INLINE void sum_up(const BatchNormBlock<T>& b) {
  std::fill_n(b.sums, batch_norm_sums * b.channels, 0.0);
  if (b.inner == 1) {
    sum_columns<terms>(b);
  } else {
    sum_planes<terms>(b);
  }
}

// Planes of at most so many elements are one row with their neighbours: each channel's numbers are repeated for the
// elements of its plane.
constexpr std::int64_t longest_repeated = 32;
static_assert(4 * longest_repeated <= batch_norm_running(2));

template <int lists, class T>
HWY_INLINE void repeat_numbers(const BatchNormBlock<T>& b, T* numbers) {
  for (std::int64_t i = lists * b.channels; i-- > 0;) {  // from the last on: they share their memory
    const T number = numbers[i];
    std::fill_n(numbers + i * b.inner, b.inner, number);
  }
}

// out = function(x…) for each channel with its own numbers, which are in `numbers` one list after another.
template <int lists, class T, class Function, class... In>
HWY_INLINE void map_channels(const BatchNormBlock<T>& b, T* numbers, Function function, const In*... x) {
  constexpr std::int64_t few_samples = 4;  // of which repeating would not pay
  const hn::ScalableTag<T> d;
  const bool is_row = b.inner == 1 || (b.inner <= longest_repeated && b.outer >= few_samples);
  const std::int64_t row = b.channels * b.inner;
  if (is_row && b.inner > 1) repeat_numbers<lists>(b, numbers);
  for (std::int64_t sample = 0; sample < b.outer; ++sample) {
    const std::int64_t at = sample * b.step;
    if (is_row) {
      if constexpr (lists == 3) {
        map_row(b.out + at, row, function, (x + at)..., numbers, numbers + row, numbers + 2 * row);
      } else {
        map_row(b.out + at, row, function, (x + at)..., numbers, numbers + row, numbers + 2 * row, numbers + 3 * row);
      }
      continue;
    }
    for (std::int64_t c = 0; c < b.channels; ++c) {
      const auto n0 = hn::Set(d, numbers[c]), n1 = hn::Set(d, numbers[b.channels + c]);
      const auto n2 = hn::Set(d, numbers[2 * b.channels + c]);
      if constexpr (lists == 3) {
        map_row(
            b.out + at + c * b.inner, b.inner, [&](auto... in) HWY_ATTR { return function(in..., n0, n1, n2); },
            (x + at + c * b.inner)...);
      } else {
        const auto n3 = hn::Set(d, numbers[3 * b.channels + c]);
        map_row(
            b.out + at + c * b.inner, b.inner, [&](auto... in) HWY_ATTR { return function(in..., n0, n1, n2, n3); },
            (x + at + c * b.inner)...);
      }
    }
  }
}

template <class T>
void forward(const BatchNormBlock<T>& b) {
  const double count = static_cast<double>(b.outer) * static_cast<double>(b.inner);
  if (!b.is_given) {
    sum_up<Terms::values>(b);
    for (std::int64_t c = 0; c < b.channels; ++c) b.mean[c] = static_cast<T>(b.sums[2 * c] / count);
    sum_up<Terms::squares>(b);
    for (std::int64_t c = 0; c < b.channels; ++c) {
      const double variance = b.sums[2 * c] / count;
      b.variance[c] = static_cast<T>(variance);
      b.inverse[c] = static_cast<T>(1 / std::sqrt(variance + b.epsilon));
    }
  }
  T* const numbers = b.running;
  for (std::int64_t c = 0; c < b.channels; ++c) {
    numbers[c] = b.mean[c];
    numbers[b.channels + c] = b.weight == nullptr ? b.inverse[c] : b.inverse[c] * b.weight[c];
    numbers[2 * b.channels + c] = b.bias == nullptr ? T{0} : b.bias[c];
  }
  const auto normalise = [](auto x, auto mean, auto scale, auto bias)
                             HWY_ATTR { return hn::Add(hn::Mul(hn::Sub(x, mean), scale), bias); };
  map_channels<3>(b, numbers, normalise, b.x);
}

// dx = scale (dy - mean(dy) - (x - mean) mean(dy (x - mean)) inverse^2), where scale = weight inverse; the means come
// from the statistics, and are left out if those are constants.
template <class T>
void backward(const BatchNormBlock<T>& b) {
  const double count = static_cast<double>(b.outer) * static_cast<double>(b.inner);
  sum_up<Terms::gradients>(b);
  T* const numbers = b.running;
  for (std::int64_t c = 0; c < b.channels; ++c) {
    const double gradients = b.sums[2 * c], products = b.sums[2 * c + 1], inverse = static_cast<double>(b.inverse[c]);
    if (b.dbias != nullptr) b.dbias[c] = static_cast<T>(gradients);
    if (b.dweight != nullptr) b.dweight[c] = count == 0 ? T{0} : static_cast<T>(products * inverse);
    numbers[c] = b.mean[c];
    numbers[b.channels + c] = b.weight == nullptr ? b.inverse[c] : b.inverse[c] * b.weight[c];
    numbers[2 * b.channels + c] = b.is_given ? T{0} : static_cast<T>(gradients / count);
    numbers[3 * b.channels + c] = b.is_given ? T{0} : static_cast<T>(products / count * inverse * inverse);
  }
  const auto gradient = [](auto x, auto dy, auto mean, auto scale, auto mean_gradient, auto along) HWY_ATTR {
    return hn::Mul(scale, hn::Sub(hn::Sub(dy, mean_gradient), hn::Mul(hn::Sub(x, mean), along)));
  };
  map_channels<4>(b, numbers, gradient, b.x, b.dy);
}

template <class T>
static constexpr BatchNormPlanes<T> functions{forward<T>, backward<T>};
FloatingLoops<BatchNormPlanes> batch_norm_planes() { return {functions<float>, functions<double>}; }

}  // namespace asyncgrad::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace asyncgrad::detail {

HWY_EXPORT(batch_norm_planes);

const FloatingLoops<BatchNormPlanes>& batch_norm_planes() {
  static const auto loops = HWY_DYNAMIC_DISPATCH(batch_norm_planes)();
  return loops;
}

}  // namespace asyncgrad::detail
#endif  // HWY_ONCE
