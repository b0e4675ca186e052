#include "asyncgrad/core/memory/holders.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "asyncgrad/core/memory/storage.h"

namespace asyncgrad::detail {
namespace {

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
            "\n  held: 400 bytes by fill (100), queued at an unknown line");
}

TEST(Holders, CountWhatTheyDoNotList) {
  Holders holders;
  const std::vector<Storage> storages(11);
  for (const Storage& storage : storages) holders.add(storage, holder(64, "fill"));
  EXPECT_TRUE(holders.str().ends_with("\n  and 3 more"));
}

}  // namespace
}  // namespace asyncgrad::detail
