// What the comparison of convolutions with the CPU's, in device_test.cpp, does not see.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "asyncgrad/asyncgrad.h"
#include "asyncgrad/backends/cuda/kernels/product.h"
#include "tests/backends/cuda/both_backends.h"
#include "tests/backends/cuda/emulator/cublaslt.h"
#include "tests/backends/cuda/fake_gpus.h"

namespace asyncgrad::tests {

namespace {

// A mode has products of its own.
TEST(CudaConv, HasTheMathModeOfItsCall) {
  FakeGpus gpus;
  const Tensor x = ones({1, 2, 5, 5}, {.device = "cuda"}), w = ones({9, 2, 3, 3}, {.device = "cuda"});
  emulator::set_faults({});
  const auto products_after = [&](MathMode mode) {
    const detail::MathModeScope scope(mode);
    conv2d(x, w).wait();
    return emulator::cublaslt_calls()["create_description"];
  };
  EXPECT_EQ(products_after(MathMode::float32), 1);
  EXPECT_EQ(products_after(MathMode::tf32), 2);
  EXPECT_EQ(products_after(MathMode::float32), 2);
}

std::int64_t scratch_bytes(detail::Op op, DType dtype, const Shape& out, const Shape& x, const Shape& w,
                           std::int64_t groups) {
  const auto view = [dtype](const Shape& shape) {
    return detail::View{nullptr, shape, dtype, detail::Access::read, Device()};
  };
  const detail::View views[] = {view(out), view(x), view(w)};
  const detail::ConvAttributes attributes{.groups = groups};
  return detail::cuda_backend().kernels[static_cast<std::size_t>(op)].scratch_bytes({views, 3, &attributes});
}

// However large the images are.
TEST(CudaConv, TakesLittleScratchMemory) {
  using detail::Op;
  for (const DType dtype : {float32, float64}) {
    for (const std::int64_t batch : {1, 64, 4096}) {
      for (const std::int64_t edge : {16, 512}) {
        for (const std::int64_t groups : {1, 4}) {
          const Shape x{batch, 64, edge, edge}, w{256, 64 / groups, 3, 3}, y{batch, 256, edge - 2, edge - 2};
          const std::int64_t most = detail::cuda::multiply_scratch_bytes + (std::int64_t{64} << 20);
          EXPECT_LE(scratch_bytes(Op::conv, dtype, y, x, w, groups), most);
          EXPECT_GT(scratch_bytes(Op::conv, dtype, y, x, w, groups), detail::cuda::multiply_scratch_bytes);
          EXPECT_LE(scratch_bytes(Op::conv_input, dtype, x, y, w, groups), most);
          const std::int64_t of_pieces = std::int64_t{12} << 20;  // their results, and what they round up
          EXPECT_LE(scratch_bytes(Op::conv_weight, dtype, w, x, y, groups), most + of_pieces);
        }
      }
    }
  }
}

// Though the products of a weight with few elements are cut into many pieces.
TEST(CudaConv, TakesLittleScratchMemoryForPieces) {
  const std::int64_t most = detail::cuda::multiply_scratch_bytes + (std::int64_t{80} << 20);
  for (const DType dtype : {float32, float64}) {
    const Shape x{16, 128, 256, 256}, w{1, 128, 3, 3}, y{16, 1, 256, 256};
    EXPECT_LE(scratch_bytes(detail::Op::conv_weight, dtype, w, x, y, 1), most);
    const Shape plain{1024, 1, 224, 224}, points{64, 1, 1, 1}, results{1024, 64, 224, 224};
    EXPECT_LE(scratch_bytes(detail::Op::conv_weight, dtype, points, plain, results, 1), most);
  }
}

// Of tiles, whose places would not be numbers of 32 bits, there are none.
TEST(CudaConv, ComputesHugePlanesDirectly) {
  const Shape x{1, 64, 50000, 50000}, w{256, 64, 3, 3}, y{1, 256, 49998, 49998};
  EXPECT_EQ(scratch_bytes(detail::Op::conv, float32, y, x, w, 1), 0);
  EXPECT_EQ(scratch_bytes(detail::Op::conv_input, float32, x, y, w, 1), 0);
}

}  // namespace

}  // namespace asyncgrad::tests
