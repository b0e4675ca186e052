#include "asyncgrad/core/origin/origin.h"

#include <gtest/gtest.h>

#include <thread>

#include "asyncgrad/core/layer_scope.h"

namespace asyncgrad::detail {
namespace {

const Location forward{"/some/where/train.cpp", 12}, backward{"/some/where/loop.cpp", 15};

TEST(Origin, NamesTheFileWithoutItsFolder) {
  EXPECT_EQ(origin_at(forward).str(), "train.cpp:12");
  EXPECT_EQ(origin_at(Location{}).str(), "an unknown line");
}

TEST(Origin, NamesTheLayersAroundIt) {
  {
    const LayerScope outer("1");
    const LayerScope inner("norm");
    EXPECT_EQ(origin_at(forward).str(), "train.cpp:12, in layer 1.norm");
    std::thread([] { EXPECT_EQ(origin_at(forward).str(), "train.cpp:12"); }).join();  // the other thread's scopes
  }
  EXPECT_EQ(current_layer_path(), 0U);
  const LayerScope other("1");
  const std::uint32_t path = current_layer_path();
  {
    const LayerScope inner("weight");
    EXPECT_NE(current_layer_path(), path);
  }
  EXPECT_EQ(current_layer_path(), path);
}

TEST(Origin, OfAGradientNamesForwardAndBackward) {
  Origin forward_origin;
  {
    const LayerScope layer("0");
    forward_origin = origin_at(forward);
  }
  {
    const OriginScope scope = OriginScope::of_gradient(forward_origin, backward);
    EXPECT_EQ(origin_at(Location{"elementwise.cpp", 3}).str(),
              "train.cpp:12, in layer 0, as a gradient for backward() at loop.cpp:15");
  }
  EXPECT_EQ(origin_at(forward).str(), "train.cpp:12");
}

}  // namespace
}  // namespace asyncgrad::detail
