#include "asyncgrad/backends/cuda/api.h"

#include <cudaTypedefs.h>

#include <utility>
#include <vector>

namespace asyncgrad::detail::cuda {

namespace {

// A call that fails leaves its status behind, even if an event is merely not complete yet.
cudaError_t own(cudaError_t status) {
  if (status != cudaSuccess) cudaGetLastError();
  return status;
}
// The driver's statuses have the runtime's numbers.
cudaError_t own(CUresult status) { return static_cast<cudaError_t>(status); }

// The driver's functions, as libcuda is not linked.
struct Driver {
  PFN_cuMemGetAllocationGranularity_v10020 get_granularity = nullptr;
  PFN_cuMemAddressReserve_v10020 reserve_addresses = nullptr;
  PFN_cuMemCreate_v10020 create_memory = nullptr;
  PFN_cuMemRelease_v10020 release_memory = nullptr;
  PFN_cuMemMap_v10020 map = nullptr;
  PFN_cuMemUnmap_v10020 unmap = nullptr;
  PFN_cuMemSetAccess_v10020 set_access = nullptr;
  cudaError_t status = cudaSuccess;  // of the search for them

  Driver() {
    find("cuMemGetAllocationGranularity", get_granularity);
    find("cuMemAddressReserve", reserve_addresses);
    find("cuMemCreate", create_memory);
    find("cuMemRelease", release_memory);
    find("cuMemMap", map);
    find("cuMemUnmap", unmap);
    find("cuMemSetAccess", set_access);
  }

 private:
  template <class Function>
  void find(const char* name, Function& function) {
    if (status != cudaSuccess) return;
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
    status = own(cudaGetDriverEntryPointByVersion(name, &found, 10020, cudaEnableDefault, &result));
    if (status == cudaSuccess && result != cudaDriverEntryPointSuccess) status = cudaErrorSymbolNotFound;
    function = reinterpret_cast<Function>(found);
  }
};

template <class Function, class... Arguments>
cudaError_t call_driver(Function Driver::*function, Arguments... arguments) {
  static const Driver driver;
  return driver.status != cudaSuccess ? driver.status : own((driver.*function)(arguments...));
}

CUmemLocation place_on(int device) { return {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}; }

CUmemAllocationProp memory_on(int device) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = place_on(device);
  return properties;
}

class CudaApi final : public Api {
 public:
  cudaError_t get_device_count(int* count) override { return own(cudaGetDeviceCount(count)); }
  cudaError_t get_device_properties(cudaDeviceProp* properties, int device) override {
    return own(cudaGetDeviceProperties(properties, device));
  }
  cudaError_t get_device(int* device) override { return own(cudaGetDevice(device)); }
  cudaError_t set_device(int device) override { return own(cudaSetDevice(device)); }
  cudaError_t synchronize_device() override { return own(cudaDeviceSynchronize()); }
  cudaError_t can_access_peer(bool* can, int device, int peer) override {
    int answer = 0;
    const cudaError_t status = own(cudaDeviceCanAccessPeer(&answer, device, peer));
    *can = answer != 0;
    return status;
  }

  cudaError_t create_stream(cudaStream_t* stream) override {
    return own(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking));
  }
  cudaError_t destroy_stream(cudaStream_t stream) override { return own(cudaStreamDestroy(stream)); }
  cudaError_t create_event(cudaEvent_t* event) override {
    return own(cudaEventCreateWithFlags(event, cudaEventDisableTiming));
  }
  cudaError_t create_timing_event(cudaEvent_t* event) override { return own(cudaEventCreate(event)); }
  cudaError_t destroy_event(cudaEvent_t event) override { return own(cudaEventDestroy(event)); }
  cudaError_t record_event(cudaEvent_t event, cudaStream_t stream) override {
    return own(cudaEventRecord(event, stream));
  }
  cudaError_t wait_event(cudaStream_t stream, cudaEvent_t event) override {
    return own(cudaStreamWaitEvent(stream, event, cudaEventWaitDefault));
  }
  cudaError_t query_event(cudaEvent_t event) override { return own(cudaEventQuery(event)); }
  cudaError_t get_elapsed_time(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) override {
    return own(cudaEventElapsedTime(milliseconds, begin, end));
  }

