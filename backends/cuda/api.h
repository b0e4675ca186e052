// The calls of CUDA that this backend makes, except the launches of its kernels. Internal.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace asyncgrad::detail::cuda {

// The functions are virtual, so that tests can replace a GPU. Every function except the last one calls the
// function of CUDA after which it is named; sizes are in bytes. A status belongs to its call alone, and none is left
// for take_last_error().
class Api {
 public:
  virtual ~Api() = default;

  virtual cudaError_t get_device_count(int* count) = 0;
  virtual cudaError_t get_device_properties(cudaDeviceProp* properties, int device) = 0;
  virtual cudaError_t set_device(int device) = 0;  // of the calling thread
  virtual cudaError_t get_device(int* device) = 0;
  virtual cudaError_t synchronize_device() = 0;  // of the calling thread; blocks
  virtual cudaError_t can_access_peer(bool* can, int device, int peer) = 0;

  // These concern the calling thread's device. A stream waits for another one only on request. Only timing events
  // record the time.
  virtual cudaError_t create_stream(cudaStream_t* stream) = 0;
  virtual cudaError_t destroy_stream(cudaStream_t stream) = 0;
  virtual cudaError_t create_event(cudaEvent_t* event) = 0;
  virtual cudaError_t create_timing_event(cudaEvent_t* event) = 0;
  virtual cudaError_t destroy_event(cudaEvent_t event) = 0;
  virtual cudaError_t record_event(cudaEvent_t event, cudaStream_t stream) = 0;
  virtual cudaError_t wait_event(cudaStream_t stream, cudaEvent_t event) = 0;
  virtual cudaError_t query_event(cudaEvent_t event) = 0;  // cudaErrorNotReady if it is not complete yet
  virtual cudaError_t get_elapsed_time(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) = 0;

  // The host's memory is pinned.
  virtual cudaError_t copy_async(void* to, const void* from, std::size_t size, cudaStream_t stream) = 0;
  virtual cudaError_t copy_peer_async(void* to, int to_device, const void* from, int from_device, std::size_t size,
                                      cudaStream_t stream) = 0;
  virtual cudaError_t launch_host_function(cudaStream_t stream, cudaHostFn_t function, void* data) = 0;
  virtual cudaError_t take_last_error() = 0;  // of a kernel's launch

  // Graphs. A capture takes what is put on the stream until its end. It is relaxed, so it ignores other threads and
  // streams.
  virtual cudaError_t begin_capture(cudaStream_t stream) = 0;
  virtual cudaError_t end_capture(cudaStream_t stream, cudaGraph_t* graph) = 0;  // null if it fails
  virtual cudaError_t create_graph(cudaGraph_t* graph) = 0;
  virtual cudaError_t destroy_graph(cudaGraph_t graph) = 0;
  virtual cudaError_t get_node_count(cudaGraph_t graph, std::size_t* count) = 0;
  virtual cudaError_t add_child_graph(cudaGraphNode_t* node, cudaGraph_t graph, cudaGraphNode_t after,
                                      cudaGraph_t child) = 0;  // adds a copy of `child`; `after` may be null
  virtual cudaError_t instantiate_graph(cudaGraphExec_t* executable, cudaGraph_t graph) = 0;
  virtual cudaError_t destroy_executable_graph(cudaGraphExec_t executable) = 0;  // it may be running
  virtual cudaError_t set_child_graph(cudaGraphExec_t executable, cudaGraphNode_t node, cudaGraph_t child) = 0;
  virtual cudaError_t launch_graph(cudaGraphExec_t executable, cudaStream_t stream) = 0;

  virtual cudaError_t allocate_host(void** memory, std::size_t size) = 0;  // pinned
  virtual cudaError_t free_host(void* memory) = 0;
  virtual cudaError_t register_host(void* memory,
                                    std::size_t size) = 0;  // pins memory of the program, for every device
  virtual cudaError_t unregister_host(void* memory) = 0;    // the whole of it
  virtual cudaError_t get_memory_info(std::size_t* free, std::size_t* total) = 0;  // of the calling thread's device

  // The driver's functions for virtual memory. The calling thread needs no device for them.
  virtual cudaError_t get_granularity(std::size_t* size, int device) = 0;
  virtual cudaError_t reserve_addresses(CUdeviceptr* begin, std::size_t size) = 0;
  virtual cudaError_t create_memory(CUmemGenericAllocationHandle* memory, std::size_t size, int device) = 0;
  virtual cudaError_t release_memory(CUmemGenericAllocationHandle memory) = 0;  // it stays valid where it is mapped
  virtual cudaError_t map(CUdeviceptr begin, std::size_t size, CUmemGenericAllocationHandle memory) = 0;
  virtual cudaError_t unmap(CUdeviceptr begin, std::size_t size) = 0;
  virtual cudaError_t set_access(CUdeviceptr begin, std::size_t size, std::span<const int> devices) = 0;

  // "out of memory (cudaErrorMemoryAllocation)"
  virtual std::string str(cudaError_t status) = 0;
};

// The functions of CUDA itself. The driver is loaded at the first call that needs it, so programs run without one.
Api& cuda_api();

}  // namespace asyncgrad::detail::cuda
