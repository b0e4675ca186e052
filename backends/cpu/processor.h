// Whether this processor has the instruction sets for which the kernels were compiled. Internal.
#pragma once

#include <cstdint>
#include <string>

namespace asyncgrad::detail {

// Both are Highway's sets of bits, a bit for an instruction set. Returns a sentence that says why a library compiled
// for `compiled` cannot run on a processor that supports `supported`; "" if it can, as it has one of them.
std::string processor_refusal(std::int64_t compiled, std::int64_t supported);

// Throws Error if the library was compiled for other processors than this one. Call it before any kernel.
void check_processor();

}  // namespace asyncgrad::detail
