// Results as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "asyncgrad/experiment/machine.h"

namespace asyncgrad::experiment {

using Json = nlohmann::ordered_json;

// Its text, in one line or indented. What is not UTF-8 in it is replaced: a name that the system gives never costs the
// results.
std::string text_of(const Json& json, int indent = -1);

Json json_of(const Machine& machine);

}  // namespace asyncgrad::experiment
