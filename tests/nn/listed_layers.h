// Layers whose lists have members of many kinds.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "tests/nn/scale.h"

namespace asyncgrad::nn {

// A buffer, inner layers, and a tensor that may hold nothing.
struct Block {
  Scale first, second;
  Dense dense{2, 3};
  Tensor seen = zeros({4}), absent;
  Activation activation = relu;

  Tensor operator()(const Tensor& x) const { return activation(dense(second(first(x)))); }
  void members(Members& m) {
    m("first", first);
    m("second", second);
    m("dense", dense);
    m("activation", activation);
    m("seen", seen);
    m("absent", absent);
  }
};

// The paths of the tensors.
inline std::vector<std::string> names(const std::vector<std::pair<std::string, Tensor>>& state) {
  std::vector<std::string> names;
  for (const auto& entry : state) names.push_back(entry.first);
  return names;
}

// Members of every kind.
struct Kinds {
  std::vector<Tensor> tensors{ones({2}), Tensor(), parameter(ones({3}))};
  std::array<Scale, 2> scales;
  std::optional<Dense> none, some{Dense(2, 3)};
  std::shared_ptr<Scale> pointer = std::make_shared<Scale>(), same = pointer, null;
  std::vector<std::vector<std::shared_ptr<Scale>>> nested{{}, {std::make_shared<Scale>()}};
  int small = 1;
  std::int64_t large = 2;
  bool flag = true;
  double rate = 0.5;
  std::string text = "text";
  Generator generator;

  void members(Members& m) {
    m("tensors", tensors);
    m("scales", scales);
    m("none", none);
    m("some", some);
    m("pointer", pointer);
    m("same", same);
    m("null", null);
    m("nested", nested);
    m("small", small);
    m("large", large);
    m("flag", flag);
    m("rate", rate);
    m("text", text);
    m("generator", generator);
  }
};

}  // namespace asyncgrad::nn
