// Captures and graphs on made-up calls.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "tests/backends/cuda/fake_api.h"

namespace asyncgrad::tests {

cudaError_t FakeApi::begin_capture(cudaStream_t stream) {
  const std::lock_guard lock(mutex_);
  if (const cudaError_t status = status_of("begin_capture"); status != cudaSuccess) return status;
  EXPECT_TRUE(streams_.contains(stream) && !is_capturing(stream));
  captures_[stream] = std::make_unique<Nodes>();
  return cudaSuccess;
}

cudaError_t FakeApi::end_capture(cudaStream_t stream, cudaGraph_t* graph) {
  const std::lock_guard lock(mutex_);
  const cudaError_t status = status_of("end_capture");
  auto captured = captures_.extract(stream);
  EXPECT_FALSE(captured.empty());
  *graph = nullptr;
  if (status != cudaSuccess) return status;
  *graph = reinterpret_cast<cudaGraph_t>(captured.mapped().get());
  graphs_[*graph] = std::move(captured.mapped());
  return cudaSuccess;
}

cudaError_t FakeApi::create_graph(cudaGraph_t* graph) {
  const std::lock_guard lock(mutex_);
  if (const cudaError_t status = status_of("create_graph"); status != cudaSuccess) return status;
  auto made = std::make_unique<Nodes>();
  *graph = reinterpret_cast<cudaGraph_t>(made.get());
  graphs_[*graph] = std::move(made);
  return cudaSuccess;
}

cudaError_t FakeApi::destroy_graph(cudaGraph_t graph) {
  const std::lock_guard lock(mutex_);
  EXPECT_EQ(graphs_.erase(graph), 1U);
  return status_of("destroy_graph");
}

cudaError_t FakeApi::get_node_count(cudaGraph_t graph, std::size_t* count) {
  const std::lock_guard lock(mutex_);
  *count = graphs_.at(graph)->size();
  return status_of("get_node_count");
}

FakeApi::Tasks FakeApi::all_tasks(const Nodes& nodes) {
  Tasks tasks;
  for (const auto& node : nodes) tasks.insert(tasks.end(), node->begin(), node->end());
  return tasks;
}

cudaError_t FakeApi::add_child_graph(cudaGraphNode_t* node, cudaGraph_t graph, cudaGraphNode_t after,
                                     cudaGraph_t child) {
  const std::lock_guard lock(mutex_);
  if (const cudaError_t status = status_of("add_child_graph"); status != cudaSuccess) return status;
  Nodes& nodes = *graphs_.at(graph);
  EXPECT_EQ(after, nodes.empty() ? nullptr
                                 : reinterpret_cast<cudaGraphNode_t>(
                                       const_cast<Tasks*>(nodes.back().get())));  // no two run at once
  auto made = std::make_shared<Tasks>(all_tasks(*graphs_.at(child)));
  EXPECT_FALSE(made->empty());
  *node = reinterpret_cast<cudaGraphNode_t>(made.get());
  nodes.push_back(std::move(made));
  return cudaSuccess;
}

cudaError_t FakeApi::instantiate_graph(cudaGraphExec_t* executable, cudaGraph_t graph) {
  const std::lock_guard lock(mutex_);
  if (const cudaError_t status = status_of("instantiate_graph"); status != cudaSuccess) return status;
  const Nodes& nodes = *graphs_.at(graph);
  auto made = std::make_unique<Executable>(Executable{nodes, nodes});
  *executable = reinterpret_cast<cudaGraphExec_t>(made.get());
  executables_[*executable] = std::move(made);
  return cudaSuccess;
}

cudaError_t FakeApi::destroy_executable_graph(cudaGraphExec_t executable) {
  const std::lock_guard lock(mutex_);
  EXPECT_EQ(executables_.erase(executable), 1U);
  return status_of("destroy_executable_graph");
}

cudaError_t FakeApi::set_child_graph(cudaGraphExec_t executable, cudaGraphNode_t node, cudaGraph_t child) {
  const std::lock_guard lock(mutex_);
  if (const cudaError_t status = status_of("set_child_graph"); status != cudaSuccess) return status;
  Executable& changed = *executables_.at(executable);
  const auto is_meant = [node](const auto& tasks) { return static_cast<const void*>(tasks.get()) == node; };
  const auto place = std::ranges::find_if(changed.nodes, is_meant);
  if (place == changed.nodes.end()) return cudaErrorInvalidValue;
  auto tasks = std::make_shared<const Tasks>(all_tasks(*graphs_.at(child)));
  if (tasks->size() != (*place)->size()) return cudaErrorGraphExecUpdateFailure;
  changed.current[static_cast<std::size_t>(place - changed.nodes.begin())] = std::move(tasks);
  return cudaSuccess;
}

cudaError_t FakeApi::launch_graph(cudaGraphExec_t executable, cudaStream_t stream) {
  const std::lock_guard lock(mutex_);
  if (const cudaError_t status = status_of("launch_graph"); status != cudaSuccess) return status;
  EXPECT_FALSE(is_capturing(stream));
  // The tasks are taken as they are now, because a later change is for later launches.
  return push(stream, [tasks = all_tasks(executables_.at(executable)->current)] {
    for (const auto& task : tasks) task();
  });
}

}  // namespace asyncgrad::tests
