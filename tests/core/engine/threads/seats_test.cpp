#include "asyncgrad/core/engine/threads/seats.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace asyncgrad::detail {
namespace {

TEST(Seats, AreGivenToAsManyAsThereAre) {
  Seats seats;
  seats.reset(2);
  EXPECT_TRUE(seats.take());
  EXPECT_TRUE(seats.take());
  EXPECT_FALSE(seats.take());
  EXPECT_EQ(seats.taken(), 2);
  EXPECT_FALSE(seats.give());  // nobody was denied one
  EXPECT_TRUE(seats.take());
}

TEST(Seats, ThereIsOneMoreForSomethingBrief) {
  Seats seats;
  seats.reset(1);
  EXPECT_TRUE(seats.take_extra());
  EXPECT_FALSE(seats.take_extra());
  EXPECT_TRUE(seats.take());  // which is another one
  EXPECT_FALSE(seats.take());
  EXPECT_FALSE(seats.give(/*extra=*/true));
  EXPECT_FALSE(seats.take());
  EXPECT_TRUE(seats.take_extra());
}

TEST(Seats, RememberOnceThatOneWasDenied) {
  Seats seats;
  seats.reset(1);
  EXPECT_TRUE(seats.take_or_be_denied());
  EXPECT_FALSE(seats.take_or_be_denied());
  EXPECT_TRUE(seats.give());
  EXPECT_TRUE(seats.take());
  EXPECT_FALSE(seats.give());
}

TEST(Seats, WorkIsLeftToAThreadThatComputesSomethingShort) {
  Seats seats;
  seats.reset(2);
  EXPECT_FALSE(seats.leave());  // nobody computes
  EXPECT_TRUE(seats.take());
  EXPECT_TRUE(seats.leave());
  EXPECT_TRUE(seats.begin_long());  // it will not look for a while
  EXPECT_FALSE(seats.leave());
  seats.end_long();
  EXPECT_TRUE(seats.leave());
  EXPECT_TRUE(seats.give());
}

TEST(Seats, WhatWasLeftIsLeftOnToAnotherThread) {
  Seats seats;
  seats.reset(2);
  EXPECT_TRUE(seats.take());
  EXPECT_TRUE(seats.take());
  EXPECT_TRUE(seats.leave());
  EXPECT_FALSE(seats.begin_long());  // the other one will look
  seats.end_long();
  EXPECT_FALSE(seats.give());
  EXPECT_TRUE(seats.give());
}

TEST(Seats, AreNeverTakenTwice) {
  Seats seats;
  seats.reset(3);
  std::atomic<int> seated{0}, max_seated{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 5000; ++round) {
        if (!seats.take()) continue;
        const int now = ++seated;
        for (int before = max_seated.load(); before < now && !max_seated.compare_exchange_weak(before, now);) {
        }
        if (round % 3 == 0 && seats.begin_long()) ADD_FAILURE() << "nothing was left";
        if (round % 3 == 0) seats.end_long();
        --seated;
        seats.give();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(max_seated.load(), 3);
  EXPECT_EQ(seats.taken(), 0);
  EXPECT_EQ(seats.brief(), 0);
}

}  // namespace
}  // namespace asyncgrad::detail
