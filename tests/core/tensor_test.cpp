#include "asyncgrad/core/tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <span>
#include <sstream>
#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "tests/support/message_of.h"

namespace asyncgrad {
namespace {

using testing::StartsWith;
using tests::message_of;

struct Member {
  const char* name;
  void (*call)(Tensor& nothing);
};

class EmptyTensor : public testing::TestWithParam<Member> {};
TEST_P(EmptyTensor, ThrowsNamingTheOperation) {
  Tensor nothing;
  EXPECT_EQ(message_of([&] { GetParam().call(nothing); }),
            std::string("[") + GetParam().name +
                "] a tensor that holds nothing, as Tensor{} does; assign one with values to it first");
}

const Member members[] = {
    {"shape", [](Tensor& t) { static_cast<void>(t.shape()); }},
    {"shape", [](Tensor& t) { static_cast<void>(t.size(0)); }},
    {"dtype", [](Tensor& t) { static_cast<void>(t.dtype()); }},
    {"device", [](Tensor& t) { static_cast<void>(t.device()); }},
    {"wait", [](Tensor& t) { t.wait(); }},
    {"is_ready", [](Tensor& t) { static_cast<void>(t.is_ready()); }},
    {"item", [](Tensor& t) { static_cast<void>(t.item<float>()); }},
    {"item", [](Tensor& t) { static_cast<void>(t.item()); }},
    {"reshape", [](Tensor& t) { static_cast<void>(t.reshape({1})); }},
    {"transpose", [](Tensor& t) { static_cast<void>(t.transpose()); }},
    {"slice", [](Tensor& t) { static_cast<void>(t.slice(0, 1)); }},
    {"to", [](Tensor& t) { static_cast<void>(t.to(float64)); }},
    {"to", [](Tensor& t) { static_cast<void>(t.to(Device())); }},
    {"clone", [](Tensor& t) { static_cast<void>(t.clone()); }},
    {"copy_", [](Tensor& t) { t.copy_(ones({1})); }},
    {"fill_", [](Tensor& t) { t.fill_(1); }},
    {"backward", [](Tensor& t) { t.backward(); }},
    {"requires_grad_", [](Tensor& t) { t.requires_grad_(); }},
    {"is_leaf", [](Tensor& t) { static_cast<void>(t.is_leaf()); }},
    {"detach", [](Tensor& t) { static_cast<void>(t.detach()); }},
};
INSTANTIATE_TEST_SUITE_P(Members, EmptyTensor, testing::ValuesIn(members));

TEST(EmptyTensorHandle, IsNotDefinedAndIsDestroyed) {
  Tensor nothing;
  const Tensor copy = nothing;
  EXPECT_FALSE(copy.defined());
  EXPECT_EQ(nothing.str(), "Tensor{}");
  for (void (*call)(Tensor&) :
       {+[](Tensor& t) { t += ones({1}); }, +[](Tensor& t) { t *= 2; }, +[](Tensor& t) { static_cast<void>(t.item()); },
        +[](Tensor& t) { static_cast<void>(t.to_vector<float>()); }, +[](Tensor& t) { static_cast<void>(t + 1); }}) {
    EXPECT_THAT(message_of([&] { call(nothing); }), testing::HasSubstr("a tensor that holds nothing"));
  }
}

TEST(Tensor, GivesBackTheValuesItWasMadeOf) {
  const std::vector<float> floats{1.1F, -0.0F, std::numeric_limits<float>::denorm_min(),
                                  std::numeric_limits<float>::infinity()};
  EXPECT_EQ(Tensor::from(floats, {2, 2}).to_vector<float>(), floats);
  const std::vector<double> doubles{1.1, std::numeric_limits<double>::denorm_min()};
  EXPECT_EQ(Tensor::from(doubles, {2}).to_vector<double>(), doubles);
  const std::vector<std::int64_t> integers{std::numeric_limits<std::int64_t>::min(), (std::int64_t{1} << 53) + 1};
  EXPECT_EQ(Tensor::from(integers, {2}).to_vector<std::int64_t>(), integers);
  EXPECT_EQ(Tensor::from<float>({}, {0, 3}).to_vector<float>(), std::vector<float>());
}

TEST(Tensor, HasCopiedWhenFromReturns) {
  std::vector<float> values(1000, 1.0F);
  const Tensor tensor = Tensor::from(values, {1000});
  values.assign(1000, 2.0F);
  EXPECT_EQ(tensor.to_vector<float>(), std::vector<float>(1000, 1.0F));
}

TEST(Tensor, IsFilledByAsManyValuesAsItHas) {
  EXPECT_EQ(message_of([] {
              static_cast<void>(Tensor::from<float>({1, 2, 3}, {2, 2}));
            }),
            "[from] 3 values do not fill the shape (2, 2) of 4");
  EXPECT_EQ(message_of([] { static_cast<void>(Tensor::from<float>({}, {})); }),
            "[from] 0 values do not fill the shape () of 1");
}

TEST(Tensor, ItemIsTheOnlyElement) {
  EXPECT_EQ(Tensor::from<std::int64_t>({(std::int64_t{1} << 53) + 1}, {}).item<std::int64_t>(),
            (std::int64_t{1} << 53) + 1);
  EXPECT_EQ(Tensor::from<float>({0.1F}, {1, 1}).item(), static_cast<double>(0.1F));
  EXPECT_EQ(Tensor::from<double>({0.1}, {}).item(), 0.1);
  EXPECT_EQ(message_of([] { static_cast<void>(ones({2}).item()); }),
            "[item] the tensor has 2 elements, shape (2); to_vector<T>() reads all of them");
  EXPECT_EQ(message_of([] { static_cast<void>(ones({0}).item()); }),
            "[item] the tensor has 0 elements, shape (0); to_vector<T>() reads all of them");
  EXPECT_EQ(message_of([] { static_cast<void>(ones({1}).item<double>()); }),
            "[item] the tensor is float32, not float64; x.to(ag::float64) converts it");
}

TEST(Tensor, IsReadAsItsType) {
  EXPECT_EQ(message_of([] { static_cast<void>(ones({2}).to_vector<std::int64_t>()); }),
            "[to_vector] the tensor is float32, not int64; x.to(ag::int64) converts it");
}

TEST(Tensor, CopiesShareAndAssignmentRebinds) {
  Tensor a = ones({2});
  Tensor b = a;
  const Tensor c = a.clone();
  a += 1;
  EXPECT_EQ(b.to_vector<float>(), (std::vector<float>{2, 2}));
  EXPECT_EQ(c.to_vector<float>(), (std::vector<float>{1, 1}));
  b = zeros({2});
  EXPECT_EQ(a.to_vector<float>(), (std::vector<float>{2, 2}));
  Tensor& itself = b;
  b = itself;
  EXPECT_EQ(b.to_vector<float>(), (std::vector<float>{0, 0}));
  const Tensor moved = std::move(a);
  EXPECT_FALSE(a.defined());  // NOLINT(bugprone-use-after-move): a moved handle holds nothing
  EXPECT_EQ(moved.to_vector<float>(), (std::vector<float>{2, 2}));
  Tensor large = zeros({1000, 1000});
  const std::int64_t before = memory_figures().serial_live_bytes;
  large = std::move(b);
  EXPECT_FALSE(b.defined());  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(before - memory_figures().serial_live_bytes, 4'000'000) << "what was assigned to is let go of at once";
  Tensor& same = large;
  large = std::move(same);
  EXPECT_TRUE(large.defined());
}

TEST(Tensor, OfMoreBytesThanThereAreAddressesIsRefusedAtTheCall) {
  EXPECT_THAT(message_of([] { static_cast<void>(zeros({std::int64_t{1} << 62})); }), StartsWith("[tensor] "));
}

TEST(TensorText, ShowsValuesShapeTypeAndDevice) {
  EXPECT_EQ(Tensor::from<double>({0.5}, {}).str(), "0.5\n() float64 on cpu");
  EXPECT_EQ(Tensor::from<float>({1, 2, 3, 4}, {2, 2}).str(), "[[1, 2],\n [3, 4]]\n(2, 2) float32 on cpu");
  EXPECT_EQ(ones({0}).str(), "[]\n(0) float32 on cpu");
  std::ostringstream out;
  out << ones({1});
  EXPECT_EQ(out.str(), "[1]\n(1) float32 on cpu");
}

TEST(TensorText, AbbreviatesLongAxes) {
  EXPECT_EQ(arange(0, 7).str(), "[0, 1, 2, 3, 4, 5, 6]\n(7) float32 on cpu");
  EXPECT_EQ(arange(0, 8).str(), "[0, 1, 2, …, 5, 6, 7]\n(8) float32 on cpu");
  EXPECT_EQ(arange(0, 100, 1, {.dtype = int64}).reshape({100, 1}).str(),
            "[[0],\n [1],\n [2],\n …,\n [97],\n [98],\n [99]]\n(100, 1) int64 on cpu");
}

TEST(TensorText, ShowsIntegersInFull) {
  EXPECT_EQ(Tensor::from<std::int64_t>({1234567890123456789}, {1}).str(), "[1234567890123456789]\n(1) int64 on cpu");
}

TEST(TensorFrom, TakesWhatAProgramHas) {
  const float array[] = {1, 2, 3};
  EXPECT_EQ(Tensor::from(array, {3}).to_vector<float>(), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(Tensor::from(std::array{1.5, 2.5}, {2}).to_vector<double>(), (std::vector<double>{1.5, 2.5}));
  std::vector<float> values = {4, 5};
  EXPECT_EQ(Tensor::from(std::span(values), {2}).to_vector<float>(), values);
}

TEST(TensorFrom, MakesInt64OfIntegersInAList) {
  const Tensor labels = Tensor::from({1, 2, 3}, {3});
  EXPECT_EQ(labels.dtype(), int64);
  EXPECT_EQ(labels.to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_EQ(Tensor::from({1U, 2U}, {2}).dtype(), int64);
}

TEST(TensorFrom, MakesTheDefaultTypeOfAMixedList) {
  const Tensor mixed = Tensor::from({1.5F, 2, 3}, {3});
  EXPECT_EQ(mixed.to_vector<float>(), (std::vector<float>{1.5F, 2, 3}));
  EXPECT_THAT(message_of([] { Tensor::from({0.5, (1 << 24) + 1}, {2}); }), StartsWith("[from]"));
}

TEST(TensorShapes, AreMadeAtRunTime) {
  const std::vector<int> extents = {2, 3};
  EXPECT_EQ(zeros(extents).shape(), (Shape{2, 3}));
  EXPECT_EQ(zeros(std::array<std::size_t, 1>{6}).reshape(std::vector<std::int64_t>{-1, 2}).shape(), (Shape{3, 2}));
  EXPECT_THAT(message_of([] { zeros(std::vector<int>{2, -3}); }), StartsWith("[shape] negative extent -3"));
}

}  // namespace
}  // namespace asyncgrad
