// Tensors that PyTorch has computed, in a file beside this header.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "asyncgrad/nn/safetensors/file.h"

namespace asyncgrad::tests {

// All tensors of a file of this folder, by name.
inline std::map<std::string, Tensor> references(const std::string& file) {
  const nn::safetensors::Reader reader("references", std::string(NN_REFERENCES) + "/" + file);
  std::map<std::string, Tensor> tensors;
  for (const auto& entry : reader.header().tensors) {
    tensors[entry.name] = reader.read(entry, {});
  }
  return tensors;
}

// Expects the same shape, and elements that are as near as sums in another order are.
inline void expect_near(const Tensor& found, const Tensor& expected, double tolerance = 1e-12) {
  ASSERT_TRUE(found.defined());
  ASSERT_EQ(found.shape(), expected.shape());
  const std::vector<double> x = found.to_vector<double>(), y = expected.to_vector<double>();
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_NEAR(x[i], y[i], tolerance * (1 + std::abs(y[i]))) << "element " << i;
  }
}

}  // namespace asyncgrad::tests
