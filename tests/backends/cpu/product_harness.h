// Runs the kernels of matmul and dense on memory of the test's own, tile by tile.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "asyncgrad/core/backend/kernels.h"

namespace asyncgrad::detail {

enum class TileOrder { forwards, backwards, two_threads };

// The operands of one call, outputs first, and what runs it.
template <class T>
class ProductHarness {
 public:
  template <class Attributes>
  ProductHarness(Op op, const Attributes& attributes)
      : backend_(*make_backend(DeviceType::cpu)), kernel_(backend_.kernels[static_cast<std::size_t>(op)]) {
    static_assert(sizeof(Attributes) <= sizeof(attributes_));
    std::memcpy(attributes_, &attributes, sizeof(attributes));
  }

  // Outputs start as NaN, so that an element nobody writes shows. The data begin `skipped` elements into the memory.
  void output(const Shape& shape) {
    add(shape, std::vector<T>(size(shape), static_cast<T>(std::nan(""))), Access::write);
  }
  void input(const Shape& shape, std::vector<T> values, std::int64_t skipped = 0) {
    values.insert(values.begin(), static_cast<std::size_t>(skipped), T{});
    add(shape, std::move(values), Access::read, skipped);
  }

  void run(TileOrder order = TileOrder::forwards) {
    const KernelCall call = this->call(nullptr);
    if (kernel_.prepare) kernel_.prepare(call);
    const int tiles = this->tiles();
    if (order == TileOrder::two_threads) {
      std::thread odd([&] { run_tiles(1, tiles, 2); });
      run_tiles(0, tiles, 2);
      odd.join();
    } else if (order == TileOrder::backwards) {
      run_tiles(tiles - 1, -1, -1);
    } else {
      run_tiles(0, tiles, 1);
    }
  }
  int tiles() const {
    const KernelCall call = this->call(nullptr);
    return kernel_.tiles ? kernel_.tiles(call) : 1;
  }
  const std::vector<T>& values(int operand) const { return values_[static_cast<std::size_t>(operand)]; }

 private:
  static std::size_t size(const Shape& shape) { return static_cast<std::size_t>(shape.numel()); }

  void add(const Shape& shape, std::vector<T> values, Access access, std::int64_t skipped = 0) {
    values_.push_back(std::move(values));
    views_.push_back({.data = reinterpret_cast<std::byte*>(values_.back().data() + skipped),
                      .shape = shape,
                      .dtype = dtype_of<T>,
                      .access = access,
                      .device = Device()});
  }
  KernelCall call(std::byte* scratch) const {
    return {views_.data(), static_cast<int>(views_.size()), attributes_, scratch};
  }
  // first, first + step, … up to but not `end`.
  void run_tiles(int first, int end, int step) {
    KernelCall call = this->call(nullptr);
    const std::int64_t scratch_bytes = kernel_.scratch_bytes ? kernel_.scratch_bytes(call) : 0;
    std::vector<std::byte> scratch(static_cast<std::size_t>(scratch_bytes + 64));
    const auto address = reinterpret_cast<std::uintptr_t>(scratch.data());
    call.scratch = scratch.data() + (64 - address % 64);
    const std::uint64_t previous = backend_.enter_thread();
    for (int tile = first; step > 0 ? tile < end : tile > end; tile += step) kernel_.run(call, tile);
    backend_.leave_thread(previous);
  }

  const Backend& backend_;
  const Kernel& kernel_;
  alignas(16) std::byte attributes_[64];
  std::vector<std::vector<T>> values_;
  std::vector<View> views_;
};

// Numbers in [-1, 1], the same for the same seed.
template <class T>
std::vector<T> numbers(const Shape& shape, std::uint32_t seed) {
  std::vector<T> values(static_cast<std::size_t>(shape.numel()));
  std::uint32_t state = seed * 2654435761U + 1;
  for (T& value : values) {
    state = state * 1664525U + 1013904223U;
    value = static_cast<T>(static_cast<double>(state >> 8) / (1 << 23) - 1);
  }
  return values;
}

struct ReferenceProduct {
  std::int64_t m, n, k;
  bool transpose_x = false, transpose_w = false;
};
// x w (+ bias, relu), summed in double. The thread sanitizer leaves it out, because one thread alone computes it, and
// it would take most of the time of the tests of products.
template <class T>
__attribute__((no_sanitize("thread"))) std::vector<double> reference_product(const ReferenceProduct& p,
                                                                             const std::vector<T>& x,
                                                                             const std::vector<T>& w,
                                                                             const std::vector<T>& bias = {},
                                                                             bool relu = false) {
  std::vector<double> out(static_cast<std::size_t>(p.m * p.n));
  const T* const x_data = x.data();
  const T* const w_data = w.data();
  for (std::int64_t i = 0; i < p.m; ++i) {
    for (std::int64_t j = 0; j < p.n; ++j) {
      double sum = bias.empty() ? 0.0 : static_cast<double>(bias[static_cast<std::size_t>(j)]);
      for (std::int64_t l = 0; l < p.k; ++l) {
        sum += static_cast<double>(x_data[p.transpose_x ? l * p.m + i : i * p.k + l]) *
               static_cast<double>(w_data[p.transpose_w ? j * p.k + l : l * p.n + j]);
      }
      out[static_cast<std::size_t>(i * p.n + j)] = relu ? std::max(sum, 0.0) : sum;
    }
  }
  return out;
}

// The largest error of a sum of k products of numbers in [-1, 1], where each step rounds a partial sum of about sqrt(k)
// at most.
template <class T>
double product_tolerance(std::int64_t k) {
  return 4 * static_cast<double>(std::numeric_limits<T>::epsilon()) * static_cast<double>(k + 2);
}

// The largest |a - b|; infinity if one is NaN.
template <class T>
double largest_difference(const std::vector<T>& a, const std::vector<double>& b) {
  double largest = a.size() == b.size() ? 0.0 : INFINITY;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const double difference = std::abs(static_cast<double>(a[i]) - b[i]);
    largest = difference <= largest ? largest : std::isnan(difference) ? INFINITY : difference;
  }
  return largest;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

}  // namespace asyncgrad::detail
