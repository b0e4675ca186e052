// Products by the stand-in of cuBLASLt, and our kernels beside it.
#include "asyncgrad/backends/cuda/kernels/product.h"

#include <gmock/gmock.h>

#include "asyncgrad/core/error.h"
#include "tests/backends/cuda/both_backends.h"
#include "tests/backends/cuda/emulator/cublaslt.h"

namespace asyncgrad::detail {

namespace {

namespace emulator = tests::emulator;

Shape stored(std::int64_t rows, std::int64_t columns, bool transposed) {
  return transposed ? Shape{columns, rows} : Shape{rows, columns};
}

struct Sizes {
  std::int64_t m, n, k;
};
const std::vector<Sizes> sizes = {{3, 5, 7}, {1, 4, 2}, {4, 1, 3}, {2, 2, 1}, {8, 8, 8}, {1, 1, 1}, {16, 4, 20}};

TEST(CudaMatmul, IsTheCpus) {
  for (const Sizes& s : sizes) {
    for (const bool transpose_x : {false, true}) {
      for (const bool transpose_w : {false, true}) {
        for_floating([&]<class T>(T) {
          BothBackends()
              .output<T>({s.m, s.n})
              .template random_input<T>(stored(s.m, s.k, transpose_x))
              .template random_input<T>(stored(s.k, s.n, transpose_w))
              .run(Op::matmul, MatmulAttributes{.transpose_x = transpose_x, .transpose_w = transpose_w})
              .template expect_close<T>(8, 20);
        });
      }
    }
  }
}

TEST(CudaMatmul, OfMatricesIsTheCpus) {
  // out, x and w, and the calls of cuBLASLt.
  const std::vector<std::pair<std::array<Shape, 3>, int>> cases = {
      {{Shape{3, 4, 5}, Shape{3, 4, 2}, Shape{3, 2, 5}}, 1},
      {{Shape{3, 4, 5}, Shape{4, 2}, Shape{3, 2, 5}}, 1},
      {{Shape{3, 4, 5}, Shape{3, 4, 2}, Shape{2, 5}}, 1},
      {{Shape{2, 3, 4, 4}, Shape{2, 3, 4, 4}, Shape{2, 3, 4, 4}}, 1},
      {{Shape{2, 3, 4, 4}, Shape{2, 1, 4, 4}, Shape{3, 4, 4}}, 2},
      {{Shape{2, 3, 4, 4}, Shape{3, 4, 4}, Shape{2, 1, 4, 4}}, 2},
      {{Shape{0, 4, 5}, Shape{0, 4, 2}, Shape{2, 5}}, 0}};
  for (const auto& [shapes, calls] : cases) {
    const auto& [out, x, w] = shapes;
    SCOPED_TRACE(x.str() + " times " + w.str());
    emulator::set_faults({});
    BothBackends()
        .output<float>(out)
        .random_input<float>(x)
        .random_input<float>(w)
        .run(Op::matmul, MatmulAttributes())
        .expect_close<float>(8, 20);
    EXPECT_EQ(emulator::cublaslt_calls()["matmul"], calls);
  }
}

TEST(CudaDense, IsTheCpus) {
  for (const Sizes& s : sizes) {
    for (const bool has_bias : {false, true}) {
      for (const ActivationKind activation : {ActivationKind::none, ActivationKind::relu}) {
        for_floating([&]<class T>(T) {
          BothBackends both;
          both.output<T>({s.m, s.n}).template random_input<T>({s.m, s.k}).template random_input<T>({s.k, s.n});
          if (has_bias) both.random_input<T>({s.n});
          both.run(Op::dense, DenseAttributes{.activation = activation, .has_bias = has_bias});
          both.expect_close<T>(8, 20);
        });
      }
    }
  }
}

template <class T>
Array small_integers(const Shape& shape, int seed) {
  std::vector<T> values;
  for (std::int64_t i = 0; i < shape.numel(); ++i) values.emplace_back(static_cast<float>((i * 7919 + seed) % 17 - 8));
  return {shape, values};
}
// x and w are small integers, whose sums are exact in every order.
template <class T>
std::vector<T> product_of_integers(const Backend& backend, const Shape& out_shape, const Shape& x, const Shape& w,
                                   const MatmulAttributes& attributes) {
  const Array out(out_shape, dtype_of<T>), a = small_integers<T>(x, 1), b = small_integers<T>(w, 2);
  std::shared_ptr<cuda::Planner> planner;
  const cuda::Launch launch{nullptr, nullptr, planner};
  run_kernel(backend, Op::matmul, {written(out), read(a), read(b)}, attributes, &launch);
  return out.values<T>();
}

// Also by our own kernel, where cuBLASLt has none.
TEST(CudaMatmul, OfBfloat16IsTheCpusRounded) {
  std::vector<Sizes> all = sizes;
  all.push_back({70, 130, 40});
  all.push_back({2, 3, 0});
  for (const auto& [m, n, k] : all) {
    for (const bool transpose_x : {false, true}) {
      for (const bool transpose_w : {false, true}) {
        const Shape of_x = stored(m, k, transpose_x), x{2, of_x[0], of_x[1]}, w = stored(k, n, transpose_w),
                    out{2, m, n};
        const MatmulAttributes attributes{.transpose_x = transpose_x, .transpose_w = transpose_w};
        std::vector<BFloat16> expected;
        for (const float y : product_of_integers<float>(cpu_backend(), out, x, w, attributes)) expected.emplace_back(y);
        for (const bool has_no_bf16 : {false, true}) {
          SCOPED_TRACE(x.str() + " times " + w.str());
          emulator::set_faults({.has_no_bf16 = has_no_bf16});
          expect_same_bits(product_of_integers<BFloat16>(cuda_backend(), out, x, w, attributes), expected);
          EXPECT_EQ(emulator::cublaslt_calls()["matmul"], has_no_bf16 || k == 0 ? 0 : 1);
        }
      }
    }
  }
  emulator::set_faults({});
}

// GPUs before 8.0 have no bf16 and tf32.
TEST(CudaDense, ComputesInFloat32WhatCublasLtRefuses) {
  for (const MathMode math : {MathMode::bf16, MathMode::tf32}) {
    emulator::set_faults({.has_no_bf16 = true});
    std::shared_ptr<cuda::Planner> planner;
    const cuda::Launch launch{nullptr, nullptr, planner};
    const Array out({4, 4}, float32), x({4, 4}, std::vector<float>(16, 1)), bias({4}, std::vector<float>(4, 3));
    const std::vector<View> operands{written(out), read(x), read(x), read(bias)};
    run_kernel(cuda_backend(), Op::dense, operands, DenseAttributes{.has_bias = true, .math = math}, &launch);
    EXPECT_EQ(out.values<float>(), std::vector<float>(16, 7));
    EXPECT_EQ(emulator::cublaslt_calls()["get_heuristic"], 3) << "with the bias, without it, in float32 with the bias";
  }
  emulator::set_faults({});
}

// The second call of one shape has a plan, and a bias at another place.
TEST(CudaDense, AddsTheBiasOfItsCall) {
  const std::vector<float> zeros(4, 0), x(16, 0);
  for (const float bias : {1.0F, 2.0F}) {
    BothBackends both;
    both.output<float>({4, 4}).input({4, 4}, x).input({4, 4}, x).input({4}, std::vector<float>(4, bias));
    both.run(Op::dense, DenseAttributes{.has_bias = true});
    EXPECT_EQ(both.cuda_values<float>(), std::vector<float>(16, bias));
  }
}

// Products whose operands begin anywhere.
TEST(CudaDense, NeedsNoAlignment) {
  for (const std::size_t skipped : {0, 1, 2, 3}) {  // whose data begin an element late
    std::vector<Array> arrays;
    std::vector<View> operands;
    for (const Shape& shape : {Shape{4, 4}, Shape{4, 4}, Shape{4, 4}, Shape{4}}) {
      arrays.emplace_back(Shape{shape.numel() + 1}, std::vector<float>(static_cast<std::size_t>(shape.numel()) + 1, 1));
      operands.push_back(read(arrays.back()));
      operands.back().shape = shape;
    }
    operands[0].access = Access::write;
    operands[skipped].data += sizeof(float);
    run_on_cuda(Op::dense, operands, DenseAttributes{.has_bias = true});
    std::vector<float> expected(17, 5);
    expected[skipped == 0 ? 0 : 16] = 1;
    EXPECT_EQ(arrays[0].values<float>(), expected);
  }
}

// As cuBLASLt has its own algorithms for each device, it may have none that adds a bias.
TEST(CudaDense, AddsABiasThatCublasLtRefuses) {
  for (const bool has_no_epilogue : {false, true}) {
    emulator::set_faults({.has_no_epilogue = has_no_epilogue});
    std::shared_ptr<cuda::Planner> planner;
    const cuda::Launch launch{nullptr, nullptr, planner};
    const Array out({4, 4}, float32), x({4, 4}, std::vector<float>(16, 1)), bias({4}, std::vector<float>(4, 3));
    const std::vector<View> operands{written(out), read(x), read(x), read(bias)};
    for (int repeat = 0; repeat < 3; ++repeat) {
      run_kernel(cuda_backend(), Op::dense, operands, DenseAttributes{.has_bias = true}, &launch);
      EXPECT_EQ(out.values<float>(), std::vector<float>(16, 7));
    }
    EXPECT_EQ(emulator::cublaslt_calls()["get_heuristic"], has_no_epilogue ? 2 : 1) << "the plan is kept";
  }
  emulator::set_faults({});
}

// Every call of cuBLASLt fails, one at a time.
TEST(CudaProducts, SayWhatFailed) {
  const auto multiply = [] {
    const Array out({2, 5}, float32), x({2, 3}, std::vector<float>(6, 1)), w({3, 5}, std::vector<float>(15, 1));
    std::shared_ptr<cuda::Planner> planner;
    const cuda::Launch launch{nullptr, nullptr, planner};
    run_kernel(cuda_backend(), Op::matmul, {written(out), read(x), read(w)}, MatmulAttributes(), &launch);
    return out.values<float>();
  };
  const int before = emulator::cublaslt_objects();
  emulator::set_faults({});
  EXPECT_EQ(multiply(), std::vector<float>(10, 3));
  for (const auto& [function, count] : emulator::cublaslt_calls()) {
    if (function.starts_with("destroy")) continue;
    for (int index = 0; index < count; ++index) {
      SCOPED_TRACE(function + " " + std::to_string(index));
      emulator::set_faults({.function = function, .index = index});
      EXPECT_THAT(multiply, testing::ThrowsMessage<Error>(testing::AllOf(
                                testing::StartsWith("[matmul] cuBLASLt answers CUBLAS_STATUS_INTERNAL_ERROR"),
                                testing::HasSubstr("operands (2, 3) and (3, 5)"))));
      EXPECT_EQ(emulator::cublaslt_objects(), before);
    }
  }
  emulator::set_faults({});
}

// cuBLASLt gets no bias that is not aligned, and our own kernel adds it.
TEST(CudaProduct, LeavesABiasOutThatIsNotAligned) {
  const Array out({2, 3}, float32), x({2, 4}, float32), w({4, 3}, float32), bias({4}, float32);
  std::vector<View> operands{written(out), read(x), read(w), read(bias)};
  operands[3].shape = {3};
  const DenseAttributes attributes{.has_bias = true};
  const KernelCall call{operands.data(), 4, &attributes};
  EXPECT_TRUE(cuda::dense_product(call).is_aligned);
  EXPECT_TRUE(cuda::dense_product(call).has_bias);
  operands[3].data += 4;
  EXPECT_FALSE(cuda::dense_product(call).is_aligned);
  EXPECT_FALSE(cuda::dense_product(call).has_bias);
}

TEST(CudaProduct, FinishesInPlace) {
  const Array out({2, 3}, std::vector<float>{1, -2, 3, -4, 5, -6});
  const std::vector<float> bias = {1, 1, -10};
  const std::vector<View> operands{written(out)};
  cuda::finish_dense({operands.data(), 1, nullptr, nullptr, &at_once()}, bias.data(), ActivationKind::relu, false);
  EXPECT_EQ(out.values<float>(), (std::vector<float>{2, 0, 0, 0, 6, 0}));
}

// Products without elements and sums without terms need no cuBLASLt.
TEST(CudaProduct, OfNothingIsTheCpus) {
  for_floating([]<class T>(T) {
    BothBackends()
        .output<T>({2, 3})
        .template random_input<T>({2, 0})
        .template random_input<T>({0, 3})
        .run(Op::matmul, MatmulAttributes())
        .template expect_same_bits<T>();
    for (const ActivationKind activation : {ActivationKind::none, ActivationKind::relu}) {
      BothBackends()
          .output<T>({2, 3})
          .template random_input<T>({2, 0})
          .template random_input<T>({0, 3})
          .template random_input<T>({3})
          .run(Op::dense, DenseAttributes{.activation = activation, .has_bias = true})
          .template expect_same_bits<T>();
    }
    BothBackends()
        .output<T>({0, 3})
        .template random_input<T>({0, 2})
        .template random_input<T>({2, 3})
        .run(Op::matmul, MatmulAttributes())
        .template expect_same_bits<T>();
  });
}

TEST(CudaProduct, RefusesIntegers) {
  const Array out({1, 1}, int64), x({1, 1}, int64), w({1, 1}, int64);
  const std::vector<View> operands{written(out), read(x), read(w)};
  EXPECT_THAT([&] { run_on_cuda(Op::matmul, operands, MatmulAttributes()); },
              testing::ThrowsMessage<Error>("[matmul] is not for int64"));
}

TEST(CudaDenseGrad, IsTheCpus) {
  for (const Shape& shape : {Shape{5, 3}, Shape{200, 70}, Shape{3000, 1}, Shape{9000, 2}, Shape{0, 4}}) {
    SCOPED_TRACE(shape.str());
    for (const ActivationKind activation : {ActivationKind::none, ActivationKind::relu}) {
      for_floating([&]<class T>(T) {
        BothBackends both;
        both.output<T>(shape).template output<T>({shape[1]});
        both.random_input<T>(shape).template random_input<T>(shape);
        both.run(Op::dense_grad, DenseAttributes{.activation = activation, .has_bias = true});
        both.expect_same_bits<T>(0);
        both.expect_close<T>(16, 0.1 * static_cast<double>(shape[0]) + 1, 1);
        BothBackends()
            .output<T>(shape)
            .template random_input<T>(shape)
            .template random_input<T>(shape)
            .run(Op::dense_grad, DenseAttributes{.activation = activation})
            .template expect_same_bits<T>();
      });
    }
  }
}

}  // namespace

}  // namespace asyncgrad::detail
