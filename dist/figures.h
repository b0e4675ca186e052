// How long collectives take, and how much of that is hidden behind the computing.
#pragma once

#include <cstdint>

namespace asyncgrad::dist {

// What this rank's collectives have taken since the world was made.
struct Figures {
  std::int64_t moves = 0;           // pieces that were summed, broadcast or gathered
  std::int64_t received_bytes = 0;  // from other ranks
  // From the moments at which all ranks had come to a piece until it was over, in seconds: moving and adding. The wait for
  // ranks that came later is not part of it.
  double moving_s = 0;
  // The part of moving_s in which none of the engine's threads computed. It is a sample: the thread that moves looks each
  // time that it wakes.
  double exposed_s = 0;

  // The share of moving_s that was hidden behind the computing, from 0 to 1; 1 if nothing has moved.
  double hidden_share() const { return moving_s > 0 ? 1 - exposed_s / moving_s : 1; }
};

}  // namespace asyncgrad::dist
