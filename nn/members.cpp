#include "asyncgrad/nn/members.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "asyncgrad/core/error.h"

namespace asyncgrad::nn {

std::string Members::path(std::string_view name) const {
  if (name.empty() || name.find('.') != std::string_view::npos) {
    throw_error("members", fmt::format("a member's name must not be empty or have a dot in it: \"{}\" in layer \"{}\"",
                                       name, path_));
  }
  return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
}

void Members::operator()(std::string_view name, Tensor& tensor) {
  const std::string tensor_path = path(name);
  if (tensor.defined()) visitor_->tensor(tensor_path, tensor);
}

namespace members_detail {

namespace {

// The index at which the last component of a qualified name begins. Template arguments have "::" of their own.
std::size_t last_component(const std::string& name) {
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (c == '<' || c == '(' || c == '{') ++depth;
    if (c == '>' || c == ')' || c == '}') --depth;
    if (depth == 0 && c == ':') begin = i + 1;
  }
  return begin;
}

bool same(const Tensor& a, const Tensor& b) { return a.impl() == b.impl(); }

}  // namespace

std::string kind(const std::type_info& type) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> demangled(
      abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), &std::free);
  if (status != 0) return type.name();
  const std::string name = demangled.get();
  const std::string last = name.substr(last_component(name));
  return last.starts_with("{lambda") ? "function" : last;
}

void StateVisitor::tensor(const std::string& path, Tensor& tensor) {
  if (std::ranges::any_of(state, [&](const auto& entry) { return entry.first == path; })) {
    throw_error("members", fmt::format("two members are called \"{}\"", path));
  }
  state.emplace_back(path, tensor);
}

std::vector<Tensor> parameters_of(const StateVisitor& visitor) {
  std::vector<Tensor> parameters;
  for (const auto& [path, found] : visitor.state) {
    const Tensor& tensor = found;  // a lambda cannot capture a structured binding
    const bool is_new = std::ranges::none_of(parameters, [&](const Tensor& other) { return same(other, tensor); });
    if (tensor.requires_grad() && is_new) parameters.push_back(tensor);
  }
  return parameters;
}

Tensor own_copy(const Tensor& tensor, Device device, Location where) {
  const Tensor value = tensor.detach();
  Tensor copy = tensor.device() == device ? value.clone(where) : value.to(device, where);
  if (tensor.requires_grad()) copy.requires_grad_();
  return copy;
}

void RebindVisitor::tensor(const std::string&, Tensor& tensor) {
  const auto known = std::ranges::find_if(made_, [&](const auto& entry) { return same(entry.first, tensor); });
  if (known != made_.end()) {
    tensor = known->second;
    return;
  }
  made_.emplace_back(tensor, make_(tensor));
  tensor = made_.back().second;
}

void SummaryVisitor::layer(const std::string& path, const std::string& kind) {
  rows_.push_back({.path = path, .kind = kind, .shapes = ""});
}

void SummaryVisitor::tensor(const std::string& path, Tensor& tensor) {
  // A tensor may be listed after inner layers, so its row is not always the last one.
  const std::size_t dot = path.rfind('.');
  const std::string layer_path = dot == std::string::npos ? "" : path.substr(0, dot);
  Row& row = *std::ranges::find(rows_, layer_path, &Row::path);
  const std::string text = fmt::format("{} {}", path.substr(dot + 1), tensor.shape().str());
  if (!row.shapes.empty()) row.shapes += ", ";
  row.shapes += tensor.requires_grad() ? text : fmt::format("[{}]", text);
  if (tensor.requires_grad()) row.parameters += tensor.numel();
  count(tensor);
}

void SummaryVisitor::count(const Tensor& tensor) {
  if (std::ranges::any_of(seen_, [&](const Tensor& other) { return same(other, tensor); })) return;
  seen_.push_back(tensor);
  (tensor.requires_grad() ? parameters_ : buffers_) += tensor.numel();
  size_bytes_ += tensor.numel() * static_cast<std::int64_t>(asyncgrad::size_bytes(tensor.dtype()));
}

std::string SummaryVisitor::str() const {
  std::size_t path_width = 5, kind_width = 4, shapes_width = 7;  // the widths of the headings
  for (const Row& row : rows_) {
    path_width = std::max(path_width, row.path.size());
    kind_width = std::max(kind_width, row.kind.size());
    shapes_width = std::max(shapes_width, row.shapes.size());
  }
  const auto line = [&](std::string_view path, std::string_view kind, std::string_view shapes, const auto& count) {
    return fmt::format("{:{}}  {:{}}  {:{}}  {:>10}\n", path, path_width, kind, kind_width, shapes, shapes_width,
                       count);
  };
  std::string text = line("layer", "kind", "tensors", "parameters");
  for (const Row& row : rows_) text += line(row.path, row.kind, row.shapes, row.parameters);
  text += fmt::format("total: {} parameters", parameters_);
  if (buffers_ > 0) text += fmt::format(", {} elements in buffers", buffers_);
  return text + fmt::format(", {} bytes\n", size_bytes_);
}

}  // namespace members_detail

}  // namespace asyncgrad::nn
