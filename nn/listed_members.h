// The members of an object by their kinds. Internal.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "asyncgrad/nn/members.h"

namespace asyncgrad::nn {

// The members that an object lists now, in its order. The tensors are the object's own, and the values point into it.
class ListedMembers final : public Members::Visitor {
 public:
  template <class Object>
  explicit ListedMembers(Object& object) {
    Members::visit(object, *this);
  }

  void tensor(const std::string& path, Tensor& tensor) override { tensors.emplace_back(path, tensor); }
  void value(const std::string& path, Value value) override { values.emplace_back(path, value); }
  void not_negative(const std::string& path, Value value) override {
    values.emplace_back(path, value);
    not_negatives.insert(path);
  }

  std::vector<std::pair<std::string, Tensor>> tensors;
  std::vector<std::pair<std::string, Value>> values;
  std::set<std::string> not_negatives;  // the paths of values
};

}  // namespace asyncgrad::nn
