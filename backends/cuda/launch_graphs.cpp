#include "asyncgrad/backends/cuda/launch_graphs.h"

#include <algorithm>
#include <exception>
#include <new>
#include <nvtx3/nvtx3.hpp>
#include <utility>

#include "asyncgrad/core/backend/device_queue.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad::detail::cuda {

namespace {

constexpr std::size_t max_takes = 16;      // of a graph
constexpr std::size_t shortest_graph = 2;  // in operations; a graph of one saves nothing
constexpr int max_refusals = 3;

}  // namespace

void LaunchGraphs::set_graph(std::shared_ptr<LaunchGraphState> state) {
  end_sequence();
  state_ = std::move(state);
  takes_ = nullptr;
  if (state_ == nullptr) return;
  std::erase_if(graphs_, [](const Graph& graph) { return graph.state.expired(); });
  const auto known = std::ranges::find_if(graphs_, [this](const Graph& graph) { return graph.state.lock() == state_; });
  takes_ = known != graphs_.end() ? &known->takes : &graphs_.emplace_back(Graph{state_, {}}).takes;
}

void LaunchGraphs::issue(const Kernel& kernel, const KernelCall& call) {
  const std::size_t place = calls_.size();
  if (place == 0) {
    candidates_.clear();  // an operation that failed may have left them
    for (const TakePointer& take : *takes_) candidates_.push_back(take.get());
  }
  std::erase_if(candidates_, [&](const Take* take) {
    return take->calls.size() <= place || !take->calls[place].is_like(kernel, call);
  });
  const bool may_be_kept =
      std::ranges::any_of(candidates_, [](const Take* take) { return take->executable != nullptr; });
  if (place == 0) is_kept_ = may_be_kept;
  if (is_kept_ && !may_be_kept) launch_one_by_one();
  calls_.emplace_back(kernel, call);
  if (!is_kept_) run(gpu_, kernel, call, launch_);
}

void LaunchGraphs::end_sequence() {
  if (calls_.empty()) return;
  Take* const take = is_kept_ ? nearest_take(/*is_executable=*/true) : nullptr;
  if (take == nullptr || !launch_at_once(*take)) {
    if (is_kept_) launch_one_by_one();
    try {
      if (calls_.size() >= shortest_graph) remember();
    } catch (const std::bad_alloc&) {  // then it is not remembered
    }
  }
  calls_.clear();
  candidates_.clear();
}

// Launches what is kept back. For the engine these operations are issued, so a refusal fails the device.
void LaunchGraphs::launch_one_by_one() {
  is_kept_ = false;
  const nvtx3::scoped_range range{state_->name.c_str()};
  try {
    for (const LateCall& call : calls_) run(gpu_, call.kernel(), call.call(), launch_);
  } catch (const DeviceFailed&) {
    throw;
  } catch (const std::exception& error) {
    gpu_.note(cudaErrorLaunchFailure);
    throw DeviceFailed(error.what());
  }
}

// The candidate that needs the fewest changes to become the sequence, among those that are CUDA graphs or among those
// that are not. Null if none is near enough.
LaunchGraphs::Take* LaunchGraphs::nearest_take(bool is_executable) const {
  Take* nearest = nullptr;
  std::size_t max_changes = calls_.size() / 2;
  for (Take* const take : candidates_) {
    if (take->calls.size() != calls_.size() || (take->executable != nullptr) != is_executable) continue;
    std::size_t changes = 0;
    for (std::size_t i = 0; i < calls_.size(); ++i) changes += take->calls[i].is_same(calls_[i]) ? 0 : 1;
    if (changes > max_changes || (changes == max_changes && nearest != nullptr)) continue;
    nearest = take;
    max_changes = changes;
  }
  return nearest;
}

// Launches what is kept back as one graph. Returns false, with nothing launched, if CUDA refuses.
bool LaunchGraphs::launch_at_once(Take& take) {
  const nvtx3::scoped_range range{state_->name.c_str()};
  try {
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      if (!take.calls[i].is_same(calls_[i])) take.executable->set(i, calls_[i]);
    }
    take.executable->launch(launch_.stream);
  } catch (const DeviceFailed&) {
    throw;
  } catch (const std::exception&) {  // also if the host has no memory
    take.executable = nullptr;       // a part of it may have been changed
    ++take.refusals;
    return false;
  }
  take.calls = std::move(calls_);
  state_->replays.fetch_add(1, std::memory_order_relaxed);
  move_to_front(take);
  return true;
}

// Remembers a sequence that was not launched as a graph.
void LaunchGraphs::remember() {
  Take* take = nearest_take(/*is_executable=*/false);
  if (take != nullptr) {
    take->calls = std::move(calls_);
    if (take->refusals < max_refusals) make_executable(*take);
    return move_to_front(*take);
  }
  if (takes_->size() == max_takes) takes_->pop_back();
  takes_->insert(takes_->begin(), std::make_unique<Take>(Take{std::move(calls_), nullptr, 0}));
}

void LaunchGraphs::make_executable(Take& take) {
  const nvtx3::scoped_range range{state_->name.c_str()};
  try {
    if (!capture_stream_.has_value()) {
      capture_stream_.emplace(gpu_, &Gpu::check_refusable);
      capturing_.emplace(Launch{capture_stream_->get(), launch_.queue, launch_.planner});
    }
    take.executable = std::make_unique<ExecutableGraph>(gpu_, *capturing_, take.calls);
  } catch (const DeviceFailed&) {
    throw;
  } catch (const std::exception&) {  // also if the host has no memory
    ++take.refusals;
  }
}

void LaunchGraphs::move_to_front(const Take& take) {
  const auto place = std::ranges::find_if(*takes_, [&take](const TakePointer& other) { return other.get() == &take; });
  std::rotate(takes_->begin(), place, place + 1);
}

}  // namespace asyncgrad::detail::cuda
