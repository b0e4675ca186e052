// The place where an operation was queued, for messages. Internal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "asyncgrad/core/location.h"

namespace asyncgrad::detail {

// The user's line. It also has the line of backward() for a gradient, the layer's path inside layers, and the graph's
// name within a call of a launch graph.
struct Origin {
  Location where{};
  Location backward{};
  std::uint32_t path = 0;   // of layer_path
  std::uint32_t graph = 0;  // of graph_id()
  bool is_again = false;    // the value was dropped, and is computed again

  // "train.cpp:12, in layer 1.norm, backward() at train.cpp:15, in graph step".
  std::string str() const;
  std::string graph_name() const;  // empty: none
};

// The calling thread's layer path (see LayerScope), as an id to keep; 0: outside of layers.
std::uint32_t current_layer_path();
std::string layer_path_name(std::uint32_t path);  // empty for 0

// ", at train.cpp:12, in layer 1.norm, in graph step": where the calling thread is; empty outside of all three.
std::string current_place();

// A launch graph's name, as an id to keep. It is never 0, which stands for none.
std::uint32_t graph_id(std::string_view name);

// Whether operations that the calling thread queues are gradients, or compute again.
bool is_in_backward();

// While it lives, operations that this thread queues have its origin, whatever their own line.
class OriginScope {
 public:
  // They are gradients of the operation queued at `forward`.
  static OriginScope of_gradient(const Origin& forward, Location backward);
  // They compute again what the operation queued at `first` has computed.
  static OriginScope again(const Origin& first);
  OriginScope(const OriginScope&) = delete;
  OriginScope& operator=(const OriginScope&) = delete;
  ~OriginScope();

 private:
  explicit OriginScope(const Origin& origin);

  const Origin* outer_;
  Origin origin_;
};

// While it lives, operations that this thread queues are no gradients and belong to the layer of that path: it is for a
// forward computation inside of backward().
class ForwardScope {
 public:
  explicit ForwardScope(std::uint32_t layer_path);
  ForwardScope(const ForwardScope&) = delete;
  ForwardScope& operator=(const ForwardScope&) = delete;
  ~ForwardScope();

 private:
  const Origin* outer_;
  std::uint32_t outer_path_;
};

// The origin of an operation that the calling thread queues at `where`: that of the scope around it if there is one.
void set_origin(Origin& origin, const Location& where);
inline Origin origin_at(Location where) {
  Origin origin;
  set_origin(origin, where);
  return origin;
}

}  // namespace asyncgrad::detail
