// fill, arange and copies between types.
#include <algorithm>

#include "asyncgrad/backends/cuda/families.h"
#include "asyncgrad/backends/cuda/kernels/pack.cuh"

namespace asyncgrad::detail::cuda {

namespace {

// Each thread fills a pack. The last pack may be cut short.
template <class T>
struct Fill {
  T* out;
  T value;
  std::int64_t numel;
  bool is_aligned;

  __device__ void operator()(std::int64_t pack) const {
    constexpr int size = Pack<T>::size;
    const std::int64_t first = pack * size;
    if (is_aligned && first + size <= numel) {
      Pack<T> values;
      for (T& x : values.x) x = value;
      pack_at(out, pack) = values;
      return;
    }
    for (std::int64_t i = first; i < numel && i < first + size; ++i) out[i] = value;
  }
};

void run_fill(const KernelCall& call, int) {
  visit_dtype(call.dtype(0), [&]<class T>(T) {
    T* const out = call.data<T>(0);
    const T value = number_as<T>(call.attributes<FillAttributes>().value);
    const std::int64_t numel = call.numel(0);
    for_each(call, packs_of<T>(numel), Fill<T>{out, value, numel, is_aligned_for_packs(out)});
  });
}

// start + i step, in double for the floating types, so that errors do not add up along the way.
template <class T>
struct Arange {
  using Term = std::conditional_t<std::is_integral_v<T>, std::int64_t, double>;
  T* out;
  Term start, step;
  __device__ void operator()(std::int64_t i) const { out[i] = converted<T>(start + static_cast<Term>(i) * step); }
};

void run_arange(const KernelCall& call, int) {
  const auto& a = call.attributes<ArangeAttributes>();
  visit_dtype(call.dtype(0), [&]<class T>(T) {
    using Term = typename Arange<T>::Term;
    for_each(call, call.numel(0), Arange<T>{call.data<T>(0), number_as<Term>(a.start), number_as<Term>(a.step)});
  });
}

// Each thread converts some elements, of which those of the smaller type are moved by one access. The last ones may be
// fewer.
template <class To, class From>
struct Convert {
  static constexpr int size = 16 / std::min(sizeof(To), sizeof(From));

  To* out;
  const From* in;
  std::int64_t numel;
  bool are_aligned;

  __device__ void operator()(std::int64_t part) const {
    const std::int64_t first = part * size;
    if (are_aligned && first + size <= numel) {
      const auto from = elements_at<size>(in, part);
      Elements<To, size> to;
      for (int i = 0; i < size; ++i) to.x[i] = converted<To>(from.x[i]);
      elements_at<size>(out, part) = to;
      return;
    }
    for (std::int64_t i = first; i < numel && i < first + size; ++i) out[i] = converted<To>(in[i]);
  }
};

}  // namespace

void convert(const KernelCall& call) {
  visit_dtype(call.dtype(0), [&]<class To>(To) {
    visit_dtype(call.dtype(1), [&]<class From>(From) {
      if constexpr (!std::is_same_v<To, From>) {
        using Converting = Convert<To, From>;
        To* const out = call.data<To>(0);
        const From* const in = call.data<From>(1);
        const std::int64_t numel = call.numel(0), parts = (numel + Converting::size - 1) / Converting::size;
        for_each(call, parts, Converting{out, in, numel, is_aligned_for_packs(out) && is_aligned_for_packs(in)});
      }
    });
  });
}

constinit const Kernel kernels::fill{.run = run_fill};
constinit const Kernel kernels::arange{.run = run_arange};

}  // namespace asyncgrad::detail::cuda
