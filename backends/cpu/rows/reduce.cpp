// prod, any and all along an axis, and the two parts of prod for few long lines.
#include <algorithm>
#include <cstring>

#include "asyncgrad/backends/cpu/families.h"
#include "asyncgrad/backends/cpu/rows/line_blocks.h"
#include "asyncgrad/backends/cpu/rows/prod_loops.h"
#include "asyncgrad/backends/element_types.h"

namespace asyncgrad::detail {

namespace {

void run_prod(const KernelCall& call, int tile) {
  visit_arithmetic(call.dtype(0), [&]<class T>(T) {
    const StripLoops<T>& loops = prod_loops().of<T>().whole;
    reduce_strips<T>(call, tile, loops.rows, loops.columns);
  });
}

void run_prod_parts(const KernelCall& call, int tile) {
  visit_arithmetic(call.dtype(1), [&]<class T>(T) {
    const ProdLoops<T>& loops = prod_loops().of<T>();
    each_block<T>(call, tile, loops.row_block, loops.column_block);
  });
}
void run_prod_of_parts(const KernelCall& call, int tile) {
  visit_arithmetic(call.dtype(0), [&]<class T>(T) {
    combine_parts<T>(
        call, tile, 1, [](Total<T> x, Total<T> y) { return x * y; },
        [](Total<T> product) { return static_cast<T>(product); });
  });
}

// --- any and all, of bytes that are 0 or 1: they look for one that decides.

template <std::uint8_t decisive>
void run_decision(const KernelCall& call, int tile) {
  reduce_strips<std::uint8_t>(
      call, tile,
      [](const Strip<std::uint8_t>& strip, std::uint8_t* out) {
        const auto n = static_cast<std::size_t>(strip.columns);
        for (std::int64_t row = 0; row < strip.rows; ++row) {
          const std::uint8_t* const x = strip.data + row * strip.stride;
          const bool is_there = n > 0 && std::memchr(x, decisive, n) != nullptr;
          out[row] = is_there ? decisive : 1 - decisive;
        }
      },
      [](const Strip<std::uint8_t>& strip, std::uint8_t* out) {
        std::fill_n(out, strip.columns, static_cast<std::uint8_t>(1 - decisive));
        for (std::int64_t row = 0; row < strip.rows; ++row) {
          const std::uint8_t* const x = strip.data + row * strip.stride;
          for (std::int64_t j = 0; j < strip.columns; ++j) {
            out[j] = static_cast<std::uint8_t>(decisive == 1 ? out[j] | x[j] : out[j] & x[j]);
          }
        }
      });
}

}  // namespace

constinit const Kernel cpu_kernels::prod{.run = run_prod, .tiles = strip_tiles<ReduceAttributes>};
constinit const Kernel cpu_kernels::prod_parts{.run = run_prod_parts, .tiles = line_block_tiles};
constinit const Kernel cpu_kernels::prod_of_parts{.run = run_prod_of_parts, .tiles = strip_tiles<ReduceAttributes>};
constinit const Kernel cpu_kernels::any{.run = run_decision<1>, .tiles = strip_tiles<ReduceAttributes>};
constinit const Kernel cpu_kernels::all{.run = run_decision<0>, .tiles = strip_tiles<ReduceAttributes>};

}  // namespace asyncgrad::detail
