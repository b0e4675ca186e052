#include "asyncgrad/core/math_mode.h"

#include "tests/autograd/support.h"

namespace asyncgrad::tests {
namespace {

class MathModes : public testing::Test {
 protected:
  ~MathModes() override { set_math_mode(MathMode::float32); }
};

// 1 + 2^-8 lies between two numbers of bf16 and goes to the even one, 1.
constexpr float between = 1.00390625F;

TEST_F(MathModes, Float32IsTheDefault) {
  EXPECT_EQ(math_mode(), MathMode::float32);
  EXPECT_EQ(matmul(full({1, 1}, between), ones({1, 1})).item<float>(), between);
}

TEST_F(MathModes, TheModeOfTheCallHolds) {
  const Tensor x = full({40, 300}, between), w = ones({300, 50}), b = full({50}, between);
  set_math_mode(MathMode::bf16);
  EXPECT_EQ(math_mode(), MathMode::bf16);
  const Tensor product = matmul(x, w), layer = dense(x, w, b);
  set_math_mode(MathMode::float32);
  EXPECT_EQ(product.to_vector<float>(), full({40, 50}, 300.0F).to_vector<float>());
  EXPECT_EQ(layer.to_vector<float>(), full({40, 50}, 300.0F + between).to_vector<float>());
  EXPECT_EQ(matmul(x, w).to_vector<float>(), full({40, 50}, 300 * between).to_vector<float>());
}

TEST_F(MathModes, Tf32IsFloat32OnACpu) {
  const Tensor x = full({40, 300}, between), w = ones({300, 50});
  const std::vector<float> product = matmul(x, w).to_vector<float>();
  set_math_mode(MathMode::tf32);
  EXPECT_EQ(matmul(x, w).to_vector<float>(), product);
}

TEST_F(MathModes, GradientsFollowTheModeOfBackward) {
  for (const bool by_dense : {false, true}) {
    for (const bool transposed : {false, true}) {
      if (by_dense && transposed) continue;
      const MatmulOptions options{.transpose_x = transposed, .transpose_w = transposed};
      const Tensor x = parameter(full({4, 4}, between)), w = parameter(full({4, 4}, between));
      const Tensor loss = sum(by_dense ? dense(x, w, Tensor(), relu) : matmul(x, w, options));
      set_math_mode(MathMode::bf16);
      loss.backward();
      set_math_mode(MathMode::float32);
      EXPECT_EQ(loss.item<float>(), 64 * between * between);
      EXPECT_EQ(x.grad().to_vector<float>(), full({4, 4}, 4.0F).to_vector<float>());
      EXPECT_EQ(w.grad().to_vector<float>(), full({4, 4}, 4.0F).to_vector<float>());
    }
  }
}

TEST_F(MathModes, Float64IsNotAffected) {
  set_math_mode(MathMode::bf16);
  const Tensor x = random64({5, 7}, 1), w = random64({7, 3}, 2);
  const std::vector<double> bf16 = values(matmul(x, w));
  set_math_mode(MathMode::float32);
  EXPECT_EQ(bf16, values(matmul(x, w)));
}

}  // namespace
}  // namespace asyncgrad::tests
