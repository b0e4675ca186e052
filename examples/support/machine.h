// What a report says about the machine it was measured on.
#pragma once

#include <nlohmann/json.hpp>

namespace support {

using Json = nlohmann::ordered_json;

// {cpu, cores, memory_bytes, os, compiler, onednn}; what the system does not tell is "unknown".
Json machine();

}  // namespace support
