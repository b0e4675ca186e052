// Tables of functions that are compiled once for every instruction set. Internal.
//
// The header of a family declares
//   const FloatingLoops<NormRows>& norm_rows();
// which gives the functions for the best instruction set that this processor has: norm_rows().of<float>().forward(…).
// Its source is compiled once for every instruction set (highway_targets.h). It defines, for each of them, a function
// of the same name that returns the table by value, and, once, the one above with HWY_EXPORT and HWY_DYNAMIC_DISPATCH.
#pragma once

#include <cstdint>

namespace asyncgrad::detail {

// Loops<T> is a struct of functions for elements of the type T; there is one for each of some types.
template <template <class> class Loops, class... Types>
struct LoopsOfTypes : Loops<Types>... {
  template <class T>
  const Loops<T>& of() const {
    return *this;
  }
};
template <template <class> class Loops>
using FloatingLoops = LoopsOfTypes<Loops, float, double>;
template <template <class> class Loops>
using ArithmeticLoops = LoopsOfTypes<Loops, float, double, std::int64_t>;

}  // namespace asyncgrad::detail
