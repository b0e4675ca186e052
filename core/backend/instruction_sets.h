// The instruction sets of the CPU that kernels use, which decide on the bits of results. Processes compare them. Internal.
#pragma once

#include <cstdint>
#include <string>

namespace asyncgrad::detail {

// A bit for each set for which kernels are compiled and which this processor has. The lowest bit is the best one, which
// kernels use. Another process of the same library gives the same bits the same meaning.
std::uint64_t instruction_sets();
// Returns the sets that the library of matrix products uses; the first call decides that for good.
std::uint64_t instruction_sets_of_products();
// As people call them, such as "AVX2": the best of instruction_sets(), and that of products.
std::string name_of_instruction_sets(std::uint64_t sets);
std::string name_of_product_sets(std::uint64_t sets);

// From here on kernels use the best of `sets`, which is one of instruction_sets(). Called before any kernel has run. False,
// and nothing changes, if oneDNN cannot.
bool limit_instruction_sets(std::uint64_t sets);

}  // namespace asyncgrad::detail
