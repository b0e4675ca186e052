// Names the layer that is being computed, for error messages.
#pragma once

#include <cstdint>
#include <string_view>

namespace asyncgrad {

// While it lives, operations that the calling thread queues belong to the layer `name`, inside the layer of the scope
// around it: errors say "in layer 1.norm". Sequential makes one for each of its layers. A container of your own does
// the same, with the names that its `members` gives:
//
//   Tensor operator()(const Arg& x) const {
//     const LayerScope scope("encoder");
//     return encoder(x);
//   }
//
// Does not block. Scopes of one thread end in the reverse order of their beginning. Each path is kept until the process
// ends, so take names from the network's structure, not from its data.
class LayerScope {
 public:
  [[nodiscard]] explicit LayerScope(std::string_view name);
  LayerScope(const LayerScope&) = delete;
  LayerScope& operator=(const LayerScope&) = delete;
  ~LayerScope();

 private:
  std::uint32_t outer_;
};

}  // namespace asyncgrad
