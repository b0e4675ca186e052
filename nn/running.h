// Running statistics of layers.
#pragma once

#include <vector>

#include "asyncgrad/core/location.h"
#include "asyncgrad/core/tensor.h"

namespace asyncgrad::nn {

// running <- keep running + weight value, in place and without a history. `value` is the statistic of one batch, such as
// its mean, with the shape and type of `running`. Queued; may wait for room.
// Takes a const handle, as all calls of layers are const, and yet updates the values, which a copy of the handle shares.
// A batch that could not be computed leaves them unchanged. A layer calls it only where is_recomputing() is false. Throws
// Error for other shapes or types.
//
// In the loop over dist::Parts::mine() the update is only noted, and made by average().
void update_running(const Tensor& running, double keep, const Arg& value, double weight);

// --- Internal: updates that are made later.

// running <- keep running + term
struct RunningUpdate {
  Tensor running;
  double keep;
  Tensor term;
};
void update_running(const RunningUpdate& update, const Location& where);

// While it lives, update_running() of the thread adds to a list in place of queueing.
class NotedRunningUpdates {
 public:
  [[nodiscard]] explicit NotedRunningUpdates(std::vector<RunningUpdate>& noted);
  NotedRunningUpdates(const NotedRunningUpdates&) = delete;
  NotedRunningUpdates& operator=(const NotedRunningUpdates&) = delete;
  ~NotedRunningUpdates();

 private:
  std::vector<RunningUpdate>* outer_;
};

}  // namespace asyncgrad::nn
