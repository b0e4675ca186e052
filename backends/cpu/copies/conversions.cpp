// Compiled once for every instruction set: the compiler converts several elements at a time.
#include "asyncgrad/backends/cpu/copies/conversions.h"

#include <cstring>
#include <type_traits>

#include "asyncgrad/backends/cpu/highway_targets.h"
#include "asyncgrad/backends/element_types.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "asyncgrad/backends/cpu/copies/conversions.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace asyncgrad::detail::HWY_NAMESPACE {

// Bools are bytes of 0 or 1.
template <class T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;

template <class To, class From>
void convert(void* out, const void* in, std::int64_t n) {
  if constexpr (std::is_same_v<To, From>) {
    std::memmove(out, in, static_cast<std::size_t>(n) * sizeof(To));
  } else {
    auto* const to = static_cast<Stored<To>*>(out);
    const auto* const from = static_cast<const Stored<From>*>(in);
    for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<Stored<To>>(converted<To>(from[i]));
  }
}

Conversion conversion(DType to, DType from) {
  return visit_dtype(to, [&]<class To>(To) {
    return visit_dtype(from, []<class From>(From) -> Conversion { return convert<To, From>; });
  });
}

}  // namespace asyncgrad::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace asyncgrad::detail {

HWY_EXPORT(conversion);

Conversion conversion(DType to, DType from) { return HWY_DYNAMIC_DISPATCH(conversion)(to, from); }

}  // namespace asyncgrad::detail
#endif  // HWY_ONCE
