// The processes that train together, and this one's place among them.
#pragma once

#include <memory>

#include "asyncgrad/core/location.h"
#include "asyncgrad/data/share.h"
#include "asyncgrad/dist/figures.h"

namespace asyncgrad::dist {

class Communicator;

struct WorldOptions {
  // How long a collective waits for the other ranks, in seconds. The time counts from the moment at which this rank has
  // come to it. Then it is an error, and no further collective runs. The first call of world() waits as long for the
  // other processes, and 30 s at least; then it ends the process with a message.
  double timeout_s = 300;
  // The CPU's kernels of other instruction sets have other bits, so ranks whose processors differ are an error. With this
  // all use the best instruction set that each has, if no rank has computed anything yet.
  bool lowest_common = false;
  // Simulates a network of so many bytes a second in each direction, for measuring: what is received takes at least so
  // long. 0: as fast as it goes.
  double bytes_per_second = 0;
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
  // Returns what the collectives of this rank have taken so far. Any thread may call it; it takes a lock for a moment.
  Figures figures() const;

 private:
  std::shared_ptr<Communicator> communicator_;  // null: alone
  int rank_ = 0, size_ = 1;
};

// The world of this process: what started it says how many there are. Of a process that was started alone, it is this
// process, and nothing is loaded. Otherwise the first call loads MPI, and waits until all ranks have called it. All ranks
// pass the same options; those of the latest call hold, but for lowest_common, which the first one decides.
//
// From then on the process's default generator gives other numbers on each rank, mixed from its seed and the rank, whatever
// manual_seed() sets before or after. Rank 0's are those of a process alone. A Generator that the program makes, the order
// of data::Batches and the random numbers of its items are the same on all ranks.
//
// Throws Error if the library was built without the MPI that has started the process, in the child of a fork, and, on all
// ranks, if their processors have different instruction sets.
World world(WorldOptions options = {}, Location where = Location::current());

}  // namespace asyncgrad::dist
