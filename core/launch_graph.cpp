#include "asyncgrad/core/launch_graph.h"

#include <fmt/format.h>

#include "asyncgrad/core/error.h"
#include "asyncgrad/core/origin/launch_region.h"

namespace asyncgrad {

using detail::LaunchRegion;

LaunchGraph::LaunchGraph(std::string name) : state_(std::make_shared<detail::LaunchGraphState>(std::move(name))) {}
LaunchGraph::~LaunchGraph() = default;

const std::string& LaunchGraph::name() const { return state_->name; }
std::int64_t LaunchGraph::calls() const { return state_->calls.load(std::memory_order_relaxed); }
std::int64_t LaunchGraph::replays() const { return state_->replays.load(std::memory_order_relaxed); }

LaunchGraph::Call::Call(LaunchGraph& graph) : region_(std::make_shared<LaunchRegion>(graph.state_)) {
  if (LaunchRegion::current() != nullptr) {
    throw_error("graph", fmt::format("\"{}\" is called within a call", graph.name()));
  }
  LaunchRegion::set_current(region_.get());
  graph.state_->calls.fetch_add(1, std::memory_order_relaxed);
}

LaunchGraph::Call::~Call() {
  LaunchRegion::set_current(nullptr);
  region_->is_open.store(false, std::memory_order_release);
}

}  // namespace asyncgrad
