#include "asyncgrad/core/call_site.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "tests/support/message_of.h"

namespace asyncgrad {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using tests::whole_message_of;

std::string at(int line) { return ", at call_site_test.cpp:" + std::to_string(line); }

TEST(CallSite, IsNamedByAnErrorOfItsCall) {
  const Tensor x = ones({2, 3}), y = ones({4});
  const int line = __LINE__ + 1;
  const std::string message = whole_message_of([&] { x + y; });
  EXPECT_EQ(
      message,
      "[add] shapes do not broadcast: x (2, 3), y (4); from the last axis on, extents are to be equal or 1" + at(line));
}

struct Call {
  const char* name;
  void (*call)(const Tensor& x);
  int line;
};
class CallOnALine : public testing::TestWithParam<Call> {};
TEST_P(CallOnALine, IsNamed) {
  EXPECT_THAT(whole_message_of([] { GetParam().call(randn({2, 3})); }), EndsWith(at(GetParam().line)));
}
const std::vector<Slice> beyond{{0, 0, 7}};  // of an axis of two
const Call calls[] = {
    {"matmul", [](const Tensor& x) { matmul(x, x); }, __LINE__},
    {"sum", [](const Tensor& x) { sum(x, 7); }, __LINE__},
    {"reshape", [](const Tensor& x) { static_cast<void>(x.reshape({7})); }, __LINE__},
    {"slice", [](const Tensor& x) { static_cast<void>(x.slice(0, 7)); }, __LINE__},
    {"row", [](const Tensor& x) { static_cast<void>(x[7]); }, __LINE__},
    {"transpose", [](const Tensor& x) { static_cast<void>(x.transpose(0, 7)); }, __LINE__},
    {"backward", [](const Tensor& x) { x.backward(); }, __LINE__},
    {"concat", [](const Tensor& x) { concat(std::vector(2, x), 9); }, __LINE__},
    {"arange", [](const Tensor&) { arange(0, 1, 0); }, __LINE__},
    {"from", [](const Tensor&) { Tensor::from(std::vector<float>(2), {3}); }, __LINE__},
    {"in_place", [](const Tensor& x) { Tensor(x) += ones({7}); }, __LINE__},
    {"fill", [](const Tensor&) { arange(0, 2, 1, {.dtype = int64}).fill_(0.5); }, __LINE__},
    {"assign", [](const Tensor& x) { assign(x, beyond, ones({1})); }, __LINE__},
    {"assign_number", [](const Tensor& x) { assign(x, beyond, 1); }, __LINE__},
    {"Dense", [](const Tensor& x) { nn::Dense(5, 2)(x); }, __LINE__},
    {"made_Dense", [](const Tensor&) { nn::Dense(0, 2); }, __LINE__},
    {"Conv2d", [](const Tensor&) { nn::Conv2d(0, 2, 3); }, __LINE__},
    {"LayerNorm", [](const Tensor&) { nn::LayerNorm(0); }, __LINE__},
    {"BatchNorm", [](const Tensor&) { nn::BatchNorm(0); }, __LINE__},
    {"Embedding", [](const Tensor&) { nn::Embedding(0, 2); }, __LINE__},
    {"LSTM", [](const Tensor&) { nn::LSTM(0, 2); }, __LINE__},
    {"MultiHeadAttention", [](const Tensor&) { nn::MultiHeadAttention(3, 2); }, __LINE__},
    {"TransformerBlock", [](const Tensor&) { nn::TransformerBlock(0, 2); }, __LINE__},
    {"PositionalEncoding", [](const Tensor&) { nn::PositionalEncoding(0, 2); }, __LINE__},
    {"Dropout", [](const Tensor&) { nn::Dropout(2); }, __LINE__},
    {"initialiser", [](const Tensor&) { nn::he_normal({2}); }, __LINE__},
    {"with_gradient", [](const Tensor& x) { with_gradient("f", x, {x}, GradientFunction()); }, __LINE__},
    {"Batches", [](const Tensor&) { data::Batches(std::vector<float>(3), {.batch_size = 0}); }, __LINE__},
    {"save", [](const Tensor&) { nn::save("nowhere/net", nn::Dense(2, 2)); }, __LINE__},
    {"saved_checkpoint", [](const Tensor&) { Checkpoint().save("nowhere/training"); }, __LINE__},
    {"loaded_checkpoint", [](const Tensor&) { Checkpoint().load("nowhere/training"); }, __LINE__},
    {"loss", [](const Tensor& x) { nn::l2_loss(x, ones({7})); }, __LINE__},
    {"item", [](const Tensor& x) { static_cast<void>(x.item()); }, __LINE__},
    {"item_of_a_type", [](const Tensor& x) { static_cast<void>(x.item<float>()); }, __LINE__},
    {"to_vector", [](const Tensor& x) { static_cast<void>(x.to_vector<double>()); }, __LINE__},
    {"wait", [](const Tensor&) { Tensor().wait(); }, __LINE__},
    {"requires_grad", [](const Tensor&) { zeros({2}, {.dtype = int64}).requires_grad_(); }, __LINE__},
    {"parameter", [](const Tensor&) { parameter(zeros({2}, {.dtype = int64})); }, __LINE__},
    {"retain_grad", [](const Tensor& x) { x.retain_grad(); }, __LINE__},
    {"set_lr", [](const Tensor& x) { optim::SGD({parameter(x.clone())}, {.lr = 1}).set_lr(-1); }, __LINE__},
    {"SGD", [](const Tensor& x) { optim::SGD({parameter(x.clone())}, {.lr = 1, .momentum = -1}); }, __LINE__},
};
INSTANTIATE_TEST_SUITE_P(All, CallOnALine, testing::ValuesIn(calls),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(CallSite, OfLoadingIsNamed) {
  nn::Dense layer(2, 2);
  const int line = __LINE__ + 1;
  EXPECT_THAT(whole_message_of([&] { nn::load("nowhere/net", layer); }), EndsWith(at(line)));
}

TEST(CallSite, IsTheInnermostOfTheProgram) {
  const auto layer = [](const Arg& x) { return x + ones({7}); };
  const int line = __LINE__ - 1;
  EXPECT_THAT(whole_message_of([&] { layer(ones({2})); }), EndsWith(at(line)));
}

TEST(CallSite, EndsWithItsCall) {
  relu(ones({2}));
  EXPECT_EQ(CallSite::current().file, nullptr);
  const int line = __LINE__ + 1;
  EXPECT_EQ(whole_message_of([] { Device("tpu"); }),
            "[device] no device is called 'tpu': cpu, cpu:0, cuda, cuda:1 …" + at(line));
  whole_message_of([] { ones({2}) + ones({3}); });
  EXPECT_EQ(CallSite::current().file, nullptr);
}

TEST(CallSite, MayBeGivenByAnotherLanguage) {
  const Tensor x = ones({2}), y = ones({3});
  EXPECT_THAT(whole_message_of([&] { Arg(x, "folder/train.py", 7) + Arg(y, "folder/train.py", 7); }),
              EndsWith(", at train.py:7"));
  const CallSite site({"folder/train.py", 9});
  EXPECT_THAT(whole_message_of([] { Device("tpu"); }), EndsWith(", at train.py:9"));
}

ErrorKind kind_of(void (*call)()) {
  try {
    call();
  } catch (const Error& error) {
    return error.kind();
  }
  throw std::logic_error("nothing was thrown");
}

TEST(ErrorKind, TellsWhatACallRefused) {
  EXPECT_EQ(kind_of([] { ones({2}) + ones({3}); }), ErrorKind::value);
  EXPECT_EQ(kind_of([] { ones({2}) + ones({2}, {.dtype = float64}); }), ErrorKind::type);
  EXPECT_EQ(kind_of([] { sin(Tensor::from({1, 2}, {2})); }), ErrorKind::type);
  EXPECT_EQ(kind_of([] { sum(ones({2}), 5); }), ErrorKind::index);
  EXPECT_EQ(kind_of([] { static_cast<void>(ones({2})[5]); }), ErrorKind::index);
  EXPECT_EQ(kind_of([] { zeros({1 << 30, 1 << 30}); }), ErrorKind::memory);
  EXPECT_EQ(kind_of([] { take(ones({2}), Tensor::from({9}, {1})).wait(); }), ErrorKind::asynchronous);
}

TEST(CallSite, IsNotALineOfAPublicHeader) {
  const nn::Residual<nn::Function> residual(nn::Function([](const Tensor&) { return ones({7}); }));
  const int line = __LINE__ + 1;
  EXPECT_THAT(whole_message_of([&] { residual(ones({2, 3})); }), EndsWith(at(line)));
}

Error error_of(void (*call)()) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  throw std::logic_error("nothing was thrown");
}

TEST(ErrorParts, AreThoseOfTheText) {
  const int line = __LINE__ + 1;
  const Error error = error_of([] { nn::Sequential{nn::Dense(2, 3)}(ones({2, 5})); });
  EXPECT_EQ(error.parts().operation, "Dense");
  EXPECT_EQ(error.parts().message, "needs x (…, 2), got (2, 5); weight (2, 3); Dense(5, 3) takes it");
  EXPECT_THAT(error.parts().file, EndsWith("/call_site_test.cpp"));
  EXPECT_EQ(error.parts().line, line);
  EXPECT_EQ(error.parts().layer, "0");
  EXPECT_EQ(error.parts().cause, ErrorKind::value);
}

TEST(ErrorParts, AreThoseOfTheOperationThatFailed) {
  const int line = __LINE__ + 2;
  const Error error = error_of([] {
    const Tensor row = take(ones({2}), Tensor::from({9}, {1}));
    row.wait();
  });
  EXPECT_EQ(error.kind(), ErrorKind::asynchronous);
  EXPECT_EQ(error.parts().operation, "take");
  EXPECT_THAT(error.parts().message, testing::StartsWith("index 9 at position 0 is outside"));
  EXPECT_EQ(error.parts().line, line);
  EXPECT_EQ(error.parts().layer, "");
  EXPECT_EQ(error.parts().cause, ErrorKind::index);
}

TEST(ErrorParts, AreEmptyWhereNothingIsKnown) {
  const Error error("made up");
  EXPECT_EQ(error.parts().operation, "");
  EXPECT_EQ(error.parts().line, 0);
}

}  // namespace
}  // namespace asyncgrad
