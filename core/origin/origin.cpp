#include "asyncgrad/core/origin/origin.h"

#include <fmt/format.h>

#include <utility>

#include "asyncgrad/core/call_site.h"
#include "asyncgrad/core/layer_scope.h"
#include "asyncgrad/core/origin/launch_region.h"
#include "asyncgrad/core/origin/names.h"

namespace asyncgrad {

namespace detail {

namespace {

thread_local std::uint32_t current_path = 0;
thread_local const Origin* current_scope = nullptr;
const bool has_names = made_at_load(Names::get);

std::uint32_t current_graph() {
  const LaunchRegion* const region = LaunchRegion::current();
  return region == nullptr ? 0 : region->graph->id;
}

std::string in_layer(std::uint32_t path) {
  return path == 0 ? "" : fmt::format(", in layer {}", Names::get().name(path));
}
std::string in_graph(std::uint32_t graph) {
  return graph == 0 ? "" : fmt::format(", in graph {}", Names::get().name(graph));
}

}  // namespace

std::string Origin::str() const {
  std::string text = where.str() + in_layer(path);
  if (backward.file != nullptr) {
    text += fmt::format(", {} for backward() at {}", is_again ? "computed again" : "as a gradient", backward.str());
  } else if (is_again) {
    text += ", computed again";
  }
  return text + in_graph(graph);
}

std::string current_place() {
  const Location where = CallSite::current();
  const std::string at = where.file == nullptr ? "" : ", at " + where.str();
  return at + in_layer(current_path) + in_graph(current_graph());
}

std::string Origin::graph_name() const { return Names::get().name(graph); }

std::uint32_t graph_id(std::string_view name) { return Names::get().id(0, name); }

std::uint32_t current_layer_path() { return current_path; }
std::string layer_path_name(std::uint32_t path) { return Names::get().name(path); }

bool is_in_backward() { return current_scope != nullptr; }

OriginScope::OriginScope(const Origin& origin) : outer_(std::exchange(current_scope, &origin_)), origin_(origin) {}
OriginScope::~OriginScope() { current_scope = outer_; }
OriginScope OriginScope::of_gradient(const Origin& forward, Location backward) {
  return OriginScope({forward.where, backward, forward.path, current_graph()});
}
OriginScope OriginScope::again(const Origin& first) {
  const Location backward = current_scope == nullptr ? Location() : current_scope->backward;
  return OriginScope({first.where, backward, first.path, current_graph(), true});
}

ForwardScope::ForwardScope(std::uint32_t layer_path)
    : outer_(std::exchange(current_scope, nullptr)), outer_path_(std::exchange(current_path, layer_path)) {}
ForwardScope::~ForwardScope() {
  current_scope = outer_;
  current_path = outer_path_;
}

void set_origin(Origin& origin, const Location& where) {
  if (current_scope != nullptr) {
    origin = *current_scope;
    return;
  }
  origin.where.file = where.file;
  origin.where.line = where.line;
  origin.backward.file = nullptr;
  origin.path = current_path;
  origin.graph = current_graph();
  origin.is_again = false;
}

}  // namespace detail

LayerScope::LayerScope(std::string_view name) : outer_(detail::current_path) {
  detail::current_path = detail::Names::get().id(outer_, name);
}
LayerScope::~LayerScope() { detail::current_path = outer_; }

}  // namespace asyncgrad
