// What messages tell the program to write, in the program's language. Internal.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "asyncgrad/core/device.h"
#include "asyncgrad/core/dtype.h"
#include "asyncgrad/core/shape.h"

namespace asyncgrad::detail {

enum class ProgramLanguage : std::uint8_t { cpp, python };

// It is C++ unless the extension for Python, when it is loaded, says otherwise. Any thread may call any function.
void set_program_language(ProgramLanguage language) noexcept;
// One of the two texts.
std::string_view in_program(std::string_view cpp, std::string_view python);

// Scopes that a program opens: "NoGrad" or "no_grad()", and so on.
std::string_view no_grad_str();
std::string_view enable_grad_str();
std::string_view inference_str();

// Calls that convert, copy and reshape a tensor: ".to(ag::float32)" or ".to(ag.float32)", `.to("cpu:1")`,
// ".reshape({6, 1})" or ".reshape(6, 1)".
std::string to_str(DType dtype);
std::string to_str(Device device);
std::string reshape_str(const Shape& shape);

// "float32, bf16 or tf32".
std::string alternatives(std::span<const std::string_view> names);

// Says in errors what shapes that broadcast have in common.
inline constexpr std::string_view broadcast_rule = "; from the last axis on, extents are to be equal or 1";

// What to do with images whose channels come last, or which have no axis of samples, for a layer of `channels`:
// "; x looks like (N, H, W, C): permute(x, {0, 3, 1, 2}) makes it (2, 3, 8, 8)". Empty for any other shape. `axes` are
// those that x should have.
std::string image_hint(const Shape& x, std::int64_t channels, int axes);

}  // namespace asyncgrad::detail
