// The engine's state of launch graphs. Internal.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "asyncgrad/core/origin/origin.h"

namespace asyncgrad::detail {

// A graph. The user, queued operations and queues of a device share it.
struct LaunchGraphState {
  explicit LaunchGraphState(std::string graph_name) : name(std::move(graph_name)), id(graph_id(name)) {}
  const std::string name;
  const std::uint32_t id;                          // for origins
  std::atomic<std::int64_t> calls{0}, replays{0};  // figures: relaxed
};

// One call of a graph. Its operations carry it.
struct LaunchRegion : std::enable_shared_from_this<LaunchRegion> {
  explicit LaunchRegion(std::shared_ptr<LaunchGraphState> called) : graph(std::move(called)) {}
  const std::shared_ptr<LaunchGraphState> graph;
  // Whether its thread may queue further operations. Release, acquire: a thread that reads false sees every operation
  // of the call, ready or waiting.
  std::atomic<bool> is_open{true};

  // The call that the calling thread is in, or null.
  static LaunchRegion* current() { return current_; }
  static void set_current(LaunchRegion* region) { current_ = region; }

 private:
  // NOLINTNEXTLINE(readability-identifier-naming): a member
  static inline constinit thread_local LaunchRegion* current_ = nullptr;
};

}  // namespace asyncgrad::detail
