#include "asyncgrad/core/sync/at_thread_end.h"

#include <gtest/gtest.h>

#include <thread>

namespace asyncgrad::detail {
namespace {

TEST(AtThreadEnd, IsCalledOnceInEachThreadThatAskedForIt) {
  static const AtThreadEnd at_end([](void* count) { ++*static_cast<int*>(count); });
  int asked = 0;
  std::thread([&] {
    at_end.ask(&asked);
    at_end.ask(&asked);
    EXPECT_EQ(asked, 0);
  }).join();
  EXPECT_EQ(asked, 1);
  std::thread([] {}).join();
  EXPECT_EQ(asked, 1);
}

TEST(AtThreadEnd, ComesAfterTheThreadsOwnObjects) {
  static int ended_objects, seen;
  ended_objects = 0, seen = -1;
  static const AtThreadEnd at_end([](void*) { seen = ended_objects; });
  std::thread([] {
    struct Last {
      ~Last() {
        at_end.ask(&ended_objects);  // even if it asks as late as that
        ++ended_objects;
      }
    };
    thread_local Last last;
    static_cast<void>(last);
  }).join();
  EXPECT_EQ(seen, 1);
}

}  // namespace
}  // namespace asyncgrad::detail
