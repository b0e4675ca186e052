// The machine that figures were measured on.
#pragma once

#include "examples/support/json.h"

namespace support {

// {cpu, cores, memory_bytes, os, compiler, onednn}. A value that the system does not tell is "unknown".
Json machine();

}  // namespace support
