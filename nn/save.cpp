#include "asyncgrad/nn/save.h"

#include "asyncgrad/core/wording.h"
#include "asyncgrad/nn/assignment.h"
#include "asyncgrad/nn/safetensors/file.h"

namespace asyncgrad::nn::save_detail {

namespace {

// Returns the name by which the program calls a function. Both are literals, and so end in 0.
const char* name(const char* cpp, const char* python) { return detail::in_program(cpp, python).data(); }

}  // namespace

void save(const std::string& path, const NamedTensors& tensors) {
  safetensors::write(name("nn::save", "save"), path, tensors, {});
}

Tensor save_queued(const std::string& path, const NamedTensors& tensors, Location where) {
  return safetensors::write_queued(name("nn::save_queued", "save_queued"), path, tensors, {}, where);
}

void load(const std::string& path, const NamedTensors& tensors, const LoadOptions& options) {
  const safetensors::Reader file(name("nn::load", "load"), path);
  Assignments assignments(file, tensors, &options);
  assignments.throw_problems();
  assignments.read();
  assignments.assign();
}

}  // namespace asyncgrad::nn::save_detail
