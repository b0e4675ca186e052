#include "asyncgrad/nn/sequential.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <typeinfo>

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
  for (std::size_t i = 0; i < layers_.size(); ++i) value = call(i, Arg(value, x.where()));
  return value;
}

// An error of a layer whose path is not known says which Sequential it is in.
Tensor Sequential::call(std::size_t index, const Arg& x) const {
  const bool is_placed = path_ != members_detail::unknown_path;
  const LayerScope scope(!is_placed || path_.empty() ? std::to_string(index) : fmt::format("{}.{}", path_, index));
  if (is_placed) return layers_[index]->call(x);
  try {
    return layers_[index]->call(x);
  } catch (const Error& error) {
    const std::string_view text = error.what();
    if (typeid(error) != typeid(Error) || !text.ends_with(", in layer " + error.parts().layer)) throw;
    throw Error(fmt::format("{} of Sequential{{{}}}", text, kinds()), error.kind(),
                std::make_shared<const Error::Parts>(error.parts()));
  }
}

void Sequential::members(Members& m) {
  m.keep_path(path_);
  for (std::size_t i = 0; i < layers_.size(); ++i) layers_[i]->name_in(m, std::to_string(i));
}

void Sequential::throw_null() const {
  throw_error("Sequential",
              fmt::format("layer {} is a null function; each layer is to be one that can be called", layers_.size()));
}

void Sequential::nest(const Sequential& inner) {
  if (inner.depth_ + 1 >= Members::max_depth) {
    throw_error("Sequential", fmt::format("layers are nested deeper than {}; put them side by side in one Sequential",
                                          Members::max_depth));
  }
  depth_ = std::max(depth_, inner.depth_ + 1);
}

std::string Sequential::kinds() const {
  std::string kinds;
  for (const auto& layer : layers_) kinds += (kinds.empty() ? "" : ", ") + layer->kind();
  return kinds;
}

Sequential::Any& Sequential::checked(std::size_t index, const std::type_info& wanted, const Location& where) const {
  const CallSite site(where);
  if (index >= layers_.size()) {
    throw_error("Sequential::at",
                fmt::format("there is no layer {} among {}, numbered from 0: {}", index, layers_.size(), kinds()),
                ErrorKind::index);
  }
  if (layers_[index]->type() != wanted) {
    throw_error("Sequential::at", fmt::format("layer {} of {} is not a {}, but a {}: {}", index, layers_.size(),
                                              members_detail::kind(wanted), layers_[index]->kind(), kinds()));
  }
  return *layers_[index];
}

}  // namespace asyncgrad::nn
