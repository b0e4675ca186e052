// The time of a move, in part hidden behind the computing. Internal.
#pragma once

#include <chrono>

#include "asyncgrad/dist/figures.h"

namespace asyncgrad::dist {

// What has passed since the last look counts as hidden if threads compute at this look.
class Overlap {
 public:
  using Time = std::chrono::steady_clock::time_point;

  void begin(Time now) {
    last_ = now;
    moving_s_ = exposed_s_ = 0;
  }
  void look(Time now, bool is_computing) {
    const double passed_s = std::chrono::duration<double>(now - last_).count();
    last_ = now;
    moving_s_ += passed_s;
    if (!is_computing) exposed_s_ += passed_s;
  }
  void add_to(Figures& figures) const {
    ++figures.moves;
    figures.moving_s += moving_s_;
    figures.exposed_s += exposed_s_;
  }

 private:
  Time last_{};
  double moving_s_ = 0, exposed_s_ = 0;
};

}  // namespace asyncgrad::dist
