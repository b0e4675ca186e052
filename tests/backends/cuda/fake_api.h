// CUDA without a GPU: streams are threads, a GPU's memory is the machine's.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "asyncgrad/backends/cuda/api.h"
#include "tests/support/fake_stream.h"

namespace asyncgrad::tests {

struct FakeApiOptions {
  int gpus = 2;
  bool reach_each_other = true;
  std::uint64_t seed = 1;
  int max_delay_us = 100;                             // before what a stream does, now and then
  std::int64_t memory_bytes = std::int64_t{1} << 30;  // of each GPU
  int capability = 75;                                // of each GPU, 75 for 7.5
  bool values_at_page_ends = false;                   // with FakeGpus: see MemorySource
  bool fills_memory = true;                           // with NaN before it is used, so that what nobody wrote is seen
};

// A call that breaks a rule of CUDA fails the test. Copies are between pinned memory and a GPU's. Memory is mapped
// where there is none, and unmapped in whole pieces. A thread sets its device first, and an object is destroyed under
// the device that it was made for. The process ends if it touches memory that is not mapped or that has no access.
class FakeApi final : public detail::cuda::Api {
 public:
  explicit FakeApi(const FakeApiOptions& options = {});
  ~FakeApi() override;

  // Makes the `index`-th call of a function from now on return this status and do nothing, except that it ends what it
  // is to end. "launch" is a function, too. With `is_lasting` all later calls return the status, and streams run
  // nothing more.
  void fail(const std::string& function, int index, cudaError_t status, bool is_lasting = false);
  bool has_failed() const { return has_failed_; }
  std::map<std::string, int> calls() const;  // of each function so far
  std::size_t objects() const;               // streams, events, graphs, and memory with a handle
  std::size_t timing_events() const;
  std::size_t pinned_blocks() const;
  std::size_t registered_bytes() const;
  std::int64_t used_bytes(int gpu) const;
  static int device_of_this_thread();  // -1: it has set none

  // No more than this can be registered.
  void limit_registered(std::size_t bytes);

  // Makes kernels that streams have not begun wait, until it is called with false.
  void hold_kernels(bool hold);
  // Makes get_device_count() wait, until it is called with false.
  void hold_count(bool hold);
  int host_functions() const { return host_functions_; }  // that streams are through with

  // Ends all memory, which must not be used afterwards.
  void end_memory();

  // Launches a kernel, which runs when the stream comes to it.
  void launch(cudaStream_t stream, std::function<void()> kernel);

  cudaError_t get_device_count(int* count) override;
  cudaError_t get_device_properties(cudaDeviceProp* properties, int device) override;
  cudaError_t set_device(int device) override;
  cudaError_t get_device(int* device) override;
  cudaError_t synchronize_device() override;
  cudaError_t can_access_peer(bool* can, int device, int peer) override;
  cudaError_t create_stream(cudaStream_t* stream) override;
  cudaError_t destroy_stream(cudaStream_t stream) override;
  cudaError_t create_event(cudaEvent_t* event) override;
  cudaError_t create_timing_event(cudaEvent_t* event) override;
  cudaError_t destroy_event(cudaEvent_t event) override;
  cudaError_t record_event(cudaEvent_t event, cudaStream_t stream) override;
  cudaError_t wait_event(cudaStream_t stream, cudaEvent_t event) override;
  cudaError_t query_event(cudaEvent_t event) override;
  cudaError_t get_elapsed_time(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) override;
  cudaError_t copy_async(void* to, const void* from, std::size_t size, cudaStream_t stream) override;
  cudaError_t copy_peer_async(void* to, int to_device, const void* from, int from_device, std::size_t size,
                              cudaStream_t stream) override;
  cudaError_t launch_host_function(cudaStream_t stream, cudaHostFn_t function, void* data) override;
  cudaError_t take_last_error() override;
  cudaError_t begin_capture(cudaStream_t stream) override;
  cudaError_t end_capture(cudaStream_t stream, cudaGraph_t* graph) override;
  cudaError_t create_graph(cudaGraph_t* graph) override;
  cudaError_t destroy_graph(cudaGraph_t graph) override;
  cudaError_t get_node_count(cudaGraph_t graph, std::size_t* count) override;
  cudaError_t add_child_graph(cudaGraphNode_t* node, cudaGraph_t graph, cudaGraphNode_t after,
                              cudaGraph_t child) override;
  cudaError_t instantiate_graph(cudaGraphExec_t* executable, cudaGraph_t graph) override;
  cudaError_t destroy_executable_graph(cudaGraphExec_t executable) override;
  cudaError_t set_child_graph(cudaGraphExec_t executable, cudaGraphNode_t node, cudaGraph_t child) override;
  cudaError_t launch_graph(cudaGraphExec_t executable, cudaStream_t stream) override;
  cudaError_t allocate_host(void** memory, std::size_t size) override;
  cudaError_t free_host(void* memory) override;
  cudaError_t register_host(void* memory, std::size_t size) override;
  cudaError_t unregister_host(void* memory) override;
  cudaError_t get_memory_info(std::size_t* free, std::size_t* total) override;
  cudaError_t get_granularity(std::size_t* size, int device) override;
  cudaError_t reserve_addresses(CUdeviceptr* begin, std::size_t size) override;
  cudaError_t create_memory(CUmemGenericAllocationHandle* memory, std::size_t size, int device) override;
  cudaError_t release_memory(CUmemGenericAllocationHandle memory) override;
  cudaError_t map(CUdeviceptr begin, std::size_t size, CUmemGenericAllocationHandle memory) override;
  cudaError_t unmap(CUdeviceptr begin, std::size_t size) override;
  cudaError_t set_access(CUdeviceptr begin, std::size_t size, std::span<const int> devices) override;
  std::string str(cudaError_t status) override;

