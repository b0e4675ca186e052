#include "asyncgrad/core/memory/live_bytes.h"

#include <gtest/gtest.h>

#include "asyncgrad/core/memory/live_recording.h"
#include "asyncgrad/core/memory/timeline.h"

namespace asyncgrad::detail {
namespace {

TEST(LiveBytes, CountsEveryChangeAndKeepsThePeak) {
  LiveBytes live;
  EXPECT_EQ(live.add(128), 128);
  EXPECT_EQ(live.add(64), 192);
  EXPECT_EQ(live.subtract(128), 64);
  EXPECT_EQ(live.now(), 64);
  EXPECT_EQ(live.peak(live.now()), 192);
  EXPECT_EQ(live.peak(256), 256);  // read before the thread that added has raised the peak
}

TEST(LiveBytes, StartsThePeakAgainFromWhatIsLive) {
  LiveBytes live;
  live.add(192);
  live.subtract(128);
  live.reset_peak();
  EXPECT_EQ(live.peak(live.now()), 64);
  live.add(64);
  EXPECT_EQ(live.peak(live.now()), 128);
}

TEST(LiveRecording, BeginsWithWhatIsLiveAndSeesEveryChange) {
  LiveBytes live;
  LiveRecording recording(live);
  live.add(64);
  recording.report(64);  // without a recorder it does nothing
  EXPECT_TRUE(recording.samples().empty());
  LiveBytesTimeline::Recorder recorder(2), second(2);
  ASSERT_TRUE(recording.begin(recorder));
  EXPECT_FALSE(recording.begin(second));
  ASSERT_FALSE(recording.samples().empty());
  EXPECT_EQ(recording.samples().back().live_bytes, 64);
  recording.report(live.add(128));
  EXPECT_EQ(recording.samples().back().live_bytes, 192);
  recording.end();
  EXPECT_TRUE(recording.samples().empty());
  EXPECT_TRUE(recording.begin(second));
}

// Another thread's change, counted in between, is part of the last value.
TEST(LiveRecording, AlsoReportsWhatIsLiveNow) {
  LiveBytes live;
  LiveRecording recording(live);
  LiveBytesTimeline::Recorder recorder(2);
  ASSERT_TRUE(recording.begin(recorder));
  const std::int64_t own = live.add(64);
  live.add(512);
  recording.report(own);
  EXPECT_EQ(recording.samples().back().live_bytes, 576);
}

}  // namespace
}  // namespace asyncgrad::detail