  cudaError_t copy_async(void* to, const void* from, std::size_t size, cudaStream_t stream) override {
    return own(cudaMemcpyAsync(to, from, size, cudaMemcpyDefault, stream));
  }
  cudaError_t copy_peer_async(void* to, int to_device, const void* from, int from_device, std::size_t size,
                              cudaStream_t stream) override {
    return own(cudaMemcpyPeerAsync(to, to_device, from, from_device, size, stream));
  }
  cudaError_t launch_host_function(cudaStream_t stream, cudaHostFn_t function, void* data) override {
    return own(cudaLaunchHostFunc(stream, function, data));
  }
  cudaError_t take_last_error() override { return cudaGetLastError(); }

  cudaError_t begin_capture(cudaStream_t stream) override {
    return own(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  }
  cudaError_t end_capture(cudaStream_t stream, cudaGraph_t* graph) override {
    return own(cudaStreamEndCapture(stream, graph));
  }
  cudaError_t create_graph(cudaGraph_t* graph) override { return own(cudaGraphCreate(graph, 0)); }
  cudaError_t destroy_graph(cudaGraph_t graph) override { return own(cudaGraphDestroy(graph)); }
  cudaError_t get_node_count(cudaGraph_t graph, std::size_t* count) override {
    return own(cudaGraphGetNodes(graph, nullptr, count));
  }
  cudaError_t add_child_graph(cudaGraphNode_t* node, cudaGraph_t graph, cudaGraphNode_t after,
                              cudaGraph_t child) override {
    return own(cudaGraphAddChildGraphNode(node, graph, &after, after == nullptr ? 0 : 1, child));
  }
  cudaError_t instantiate_graph(cudaGraphExec_t* executable, cudaGraph_t graph) override {
    return own(cudaGraphInstantiate(executable, graph, 0));
  }
  cudaError_t destroy_executable_graph(cudaGraphExec_t executable) override {
    return own(cudaGraphExecDestroy(executable));
  }
  cudaError_t set_child_graph(cudaGraphExec_t executable, cudaGraphNode_t node, cudaGraph_t child) override {
    return own(cudaGraphExecChildGraphNodeSetParams(executable, node, child));
  }
  cudaError_t launch_graph(cudaGraphExec_t executable, cudaStream_t stream) override {
    return own(cudaGraphLaunch(executable, stream));
  }

  cudaError_t allocate_host(void** memory, std::size_t size) override { return own(cudaMallocHost(memory, size)); }
  cudaError_t free_host(void* memory) override { return own(cudaFreeHost(memory)); }
  cudaError_t register_host(void* memory, std::size_t size) override {
    return own(cudaHostRegister(memory, size, cudaHostRegisterPortable));
  }
  cudaError_t unregister_host(void* memory) override { return own(cudaHostUnregister(memory)); }
  cudaError_t get_memory_info(std::size_t* free, std::size_t* total) override {
    return own(cudaMemGetInfo(free, total));
  }

  cudaError_t get_granularity(std::size_t* size, int device) override {
    const CUmemAllocationProp properties = memory_on(device);
    return call_driver(&Driver::get_granularity, size, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
  }
  cudaError_t reserve_addresses(CUdeviceptr* begin, std::size_t size) override {
    return call_driver(&Driver::reserve_addresses, begin, size, 0, 0, 0);
  }
  cudaError_t create_memory(CUmemGenericAllocationHandle* memory, std::size_t size, int device) override {
    const CUmemAllocationProp properties = memory_on(device);
    return call_driver(&Driver::create_memory, memory, size, &properties, 0);
  }
  cudaError_t release_memory(CUmemGenericAllocationHandle memory) override {
    return call_driver(&Driver::release_memory, memory);
  }
  cudaError_t map(CUdeviceptr begin, std::size_t size, CUmemGenericAllocationHandle memory) override {
    return call_driver(&Driver::map, begin, size, 0, memory, 0);
  }
  cudaError_t unmap(CUdeviceptr begin, std::size_t size) override { return call_driver(&Driver::unmap, begin, size); }
  cudaError_t set_access(CUdeviceptr begin, std::size_t size, std::span<const int> devices) override {
    std::vector<CUmemAccessDesc> access;
    for (const int device : devices) {
      access.push_back({.location = place_on(device), .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE});
    }
    return call_driver(&Driver::set_access, begin, size, access.data(), access.size());
  }

  std::string str(cudaError_t status) override {
    return std::string(cudaGetErrorString(status)) + " (" + cudaGetErrorName(status) + ")";
  }
};

}  // namespace

Api& cuda_api() {
  static CudaApi* const api = new CudaApi;  // never destroyed, like the devices
  return *api;
}

}  // namespace asyncgrad::detail::cuda