 private:
  struct Block {
    Block(std::int64_t size, std::int64_t& used) : size(size), used(used) { used += size; }
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;
    ~Block() { used -= size; }
    const std::int64_t size;
    std::int64_t& used;  // of its GPU
  };

  // A node of a graph does these one after another: a captured task, or all tasks of a child graph.
  using Tasks = std::vector<std::function<void()>>;
  using Nodes = std::vector<std::shared_ptr<const Tasks>>;
  // The nodes of the graph that it was made of, and the tasks that these have now.
  struct Executable {
    Nodes nodes, current;
  };
  static Tasks all_tasks(const Nodes& nodes);
  bool is_capturing(cudaStream_t stream) const { return captures_.contains(stream); }

  cudaError_t status_of(const char* function);
  void note_made(const void* object);
  void note_ended(const void* object);
  cudaError_t make_event(cudaEvent_t* event);
  cudaError_t push(cudaStream_t stream, std::function<void()> task);
  cudaError_t push_copy(cudaStream_t stream, void* to, const void* from, std::size_t size);
  bool is_reachable(const void* begin, std::size_t size) const;

  const FakeApiOptions options_;
  mutable std::recursive_mutex mutex_;  // over all below
  std::map<std::string, int> calls_;
  std::string failing_;
  int until_failing_ = 0;
  cudaError_t failing_status_ = cudaSuccess, lasting_status_ = cudaSuccess, last_error_ = cudaSuccess;
  bool is_lasting_ = false;
  std::atomic<bool> has_failed_ = false, is_dead_ = false, is_held_ = false, is_count_held_ = false;
  std::atomic<int> host_functions_ = 0;
  std::mt19937_64 random_;
  std::map<cudaStream_t, std::unique_ptr<FakeStream>> streams_;
  std::map<cudaEvent_t, std::shared_ptr<FakeRecordings>> events_;
  std::set<cudaEvent_t> timing_events_;
  std::map<cudaStream_t, std::unique_ptr<Nodes>> captures_;  // under way
  std::map<cudaGraph_t, std::unique_ptr<Nodes>> graphs_;
  std::map<cudaGraphExec_t, std::unique_ptr<Executable>> executables_;
  struct Pinned {
    std::unique_ptr<std::byte[]> memory;  // nobody writes it before it is used: it is large
    std::size_t size = 0;
  };
  std::map<const std::byte*, Pinned> pinned_;
  std::map<const std::byte*, std::size_t> registered_;
  std::size_t registered_limit_ = SIZE_MAX;
  std::map<const void*, int> device_of_;  // of streams, events and pinned memory
  std::vector<std::int64_t> used_bytes_;  // of each GPU; blocks count there
  std::map<CUmemGenericAllocationHandle, std::shared_ptr<Block>> blocks_;
  std::map<CUdeviceptr, std::shared_ptr<Block>> mapped_;
  CUmemGenericAllocationHandle last_block_ = 0;
  std::map<void*, std::size_t> regions_;  // of addresses
};

}  // namespace asyncgrad::tests
