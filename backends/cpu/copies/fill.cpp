// fill, arange and copy between types.
#include <cstring>
#include <type_traits>

#include "asyncgrad/backends/cpu/families.h"
#include "asyncgrad/backends/cpu/tiling.h"
#include "asyncgrad/backends/element_types.h"

namespace asyncgrad::detail {

namespace {

int output_tiles(const KernelCall& call) { return tile_count(call.numel(0), tile_elements); }

void run_fill(const KernelCall& call, int tile) {
  const Range range = tile_range(call.numel(0), tile_elements, tile);
  visit_dtype(call.dtype(0), [&]<class T>(T) {
    T* const out = call.data<T>(0);
    std::fill(out + range.begin, out + range.end, number_as<T>(call.attributes<FillAttributes>().value));
  });
}

// start + i step, in double for floating types. Adding steps one after another would accumulate errors.
void run_arange(const KernelCall& call, int tile) {
  const Range range = tile_range(call.numel(0), tile_elements, tile);
  const auto& attributes = call.attributes<ArangeAttributes>();
  visit_dtype(call.dtype(0), [&]<class T>(T) {
    T* const out = call.data<T>(0);
    for (std::int64_t i = range.begin; i < range.end; ++i) {
      if constexpr (std::is_integral_v<T>) {
        out[i] = static_cast<T>(attributes.start.integer + i * attributes.step.integer);
      } else {
        out[i] = converted<T>(attributes.start.floating + static_cast<double>(i) * attributes.step.floating);
      }
    }
  });
}

template <class To, class From>
void copy_range(To* out, const From* in, Range range) {
  for (std::int64_t i = range.begin; i < range.end; ++i) out[i] = converted<To>(in[i]);
}

void run_copy(const KernelCall& call, int tile) {
  const Range range = tile_range(call.numel(0), tile_elements, tile);
  visit_dtype(call.dtype(0), [&]<class To>(To) {
    visit_dtype(call.dtype(1), [&]<class From>(From) {
      if constexpr (std::is_same_v<To, From>) {
        if (range.begin == range.end) return;
        std::memmove(call.data<To>(0) + range.begin, call.data<From>(1) + range.begin,
                     static_cast<std::size_t>(range.end - range.begin) * sizeof(To));
      } else {
        // Bytes of 0 or 1, which the compiler converts several at a time.
        using Read = std::conditional_t<std::is_same_v<From, bool>, std::uint8_t, From>;
        copy_range(call.data<To>(0), call.data<Read>(1), range);
      }
    });
  });
}

}  // namespace

constinit const Kernel cpu_kernels::fill{.run = run_fill, .tiles = output_tiles};
constinit const Kernel cpu_kernels::arange{.run = run_arange, .tiles = output_tiles};
constinit const Kernel cpu_kernels::copy{.run = run_copy, .tiles = output_tiles};

}  // namespace asyncgrad::detail
