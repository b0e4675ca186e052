#include "asyncgrad/nn/members.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <unordered_set>

#include "asyncgrad/autograd/leaves.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad::nn {

struct Members::Names {
  std::unordered_set<std::string> used;
};

void Members::Visitor::layer(const std::string&, const std::string&) {}
void Members::Visitor::undefined(const std::string&, Tensor&) {}
void Members::Visitor::value(const std::string&, Value) {}
void Members::Visitor::not_negative(const std::string& path, Value value) { this->value(path, value); }
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
    if (is_parameter(tensor) && seen.insert(tensor.impl()).second) parameters.push_back(tensor);
  }
  return parameters;
}

}  // namespace members_detail

}  // namespace asyncgrad::nn
