// How precisely products of matrices read float32.
#pragma once

#include <cstdint>

namespace asyncgrad {

enum class MathMode : std::uint8_t {
  float32,  // as it is: the default
  bf16,     // products round their operands to bf16, which has the range of float32 and 8 significant bits
  tf32,     // on a GPU, to tf32: the same range and 11 significant bits; elsewhere as float32
};

// What matmul, dense and their gradients do from now on, whichever thread calls them: the mode holds from the call that
// queues an operation, for gradients from backward(). Tensors stay float32, and in every mode products are summed in
// float32; float64 is not affected. Does not block; any thread may call it.
//
// Processors with AMX for bf16 multiply many times faster in bf16 mode. Others round the operands and multiply in
// float32: right, but slower than MathMode::float32.
void set_math_mode(MathMode mode);
MathMode math_mode();

}  // namespace asyncgrad
