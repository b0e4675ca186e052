#include "asyncgrad/experiment/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/experiment/bad_input.h"

namespace asyncgrad::experiment {
namespace {

using testing::ElementsAre;

TEST(Parse, WholeNumbersLieBetweenTheirBounds) {
  EXPECT_EQ(parse_whole("--batches", "1", 1, 10), 1);
  EXPECT_EQ(parse_whole("--batches", "10", 1, 10), 10);
  for (const char* text : {"0", "11", "-1", "+1", "1.0", "1e1", "", " 1", "1 ", "ten", "99999999999999999999"}) {
    EXPECT_EQ(bad_input([&] { parse_whole("--batches", text, 1, 10); }),
              std::string("--batches: '") + text + "' is not a whole number from 1 to 10");
  }
}

TEST(Parse, SeedsHave64Bits) {
  EXPECT_EQ(parse_seed("--seed", "0"), 0U);
  EXPECT_EQ(parse_seed("--seed", "18446744073709551615"), std::numeric_limits<std::uint64_t>::max());
  for (const char* text : {"18446744073709551616", "-1", "0x1", ""}) {
    EXPECT_THROW(parse_seed("--seed", text), BadInput) << text;
  }
}

TEST(Parse, RatesAreFinite) {
  EXPECT_EQ(parse_rate("--lr", "0.01"), 0.01);
  EXPECT_EQ(parse_rate("--lr", "1e-3"), 1e-3);
  for (const char* text : {"nan", "inf", "-inf", "1e999", "-0.1", "0,1", "0.1x", ""}) {
    EXPECT_EQ(bad_input([&] { parse_rate("--lr", text); }),
              std::string("--lr: '") + text + "' is not a finite number from 0 on");
  }
}

TEST(Parse, BytesMayHaveABinaryUnit) {
  EXPECT_EQ(parse_bytes("--memory-budget", "1000000"), 1'000'000);
  EXPECT_EQ(parse_bytes("--memory-budget", "512KiB"), 512 * 1024);
  EXPECT_EQ(parse_bytes("--memory-budget", "64MiB"), 64 * 1024 * 1024);
  EXPECT_EQ(parse_bytes("--memory-budget", "1GiB"), 1024 * 1024 * 1024);
  EXPECT_EQ(parse_bytes("--memory-budget", "8388607TiB"), 8388607LL << 40);
  for (const char* text :
       {"0", "-1", "0MiB", "MiB", "64MB", "64 MiB", "64mib", "1.5GiB", "8388608TiB", "", "1KiBKiB"}) {
    EXPECT_EQ(bad_input([&] { parse_bytes("--memory-budget", text); }),
              std::string("--memory-budget: '") + text +
                  "' is not a number of bytes above 0, like 1000000, 512KiB, 64MiB or 1GiB");
  }
}

TEST(Parse, SplitKeepsEmptyParts) {
  EXPECT_THAT(split("a,b", ','), ElementsAre("a", "b"));
  EXPECT_THAT(split("a,,", ','), ElementsAre("a", "", ""));
  EXPECT_THAT(split("", ','), ElementsAre(""));
}

}  // namespace
}  // namespace asyncgrad::experiment
