// Runs kernels of a backend, the CPU's by default, on arrays of their own, without an engine.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <random>
#include <vector>

#include "asyncgrad/core/backend/kernels.h"
#include "tests/support/sanitizer.h"

namespace asyncgrad::detail {

inline const Backend& cpu_backend() { return *make_backend(DeviceType::cpu); }

// An array in memory of exactly its size, so that a sanitizer sees what goes beyond.
class Array {
 public:
  Array(const Shape& shape, DType dtype) : shape(shape), dtype(dtype), bytes_(new std::byte[size_of(shape, dtype)]) {
    std::memset(bytes_.get(), 0xA5, size_of(shape, dtype));  // what nobody wrote should show
  }
  template <class T>
  Array(const Shape& shape, const std::vector<T>& values) : Array(shape, dtype_of<T>) {
    EXPECT_EQ(shape.numel(), static_cast<std::int64_t>(values.size()));
    if (!values.empty()) std::memcpy(bytes_.get(), values.data(), values.size() * sizeof(T));
  }

  template <class T>
  std::vector<T> values() const {
    EXPECT_EQ(dtype, dtype_of<T>);
    std::vector<T> values(static_cast<std::size_t>(shape.numel()));
    if (!values.empty()) std::memcpy(values.data(), bytes_.get(), values.size() * sizeof(T));
    return values;
  }
  View view(Access access) const { return {bytes_.get(), shape, dtype, access, Device()}; }

  Shape shape;
  DType dtype;

 private:
  static std::size_t size_of(const Shape& shape, DType dtype) {
    return static_cast<std::size_t>(shape.numel()) * size_bytes(dtype);
  }
  std::unique_ptr<std::byte[]> bytes_;
};

inline View written(const Array& array) { return array.view(Access::write); }
inline View updated(const Array& array) { return array.view(Access::update); }
inline View read(const Array& array) { return array.view(Access::read); }

struct AlignedDelete {
  static constexpr std::align_val_t alignment{64};
  void operator()(std::byte* bytes) const { ::operator delete(bytes, alignment); }
};

// Runs all tiles of a backend's kernel, the last one first. Returns how many there were. `launch` is what a device's
// kernel gets besides its call.
template <class Attributes>
int run_kernel(const Backend& backend, Op op, const std::vector<View>& views, const Attributes& attributes,
               const void* launch = nullptr) {
  const Kernel* kernel = &backend.kernels[static_cast<std::size_t>(op)];
  if constexpr (std::is_same_v<Attributes, ElementwiseAttributes>) kernel = &backend.elementwise[attributes.formula];
  KernelCall call{views.data(), static_cast<int>(views.size()), &attributes, nullptr, launch};
  std::unique_ptr<std::byte, AlignedDelete> scratch;  // of exactly its size, too
  if (kernel->scratch_bytes != nullptr) {
    const auto bytes = static_cast<std::size_t>(kernel->scratch_bytes(call));
    scratch.reset(static_cast<std::byte*>(::operator new(bytes, AlignedDelete::alignment)));
    // As numbers NaN, as indices out of range: nobody may read it unwritten. The thread sanitizer marks each byte, and
    // products have 32 MiB, of which they use little.
    std::memset(scratch.get(), 0xff, tests::looks_for_races ? std::min(bytes, std::size_t{1} << 20) : bytes);
    call.scratch = scratch.get();
  }
  if (kernel->prepare != nullptr) kernel->prepare(call);
  const int tiles = kernel->tiles != nullptr ? kernel->tiles(call) : 1;
  for (int tile = tiles; tile-- > 0;) kernel->run(call, tile);
  return tiles;
}

template <class Attributes>
int run_kernel(Op op, const std::vector<View>& views, const Attributes& attributes) {
  return run_kernel(cpu_backend(), op, views, attributes);
}

template <class T>
std::vector<T> random_values(std::int64_t count, unsigned seed, double low = -3, double high = 3) {
  std::mt19937_64 generator(seed);
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& value : values) value = static_cast<T>(std::uniform_real_distribution<double>(low, high)(generator));
  return values;
}

// Whether x is y within `ulps` units of precision of y, or of the larger `scale`; infinities and NaN must be the same.
template <class T>
bool is_close(T x, T y, double ulps, double scale = 0) {
  if constexpr (std::is_integral_v<T>) {
    return x == y;
  } else {
    if (y != y) return x != x;
    if (x == y) return true;
    if (std::abs(y) == std::numeric_limits<T>::infinity()) return false;
    const double unit =
        std::max({std::abs(static_cast<double>(y)), scale, static_cast<double>(std::numeric_limits<T>::min())});
    return std::abs(static_cast<double>(x) - static_cast<double>(y)) <= ulps * std::numeric_limits<T>::epsilon() * unit;
  }
}

template <class T>
void expect_close(const std::vector<T>& x, const std::vector<T>& y, double ulps, double scale = 0) {
  ASSERT_EQ(x.size(), y.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_TRUE(is_close(x[i], y[i], ulps, scale)) << "at " << i << ": " << x[i] << ", expected " << y[i];
  }
}

template <class T>
void expect_same_bits(const std::vector<T>& x, const std::vector<T>& y) {
  ASSERT_EQ(x.size(), y.size());
  if (x.empty()) return;
  EXPECT_EQ(std::memcmp(x.data(), y.data(), x.size() * sizeof(T)), 0);
}

}  // namespace asyncgrad::detail
