#include "asyncgrad/core/origin/names.h"

#include <gtest/gtest.h>

#include <string>

namespace asyncgrad::detail {
namespace {

TEST(Names, KeepsEachOnce) {
  Names names;
  const std::uint32_t outer = names.id(0, "net"), inner = names.id(outer, "norm");
  EXPECT_EQ(names.name(inner), "net.norm");
  EXPECT_EQ(names.id(outer, "norm"), inner);
  EXPECT_NE(names.id(0, "norm"), inner);
  EXPECT_EQ(names.name(0), "");
}

// A program that makes a name of each step's number.
TEST(Names, WithoutEndFillNoMemory) {
  Names names;
  const std::uint32_t first = names.id(0, "first");
  std::uint32_t last = 0;
  for (std::size_t i = 0; i < 2 * Names::max_names; ++i) {
    last = names.id(0, "step " + std::to_string(i));
    ASSERT_LT(last, Names::max_names);
    ASSERT_NE(last, 0U);
  }
  EXPECT_EQ(names.name(last), "(one of too many names)");
  EXPECT_EQ(names.id(0, "first"), first);
  EXPECT_EQ(names.name(names.id(0, "step 7")), "step 7");
}

}  // namespace
}  // namespace asyncgrad::detail
