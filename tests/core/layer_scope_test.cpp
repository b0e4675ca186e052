#include "asyncgrad/core/layer_scope.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "asyncgrad/asyncgrad.h"
#include "tests/support/message_of.h"

namespace asyncgrad {
namespace {

using testing::HasSubstr;
using testing::Not;
using tests::message_of;

// The message of a mistake that this thread makes now.
std::string message() {
  return message_of([] { relu(Tensor()); });
}

TEST(LayerScope, NamesThePathOfTheLayersAroundAMistake) {
  const LayerScope outer("encoder");
  EXPECT_THAT(message(), HasSubstr("in layer encoder"));
  {
    const LayerScope inner("norm");
    EXPECT_THAT(message(), HasSubstr("in layer encoder.norm"));
  }
  EXPECT_THAT(message(), Not(HasSubstr("norm")));
}

TEST(LayerScope, IsNamedByAnOperationThatFailsLater) {
  Tensor row;
  {
    const LayerScope scope("embedding");
    row = take(ones({2, 3}), Tensor::from<std::int64_t>({7}, {1}));
  }
  EXPECT_THAT(message_of([&] { row.wait(); }), HasSubstr("in layer embedding"));
}

TEST(LayerScope, BelongsToItsThread) {
  const LayerScope scope("encoder");
  std::thread([] { EXPECT_THAT(message(), Not(HasSubstr("encoder"))); }).join();
}

}  // namespace
}  // namespace asyncgrad
