#include "asyncgrad/core/memory/holders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "asyncgrad/core/memory/storage.h"

namespace asyncgrad::detail {
namespace {

using ::testing::HasSubstr;

Holders::Holder holder(std::int64_t size_bytes, const char* operation) {
  return {.size_bytes = size_bytes, .operation = operation, .shape = {size_bytes / 4}, .origin = {}};
}

TEST(Holders, ListTheLargestFirst) {
  Holders holders;
  EXPECT_EQ(holders.str(), "");
  const std::vector<Storage> storages(3);
  holders.add(storages[0], holder(400, "fill"));
  holders.add(storages[1], holder(800, "matmul"));
  holders.add(storages[2], holder(1200, "relu"));
  holders.remove(storages[2]);
  holders.remove(storages[2]);  // it is not there any more
  EXPECT_EQ(holders.str(),
            "\n  held: 800 bytes by matmul (200), queued at an unknown line"
            "\n  held: 400 bytes by fill (100), queued at an unknown line"
            "\n  in all: 1200 bytes of other values");
}

TEST(Holders, CountWhatTheyDoNotList) {
  Holders holders;
  const std::vector<Storage> storages(11);
  for (const Storage& storage : storages) holders.add(storage, holder(64, "fill"));
  EXPECT_TRUE(holders.str().ends_with("\n  and 3 more\n  in all: 704 bytes of other values"));
}

TEST(Holders, SayWhatABlockIs) {
  Holders holders;
  std::vector<Storage> storages(3);
  storages[0].use = StorageUse::parameter;
  storages[1].use = StorageUse::optimizer_state;
  holders.add(storages[0], holder(1200, "normal"));
  holders.add(storages[1], holder(800, "fill"));
  Holders::Holder gradient = holder(400, "matmul");
  gradient.origin.backward = Location::current();
  holders.add(storages[2], gradient);
  const std::string text = holders.str();
  EXPECT_THAT(text, HasSubstr("by normal (300), queued at an unknown line; a parameter\n"));
  EXPECT_THAT(text, HasSubstr("by fill (200), queued at an unknown line; an optimiser's state\n"));
  EXPECT_THAT(text, HasSubstr("; a gradient\n"));
  EXPECT_THAT(
      text, HasSubstr("\n  in all: 1200 bytes of parameters, 800 bytes of optimisers' states, 400 bytes of gradients"));
}

}  // namespace
}  // namespace asyncgrad::detail
