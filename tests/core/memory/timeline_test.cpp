#include "asyncgrad/core/memory/timeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <thread>

#include "asyncgrad/asyncgrad.h"
#include "tests/support/message_of.h"

namespace asyncgrad {
namespace {

using tests::message_of;

std::int64_t largest(const std::vector<LiveBytesTimeline::Sample>& samples) {
  std::int64_t bytes = 0;
  for (const auto& sample : samples) bytes = std::max(bytes, sample.live_bytes);
  return bytes;
}

TEST(LiveBytesTimeline, OutlivesItsPartOfTheCpu) {
  const EngineOptions before = engine_options();
  set_engine_options({.cpu_parts = 2});
  {
    const LiveBytesTimeline timeline("cpu:1");
    ones({1000}, {.device = "cpu:1"}).wait();
    set_engine_options({.cpu_parts = 1});
    EXPECT_GE(largest(timeline.samples()), 4000);
  }
  set_engine_options(before);
}

TEST(LiveBytesTimeline, IsOneAtATime) {
  {
    const LiveBytesTimeline first;
    EXPECT_EQ(message_of([] { LiveBytesTimeline second; }), "[timeline] this device has a timeline already");
  }
  EXPECT_EQ(message_of([] { LiveBytesTimeline next; }), "nothing was thrown");
  EXPECT_EQ(message_of([] { LiveBytesTimeline few({}, 1); }), "[timeline] max_samples must be 2 to 1000000, got 1");
  EXPECT_EQ(message_of([] { LiveBytesTimeline many({}, INT_MAX); }),
            "[timeline] max_samples must be 2 to 1000000, got 2147483647");
}

TEST(LiveBytesTimeline, IsOneOfThoseThatBeginAtOnce) {
  for (int round = 0; round < 200; ++round) {
    std::atomic<int> ready{0}, done{0}, made{0};
    const auto begin = [&] {
      ++ready;
      while (ready.load() < 2) std::this_thread::yield();
      try {
        const LiveBytesTimeline timeline;
        ++made;
        ++done;
        while (done.load() < 2) std::this_thread::yield();
      } catch (const Error&) {
        ++done;
      }
    };
    std::thread other(begin);
    begin();
    other.join();
    EXPECT_EQ(made.load(), 1);
  }
}

TEST(LiveBytesTimeline, BeginsWithWhatIsLive) {
  const Tensor x = ones({1000});
  x.wait();
  const LiveBytesTimeline timeline;
  const auto samples = timeline.samples();
  ASSERT_EQ(samples.size(), 1U);
  EXPECT_EQ(samples[0].live_bytes, memory_figures().live_bytes);
}

TEST(LiveBytesTimeline, SeesEveryPeakWithFewSamples) {
  mark().wait();
  reset_peaks();
  const LiveBytesTimeline timeline({}, 2);
  const std::int64_t before = memory_figures().live_bytes;
  for (int i = 0; i < 200; ++i) ones({1000 + 16 * (i % 50)}).wait();  // each gone at once
  mark().wait();
  EXPECT_LE(timeline.samples().size(), 2U);
  EXPECT_EQ(largest(timeline.samples()), memory_figures().peak_live_bytes);
  EXPECT_GE(largest(timeline.samples()), before + (1000 + 16 * 49) * 4);
}

TEST(Recorder, MergesIntervalsAsTimePasses) {
  LiveBytesTimeline::Recorder recorder(4);
  recorder.record(64, 0);
  recorder.record(6400, 0.0001);
  recorder.record(128, 0.0002);
  EXPECT_EQ(recorder.samples().front().elapsed_s, 0);
  EXPECT_EQ(recorder.samples().front().live_bytes, 6400);
  for (int i = 0; i <= 40; ++i) recorder.record(192, i * 0.001);
  // Four intervals of a millisecond have become four of 16.
  const auto samples = recorder.samples();
  ASSERT_EQ(samples.size(), 3U);
  EXPECT_EQ(samples[0].live_bytes, 6400) << "the largest stays through all merging";
  EXPECT_EQ(samples[1].elapsed_s, 0.016);
  EXPECT_EQ(samples[2].elapsed_s, 0.032);
  EXPECT_EQ(samples[2].live_bytes, 192);
}

TEST(Recorder, LeavesOutIntervalsWithoutChange) {
  LiveBytesTimeline::Recorder recorder(2000);
  recorder.record(64, 0);
  recorder.record(128, 0.0205);
  const auto samples = recorder.samples();
  ASSERT_EQ(samples.size(), 2U);
  EXPECT_DOUBLE_EQ(samples[1].elapsed_s, 0.020);
  recorder.record(32, 0.0206);
  EXPECT_EQ(recorder.samples().back().live_bytes, 128);  // what was live when it began counts
}

TEST(Recorder, GoesByTheClock) {
  LiveBytesTimeline::Recorder recorder(4);
  recorder.record(64);
  recorder.record(32);
  EXPECT_EQ(recorder.samples().front().live_bytes, 64);
}

}  // namespace
}  // namespace asyncgrad
