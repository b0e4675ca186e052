// Tensors that PyTorch has computed, in a file beside this header.
#pragma once

#include <map>
#include <string>

#include "asyncgrad/asyncgrad.h"
#include "asyncgrad/nn/safetensors/file.h"

namespace asyncgrad::tests {

// All tensors of a file of this folder, by name.
inline std::map<std::string, Tensor> references(const std::string& file) {
  const nn::safetensors::Reader reader("references", std::string(NN_REFERENCES) + "/" + file);
  std::map<std::string, Tensor> tensors;
  for (const auto& entry : reader.header().tensors) {
    tensors[entry.name] = reader.read(entry, entry.type == "I64" ? int64 : entry.type == "F64" ? float64 : float32, {});
  }
  return tensors;
}

}  // namespace asyncgrad::tests
