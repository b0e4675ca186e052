#include "asyncgrad/experiment/json.h"

namespace asyncgrad::experiment {

std::string text_of(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

Json json_of(const Machine& machine) {
  return {{"cpu", machine.cpu}, {"cores", machine.cores},       {"memory_bytes", machine.memory_bytes},
          {"os", machine.os},   {"compiler", machine.compiler}, {"onednn", machine.onednn}};
}

}  // namespace asyncgrad::experiment
