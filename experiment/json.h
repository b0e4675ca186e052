// Results as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "asyncgrad/experiment/machine.h"

namespace asyncgrad::experiment {

using Json = nlohmann::ordered_json;

// Its text, in one line or indented. Bytes that are not UTF-8 are replaced, so that a name from the system never makes
// the results unwritable.
std::string text_of(const Json& json, int indent = -1);

Json json_of(const Machine& machine);

}  // namespace asyncgrad::experiment
