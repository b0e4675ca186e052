// The scratch memory of threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <thread>

#include "asyncgrad/core/engine/admission/devices.h"
#include "asyncgrad/core/engine/engine.h"
#include "asyncgrad/core/engine/run/execution.h"

namespace asyncgrad::detail {
namespace {

constexpr std::size_t bytes = 1 << 16;

std::span<std::byte> scratch_here() {
  return {scratch(*Devices::find(Device()), static_cast<std::int64_t>(bytes)), bytes};
}

// An object of a thread that uses the thread's scratch memory when it ends, as the end of the process does.
struct UsesScratchAtItsEnd {
  bool* is_intact = nullptr;
  ~UsesScratchAtItsEnd() {
    *is_intact = std::ranges::all_of(scratch_here(), [](std::byte value) { return value == std::byte{0x5A}; });
  }
};

TEST(Scratch, LivesLongerThanTheThreadsOwnObjects) {
  Engine::get();  // puts the device into use
  const std::int64_t before = Devices::find(Device())->workspace.load();
  bool is_intact = false;
  std::thread([&is_intact] {
    thread_local UsesScratchAtItsEnd object;
    object.is_intact = &is_intact;
    std::ranges::fill(scratch_here(), std::byte{0x5A});
  }).join();
  EXPECT_TRUE(is_intact);
  EXPECT_EQ(Devices::find(Device())->workspace.load(), before);  // and was given back
}

}  // namespace
}  // namespace asyncgrad::detail
