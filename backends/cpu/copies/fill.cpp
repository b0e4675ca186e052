// fill, arange and copy between types.
#include <cstddef>
#include <type_traits>

#include "asyncgrad/backends/cpu/copies/conversions.h"
#include "asyncgrad/backends/cpu/families.h"
#include "asyncgrad/backends/cpu/tiling.h"
#include "asyncgrad/backends/element_types.h"

namespace asyncgrad::detail {

namespace {

int output_tiles(const KernelCall& call) { return loop_tile_count(call.numel(0)); }

void run_fill(const KernelCall& call, int tile) {
  const Range range = loop_tile_range(call.numel(0), tile);
  visit_dtype(call.dtype(0), [&]<class T>(T) {
    T* const out = call.data<T>(0);
    std::fill(out + range.begin, out + range.end, number_as<T>(call.attributes<FillAttributes>().value));
  });
}

// start + i step, in double for floating types. Adding steps one after another would accumulate errors.
void run_arange(const KernelCall& call, int tile) {
  const Range range = loop_tile_range(call.numel(0), tile);
  const auto& attributes = call.attributes<ArangeAttributes>();
  visit_dtype(call.dtype(0), [&]<class T>(T) {
    T* const out = call.data<T>(0);
    for (std::int64_t i = range.begin; i < range.end; ++i) {
      if constexpr (std::is_integral_v<T>) {
        const auto first = static_cast<std::uint64_t>(attributes.start.integer), number = static_cast<std::uint64_t>(i);
        out[i] =
            static_cast<T>(first + number * static_cast<std::uint64_t>(attributes.step.integer));  // may wrap around
      } else {
        out[i] = converted<T>(attributes.start.floating + static_cast<double>(i) * attributes.step.floating);
      }
    }
  });
}

void run_copy(const KernelCall& call, int tile) {
  const Range range = loop_tile_range(call.numel(0), tile);
  if (range.begin == range.end) return;
  const auto bytes_before = [&](int operand) { return range.begin * call.element_bytes(operand); };
  conversion(call.dtype(0), call.dtype(1))(call.data<std::byte>(0) + bytes_before(0),
                                           call.data<std::byte>(1) + bytes_before(1), range.end - range.begin);
}

}  // namespace

constinit const Kernel cpu_kernels::fill{.run = run_fill, .tiles = output_tiles};
constinit const Kernel cpu_kernels::arange{.run = run_arange, .tiles = output_tiles};
constinit const Kernel cpu_kernels::copy{.run = run_copy, .tiles = output_tiles};

}  // namespace asyncgrad::detail
