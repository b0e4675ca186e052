// The attributes of operations with a kernel of the program's own. Internal.
#pragma once

#include <cstdint>

namespace asyncgrad::detail {

struct CustomKernel;  // custom_kernel.h
struct CustomAttributes {
  const CustomKernel* kernel;
  const char* name;      // the same as the kernel's, which may be gone when a message or a profile is made
  std::uint64_t number;  // of the call: no two have the same attributes
};

}  // namespace asyncgrad::detail
