#include "asyncgrad/nn/members.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "asyncgrad/core/error.h"

namespace asyncgrad::nn {

Members::Members(Visitor& visitor, std::string path, int depth)
    : visitor_(&visitor), path_(std::move(path)), depth_(depth) {
  if (depth_ > max_depth) {
    throw_error("members", fmt::format("layers are nested deeper than {}, or in a circle: \"{}...\"", max_depth,
                                       path_.substr(0, 40)));
  }
}

std::string Members::path(std::string_view name) {
  if (name.empty() || name.find('.') != std::string_view::npos) {
    throw_error("members", fmt::format("a member's name must not be empty or have a dot in it: \"{}\" in layer \"{}\"",
                                       name, path_));
  }
  std::string full = path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
  if (!names_.emplace(name).second) throw_error("members", fmt::format("two members are called \"{}\"", full));
  return full;
}

void Members::list(const std::string& path, Tensor& tensor) {
  if (tensor.defined()) visitor_->tensor(path, tensor);
}

void Members::throw_not_copyable(const std::string& path, const std::type_info& type) {
  throw_error("members", fmt::format("\"{}\" leads to a {}, which cannot be copied: a shared pointer is to lead to a "
                                     "copyable class itself, not to its base",
                                     path, members_detail::kind(type)));
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

// The containers inside of one have got their paths within it already.
void PathVisitor::container(const std::string& path, std::string& kept_path) {
  if (path.empty()) {  // the outermost layer itself, which may be a member of another
    told_.emplace_back();
    return;
  }
  const auto is_inside = [&](const std::string& outer) { return outer.empty() || path.starts_with(outer + "."); };
  if (std::ranges::any_of(told_, is_inside)) return;
  told_.push_back(path);
  // From an outer layer it has been told the same and more. What stays the same is not written, as others may read it.
  if (kept_path != path && !kept_path.ends_with("." + path)) kept_path = path;
}

std::vector<Tensor> parameters_of(const StateVisitor& visitor) {
  std::vector<Tensor> parameters;
  std::unordered_set<const detail::TensorImpl*> seen;
  for (const auto& [path, tensor] : visitor.state) {
    if (tensor.requires_grad() && seen.insert(tensor.impl()).second) parameters.push_back(tensor);
  }
  return parameters;
}

Tensor own_copy(const Tensor& tensor, Device device, Location where) {
  const Tensor value = tensor.detach();
  Tensor copy = tensor.device() == device ? value.clone(where) : value.to(device, where);
  if (tensor.requires_grad()) copy.requires_grad_();
  return copy;
}

void RebindVisitor::tensor(const std::string& path, Tensor& tensor) {
  if (places_of_original_.contains(&tensor)) {
    throw_error("members", fmt::format("\"{}\" is behind a pointer, which a copy of the layer shares; list the pointer "
                                       "itself, a std::shared_ptr: m(\"inner\", inner), not m(\"inner\", *inner)",
                                       path));
  }
  const auto known = made_.find(tensor.impl());
  if (known != made_.end()) {
    tensor = known->second;
    return;
  }
  Tensor made = make_(tensor);
  made_.emplace(tensor.impl(), made);
  made_.emplace(made.impl(), made);  // an object that two pointers share is visited twice
  replaced_.push_back(std::exchange(tensor, std::move(made)));
}

std::shared_ptr<void> RebindVisitor::shared(std::shared_ptr<void> object, const Copy& copy) {
  const auto known = copies_.find(object.get());
  if (known != copies_.end()) return known->second;
  std::shared_ptr<void> made = copy();
  copies_.emplace(object.get(), made);
  copies_.emplace(made.get(), made);
  return made;
}

void SummaryVisitor::layer(const std::string& path, const std::string& kind) {
  row_of_.emplace(path, rows_.size());
  rows_.push_back({.path = path, .kind = kind, .shapes = ""});
}

void SummaryVisitor::tensor(const std::string& path, Tensor& tensor) {
  // A tensor may be listed after inner layers, so its row is not always the last one.
  const std::size_t dot = path.rfind('.');
  Row& row = rows_[row_of_.at(dot == std::string::npos ? "" : path.substr(0, dot))];
  const std::string text = fmt::format("{} {}", path.substr(dot + 1), tensor.shape().str());
  if (!row.shapes.empty()) row.shapes += ", ";
  row.shapes += tensor.requires_grad() ? text : fmt::format("[{}]", text);
  if (tensor.requires_grad()) row.parameters += tensor.numel();
  count(tensor);
}

void SummaryVisitor::count(const Tensor& tensor) {
  if (!seen_.insert(tensor.impl()).second) return;
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
