// The processes that train together, and this one's place among them.
#pragma once

#include <memory>

#include "asyncgrad/core/location.h"
#include "asyncgrad/data/share.h"

namespace asyncgrad::dist {

class Communicator;

struct WorldOptions {
  // How long a collective waits for the other ranks, in seconds. The time counts from the moment at which this rank has
  // come to it. Then it is an error, and no further collective runs.
  double timeout_s = 300;
};

// All processes that were started together, such as by `mpiexec -n 4`; each is a rank. Copies stand for the same world.
// Any thread may use it, but collectives (collectives.h) are to be queued by one thread, or in an order that is the same
// on all ranks.
class World {
 public:
  World() = default;  // a world of this process alone
  // --- Internal: by world(), and by tests.
  explicit World(std::shared_ptr<Communicator> communicator);
  const std::shared_ptr<Communicator>& communicator() const { return communicator_; }

  int rank() const { return rank_; }  // from 0 on
  int size() const { return size_; }
  // This rank's rows of each batch, for BatchOptions::share.
  data::Share share() const { return {.index = rank_, .count = size_}; }

 private:
  std::shared_ptr<Communicator> communicator_;  // null: alone
  int rank_ = 0, size_ = 1;
};

// The world of this process: what started it says how many there are. Of a process that was started alone, it is this
// process, and nothing is loaded. Otherwise the first call loads MPI, and waits until all ranks have called it. The
// options of the latest call hold.
//
// Throws Error if the library was built without the MPI that has started the process, and in the child of a fork.
World world(WorldOptions options = {}, Location where = Location::current());

}  // namespace asyncgrad::dist
