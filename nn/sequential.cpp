#include "asyncgrad/nn/sequential.h"

#include <fmt/format.h>

#include <algorithm>

#include "asyncgrad/core/error.h"
#include "asyncgrad/core/layer_scope.h"

namespace asyncgrad::nn {

Sequential::Sequential(const Sequential& other) : path_(other.path_), depth_(other.depth_) {
  layers_.reserve(other.layers_.size());
  for (const auto& layer : other.layers_) layers_.push_back(layer->copy());
}

Sequential& Sequential::operator=(Sequential other) noexcept {
  layers_.swap(other.layers_);
  path_.swap(other.path_);
  depth_ = other.depth_;
  return *this;
}

Tensor Sequential::operator()(const Arg& x) const {
  Tensor value = x;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const LayerScope scope(path_.empty() ? std::to_string(i) : fmt::format("{}.{}", path_, i));
    value = layers_[i]->call(Arg(value, x.where()));
  }
  return value;
}

void Sequential::members(Members& m) {
  m.keep_path(path_);
  for (std::size_t i = 0; i < layers_.size(); ++i) layers_[i]->name_in(m, std::to_string(i));
}

void Sequential::throw_null() const {
  throw_error("Sequential", fmt::format("layer {} is a null function", layers_.size()));
}

void Sequential::nest(const Sequential& inner) {
  if (inner.depth_ + 1 >= Members::max_depth) {
    throw_error("Sequential", fmt::format("layers are nested deeper than {}", Members::max_depth));
  }
  depth_ = std::max(depth_, inner.depth_ + 1);
}

Sequential::Any& Sequential::checked(std::size_t index, const std::type_info& wanted) const {
  std::string kinds;
  for (const auto& layer : layers_) kinds += (kinds.empty() ? "" : ", ") + layer->kind();
  if (index >= layers_.size()) {
    throw_error("Sequential::at", fmt::format("there is no layer {} among {}: {}", index, layers_.size(), kinds));
  }
  if (layers_[index]->type() != wanted) {
    throw_error("Sequential::at", fmt::format("layer {} of {} is not a {}: {}", index, layers_.size(),
                                              members_detail::kind(wanted), kinds));
  }
  return *layers_[index];
}

}  // namespace asyncgrad::nn
