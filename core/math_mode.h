// The precision with which products of matrices read float32.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace asyncgrad {

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"  // MathMode::float32 hides no type: it is never named without MathMode
enum class MathMode : std::uint8_t {
  float32,  // products read float32 as it is; the default
  bf16,     // products round their operands to bf16, which has the range of float32 and 8 significant bits
  tf32,     // on a GPU, products round to tf32, with the same range and 11 significant bits; on a CPU as float32
};
#pragma GCC diagnostic pop
// The name as it is spelled here, on command lines and in Python: "bf16".
std::string_view name_of(MathMode mode);
std::optional<MathMode> math_mode_of(std::string_view name);  // of exactly that name
std::string math_mode_names();                                // "float32, bf16 or tf32"

// Sets the mode of products for the whole process: those of matmul, dense and recurrent layers, on a CPU those of
// attention, on a GPU those of convolutions, and of the gradients of all these. An operation has the mode of the call that
// queues it; gradients have the mode of the call of backward(). Tensors stay float32, and in every mode products are
// summed in float32. float64 is not affected. Does not block; any thread may call it.
//
// Processors with AMX for bf16 multiply several times faster in bf16 mode. Others round the operands and multiply in
// float32, which is right but slower than MathMode::float32.
void set_math_mode(MathMode mode);
// The mode now. Does not block; any thread may call it.
MathMode math_mode();

namespace detail {

// While it lives, math_mode() is `mode` on the calling thread. Scopes of one thread end in the reverse order of their
// beginning.
class MathModeScope {
 public:
  [[nodiscard]] explicit MathModeScope(MathMode mode);
  MathModeScope(const MathModeScope&) = delete;
  MathModeScope& operator=(const MathModeScope&) = delete;
  ~MathModeScope();

 private:
  MathMode mode_;
  const MathMode* outer_;
};

}  // namespace detail

}  // namespace asyncgrad
