// dropout, with the CPU's random words, so that both drop the same elements. Its gradient is the same operation on dy.
#include "asyncgrad/backends/cuda/families.h"
#include "asyncgrad/backends/cuda/kernels/pack.cuh"
#include "asyncgrad/backends/cuda/kernels/philox.cuh"
#include "asyncgrad/backends/element_types.h"

namespace asyncgrad::detail::cuda {

namespace {

template <class T>
struct Dropout {
  std::uint64_t seed, first_block;
  T scale;
  std::uint32_t last_dropped;

  // A pack is a block's elements, or half of them.
  struct State {
    Words words;
    int next;
  };
  __device__ State begin(std::int64_t first) const {
    const int next = Pack<T>::size == 4 ? 0 : static_cast<int>(first % 4);
    return {philox(seed, first_block + static_cast<std::uint64_t>(first) / 4), next};
  }
  __device__ T value(State& state, T x) const {
    return state.words.word[state.next++] > last_dropped ? x * scale : T(0);
  }
};

void run_dropout(const KernelCall& call, int) {
  const auto& a = call.attributes<DropoutAttributes>();
  visit_floating(call.dtype(0), [&]<class T>(T) {
    map_packs(call, call.numel(0), Dropout<T>{a.seed, a.first_block, static_cast<T>(a.scale), a.last_dropped},
              call.data<T>(0), static_cast<const T*>(call.data<T>(1)));
  });
}

}  // namespace

constinit const Kernel kernels::dropout{.run = run_dropout};

}  // namespace asyncgrad::detail::cuda
