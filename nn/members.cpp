#include "asyncgrad/nn/members.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "asyncgrad/core/error.h"

namespace asyncgrad::nn {

struct Members::Names {
  std::unordered_set<std::string> used;
};

void Members::Visitor::undefined(const std::string&, Tensor&) {}
void Members::Visitor::value(const std::string&, Value) {}
void Members::Visitor::container(const std::string&, std::string&) {}
std::shared_ptr<void> Members::Visitor::shared(std::shared_ptr<void> object, const Copy&) { return object; }

Members::Members(Visitor& visitor, std::string path, int depth)
    : visitor_(&visitor), path_(std::move(path)), depth_(depth) {
  if (depth_ > max_depth) {
    throw_error("members",
                fmt::format("layers are nested deeper than {}, or in a circle: \"{}...\"; a layer may not list "
                            "one that leads back to it",
                            max_depth, path_.substr(0, 40)));
  }
}

Members::~Members() = default;

std::string Members::path(std::string_view name, const Location& where) {
  const CallSite site(where);
  if (name.empty() || name.find('.') != std::string_view::npos) {
    throw_error("members", fmt::format("a member's name must not be empty or have a dot in it: \"{}\" in layer \"{}\"",
                                       name, path_));
  }
  std::string full = path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
  if (names_ == nullptr) names_ = std::make_unique<Names>();
  if (!names_->used.emplace(name).second) {
    throw_error("members", fmt::format("two members are called \"{}\"; each needs a name of its own", full));
  }
  return full;
}

void Members::list(const std::string& path, Tensor& tensor) {
  if (tensor.defined()) {
    visitor_->tensor(path, tensor);
  } else {
    visitor_->undefined(path, tensor);
  }
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

void StateVisitor::tensor(const std::string& path, Tensor& tensor) { state.emplace_back(path, tensor); }
void PlaceVisitor::tensor(const std::string&, Tensor& tensor) { places.push_back(&tensor); }

// The containers inside of a container already have their paths within it.
void PathVisitor::container(const std::string& path, std::string& kept_path) {
  if (path.empty()) {  // the outermost layer itself, which may be a member of another
    if (kept_path == unknown_path) kept_path.clear();
    reported_.emplace_back();
    return;
  }
  const auto is_inside = [&](const std::string& outer) { return outer.empty() || path.starts_with(outer + "."); };
  if (std::ranges::any_of(reported_, is_inside)) return;
  reported_.push_back(path);
  // An outer layer has already given it a longer path. A path that stays the same is not written, because other threads
  // may read it.
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

struct RebindVisitor::Seen {
  std::unordered_set<const Tensor*> places_of_original;
  std::unordered_map<const detail::TensorImpl*, Tensor> made;
  std::vector<Tensor> replaced;  // keeps the keys of `made` from being used again
  std::unordered_map<const void*, std::shared_ptr<void>> copies;
};

RebindVisitor::RebindVisitor(Make make, const std::vector<const Tensor*>& places_of_original)
    : make_(std::move(make)), seen_(std::make_unique<Seen>()) {
  seen_->places_of_original.insert(places_of_original.begin(), places_of_original.end());
}
RebindVisitor::~RebindVisitor() = default;

void RebindVisitor::tensor(const std::string& path, Tensor& tensor) {
  if (seen_->places_of_original.contains(&tensor)) {
    throw_error("members", fmt::format("\"{}\" is behind a pointer, which a copy of the layer shares; list the pointer "
                                       "itself, a std::shared_ptr: m(\"inner\", inner), not m(\"inner\", *inner)",
                                       path));
  }
  const auto known = seen_->made.find(tensor.impl());
  if (known != seen_->made.end()) {
    tensor = known->second;
    return;
  }
  Tensor made = make_(tensor);
  seen_->made.emplace(tensor.impl(), made);
  seen_->made.emplace(made.impl(), made);  // an object that two pointers share is visited twice
  seen_->replaced.push_back(std::exchange(tensor, std::move(made)));
}

std::shared_ptr<void> RebindVisitor::shared(std::shared_ptr<void> object, const Copy& copy) {
  const auto known = seen_->copies.find(object.get());
  if (known != seen_->copies.end()) return known->second;
  std::shared_ptr<void> made = copy();
  seen_->copies.emplace(object.get(), made);
  seen_->copies.emplace(made.get(), made);
  return made;
}

struct SummaryVisitor::Table {
  struct Row {
    std::string path, kind, shapes;
    std::int64_t parameters = 0;
  };
  void count(const Tensor& tensor);

  std::vector<Row> rows;
  std::unordered_map<std::string, std::size_t> row_of;
  std::unordered_set<const detail::TensorImpl*> seen;
  std::int64_t parameters = 0, buffers = 0, size_bytes = 0;
};

SummaryVisitor::SummaryVisitor() : table_(std::make_unique<Table>()) {}
SummaryVisitor::~SummaryVisitor() = default;

void SummaryVisitor::layer(const std::string& path, const std::string& kind) {
  table_->row_of.emplace(path, table_->rows.size());
  table_->rows.push_back({.path = path, .kind = kind, .shapes = ""});
}

void SummaryVisitor::tensor(const std::string& path, Tensor& tensor) {
  // A tensor may be listed after inner layers, so its row is not always the last one.
  const std::size_t dot = path.rfind('.');
  Table::Row& row = table_->rows[table_->row_of.at(dot == std::string::npos ? "" : path.substr(0, dot))];
  const std::string text = fmt::format("{} {}", path.substr(dot + 1), tensor.shape().str());
  if (!row.shapes.empty()) row.shapes += ", ";
  row.shapes += tensor.requires_grad() ? text : fmt::format("[{}]", text);
  if (tensor.requires_grad()) row.parameters += tensor.numel();
  table_->count(tensor);
}

void SummaryVisitor::Table::count(const Tensor& tensor) {
  if (!seen.insert(tensor.impl()).second) return;
  (tensor.requires_grad() ? parameters : buffers) += tensor.numel();
  size_bytes += tensor.numel() * static_cast<std::int64_t>(asyncgrad::size_bytes(tensor.dtype()));
}

std::string SummaryVisitor::str() const {
  std::size_t path_width = 5, kind_width = 4, shapes_width = 7;  // the widths of the headings
  for (const Table::Row& row : table_->rows) {
    path_width = std::max(path_width, row.path.size());
    kind_width = std::max(kind_width, row.kind.size());
    shapes_width = std::max(shapes_width, row.shapes.size());
  }
  const auto line = [&](std::string_view path, std::string_view kind, std::string_view shapes, const auto& count) {
    return fmt::format("{:{}}  {:{}}  {:{}}  {:>10}\n", path, path_width, kind, kind_width, shapes, shapes_width,
                       count);
  };
  std::string text = line("layer", "kind", "tensors", "parameters");
  for (const Table::Row& row : table_->rows) text += line(row.path, row.kind, row.shapes, row.parameters);
  text += fmt::format("total: {} parameters", table_->parameters);
  if (table_->buffers > 0) text += fmt::format(", {} elements in buffers", table_->buffers);
  return text + fmt::format(", {} bytes\n", table_->size_bytes);
}

}  // namespace members_detail

}  // namespace asyncgrad::nn
