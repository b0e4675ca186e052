// What the engine knows of launch graphs. Internal.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace asyncgrad::detail {

// A graph, for as long as anybody knows of it: the user, operations that are queued, or a queue that keeps launches.
struct LaunchGraphState {
  explicit LaunchGraphState(std::string graph_name) : name(std::move(graph_name)) {}
  const std::string name;
  std::atomic<std::int64_t> calls{0}, replays{0};  // figures; relaxed
};

// One call of a graph. Its operations carry it.
struct LaunchRegion {
  explicit LaunchRegion(std::shared_ptr<LaunchGraphState> called) : graph(std::move(called)) {}
  const std::shared_ptr<LaunchGraphState> graph;
  // Its thread may queue more that belongs to it. Release, acquire: who finds it closed finds all of it queued.
  std::atomic<bool> is_open{true};

  // The calling thread's; null: it is in no call.
  static std::shared_ptr<LaunchRegion>& current() {
    thread_local std::shared_ptr<LaunchRegion> region;
    return region;
  }
};

}  // namespace asyncgrad::detail
