// Calls of attention.
#include <limits>

#include "tests/backends/cuda/device_cases.h"

namespace asyncgrad::tests {

namespace {

struct Sizes {
  Shape leading;
  std::int64_t queries, keys, features, values;
};

// The result, and the gradients of q, k and v. A mask hides some keys and adds to the scores of others.
Results attention(Inputs& in, const Sizes& s, AttentionOptions options, const Shape& mask = {}) {
  const auto matrices = [&](std::int64_t rows, std::int64_t columns) {
    Shape shape = s.leading;
    shape.append(rows);
    shape.append(columns);
    return in.parameter(shape, -2, 2);
  };
  const Tensor q = matrices(s.queries, s.features), k = matrices(s.keys, s.features), v = matrices(s.keys, s.values);
  if (mask.rank() > 0) {
    const Tensor noise = in(mask, -1, 1);
    options.mask = masked_fill(noise, less(noise, -0.7), -std::numeric_limits<double>::infinity());
  }
  return with_gradients(in, scaled_dot_product_attention(q, k, v, options), {q, k, v});
}

}  // namespace

DeviceCases attention_cases() {
  using detail::Op;
  const auto of = [](const char* name, const Sizes& sizes, const AttentionOptions& options, const Shape& mask = {}) {
    return DeviceCase{name,
                      {Op::attention, Op::attention_grad},
                      [=](Inputs& in) { return attention(in, sizes, options, mask); },
                      2e-5};
  };
  return {
      of("attention", {{2}, 70, 130, 33, 7}, {}),
      of("attention_of_one_feature", {{2, 3}, 5, 7, 1, 1}, {.scale = 0.7}),
      of("attention_causal", {{2}, 130, 130, 16, 16}, {.causal = true}),
      of("attention_causal_of_few_keys", {{}, 140, 70, 8, 8}, {.causal = true}),
      of("attention_causal_of_few_queries", {{2}, 3, 150, 8, 8}, {.causal = true}),
      of("attention_masked", {{2, 3}, 5, 66, 4, 4}, {}, {5, 66}),
      of("attention_masked_by_key", {{2, 3}, 20, 70, 4, 4}, {}, {2, 1, 1, 70}),
      of("attention_masked_by_query", {{3}, 70, 20, 4, 4}, {}, {70, 1}),
      of("attention_masked_causal", {{2, 2}, 66, 66, 4, 4}, {.causal = true}, {2, 1, 66, 66}),
      of("attention_masked_by_one_axis", {{2}, 5, 9, 4, 4}, {}, {9}),
      of("attention_of_many_features", {{}, 5, 6, 100, 70}, {}),
      of("attention_of_most_features", {{}, 70, 5, 256, 256}, {.causal = true}),
      of("attention_of_more_features", {{}, 3, 5, 270, 520}, {}),
      of("attention_of_no_keys", {{2}, 3, 0, 4, 5}, {}),
      of("attention_of_no_queries", {{2}, 0, 3, 4, 5}, {}),
      of("attention_of_no_values", {{2}, 3, 4, 5, 0}, {}),
  };
}

}  // namespace asyncgrad::tests
