#include <algorithm>
#include <numeric>

#include "tests/backends/cuda/both_backends.h"

namespace asyncgrad::detail {

namespace {

template <class T>
void check(const Shape& in, const TransposeAttributes& attributes) {
  Shape out;
  for (int i = 0; i < in.rank(); ++i) out.append(in[attributes.axes[static_cast<std::size_t>(i)]]);
  SCOPED_TRACE(in.str() + " to " + out.str());
  BothBackends()
      .output<T>(out)
      .template random_input<T>(in)
      .run(Op::transpose, attributes)
      .template expect_same_bits<T>();
}

TEST(CudaTranspose, IsTheCpusForEveryOrderOfAxes) {
  for (const Shape& in : {Shape{}, Shape{5}, Shape{70, 33}, Shape{64, 64}, Shape{1, 40}, Shape{0, 3}, Shape{3, 40, 50},
                          Shape{2, 1, 37, 5}, Shape{3, 2, 4, 5, 2, 3}}) {
    TransposeAttributes attributes;
    std::iota(attributes.axes.begin(), attributes.axes.end(), std::int8_t{0});
    const auto begin = attributes.axes.begin(), end = begin + in.rank();
    do {
      check<float>(in, attributes);
      check<std::int64_t>(in, attributes);
    } while (std::next_permutation(begin, end));
  }
}

}  // namespace

}  // namespace asyncgrad::detail
