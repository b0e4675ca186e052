// Results as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace support {

using Json = nlohmann::ordered_json;

// Its text, in one line or indented. What is not UTF-8 in it is replaced: a name that the system gives never costs the
// results.
inline std::string text_of(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace support
