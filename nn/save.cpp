#include "asyncgrad/nn/save.h"

#include "asyncgrad/nn/assignment.h"
#include "asyncgrad/nn/safetensors/file.h"

namespace asyncgrad::nn::save_detail {

void save(const std::string& path, const NamedTensors& tensors) { safetensors::write("nn::save", path, tensors, {}); }

Tensor save_queued(const std::string& path, const NamedTensors& tensors, Location where) {
  return safetensors::write_queued("nn::save_queued", path, tensors, {}, where);
}

void load(const std::string& path, const NamedTensors& tensors, const LoadOptions& options) {
  const safetensors::Reader file("nn::load", path);
  Assignments assignments(file, tensors, &options);
  assignments.throw_problems();
  assignments.read();
  assignments.assign();
}

}  // namespace asyncgrad::nn::save_detail
