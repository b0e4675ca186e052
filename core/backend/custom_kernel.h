// A kernel that the program brings along. Internal.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "asyncgrad/core/backend/attributes/custom.h"
#include "asyncgrad/core/backend/kernel.h"
#include "asyncgrad/core/custom_call.h"

namespace asyncgrad::detail {

// The data of one call of custom(). The operation owns a share of it until it has ended.
struct CustomKernel {
  const char* name;  // never freed
  std::function<void(const CustomCall&)> run, run_on_cuda;
  int tiles = 1;
  std::int64_t scratch_bytes = 0;
  std::int64_t cost = 0;  // 0: the elements of all operands
  bool recomputable = false;
  int outputs = 0, inputs = 0;
  // Each input's place among the operands, and whether it is written in place. Empty if no input is.
  std::vector<int> places{};
  std::vector<bool> is_in_place{};
};

inline const CustomKernel& custom_kernel(const KernelCall& call) { return *call.attributes<CustomAttributes>().kernel; }

// Makes the entry of a table of kernels. `run` runs the program's kernel on that kind of device.
constexpr Kernel custom_entry(void (*run)(const KernelCall& call, int tile)) {
  return {.run = run,
          .tiles = [](const KernelCall& call) { return custom_kernel(call).tiles; },
          .scratch_bytes = [](const KernelCall& call) { return custom_kernel(call).scratch_bytes; },
          .cost =
              [](const KernelCall& call) {
                const std::int64_t cost = custom_kernel(call).cost;
                return cost != 0 ? cost : call.elements();
              }};
}

}  // namespace asyncgrad::detail
