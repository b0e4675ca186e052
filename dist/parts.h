// A training with the same bits on any number of ranks.
//
//   ag::dist::Parts parts(world, 8);
//   ag::data::Batches batches(images, {.batch_size = 256, .share = parts.share()});
//   while (const auto batch = batches.next()) {
//     for (const int part : parts.mine()) {  // 8 / world.size() of them, one after another
//       const std::vector<ag::Tensor> rows = parts.rows(*batch, part);
//       ag::mean(loss(net(rows[0]), rows[1])).backward();
//       parts.add(adam);
//     }
//     parts.average(adam);
//     adam.step();
//     adam.zero_grad();
//   }
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "asyncgrad/core/location.h"
#include "asyncgrad/core/noted_error.h"
#include "asyncgrad/core/random.h"
#include "asyncgrad/core/tensor.h"
#include "asyncgrad/data/share.h"
#include "asyncgrad/dist/world.h"
#include "asyncgrad/nn/members.h"
#include "asyncgrad/nn/running.h"
#include "asyncgrad/optim/optimizer.h"

namespace asyncgrad::dist {

struct Caller;
class Gate;

// Cuts each batch into `count` parts, of which every rank computes count / size. All that is done depends on the parts and
// on their number, and not on the number of ranks:
// - Gradients are summed by one binary tree over the parts. A rank keeps at most log2(count / size) + 1 gradients of each
//   parameter meanwhile.
// - In the loop over mine() the default generator of the thread is the part's own. Its seed follows from the program's
//   seed and the part, its place from the number of the step. Afterwards the program's is the default again.
// - Updates of running statistics by layers (nn::update_running(), which BatchNorm calls) are noted in the loop, and made
//   by average() on every rank, part after part.
//
// So a training has the same bits on 1, 2, 4 or 8 ranks that compute alike. A Checkpoint keeps the seed and the number of
// the step: checkpoint.add("parts", parts). All ranks make the same calls; one thread at a time makes them.
class Parts {
 public:
  class Mine;

  // Takes the seed of the default generator, of rank 0, for which it waits in a world of several. Throws Error unless
  // `count` is a power of two and a multiple of the world's size. In a world of several all functions throw Error in the
  // child of a fork.
  Parts(const World& world, int count, Location where = Location::current());
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;
  ~Parts() = default;

  int count() const { return count_; }
  // This rank's rows of each batch, for BatchOptions::share: those of its parts.
  data::Share share() const { return {.index = first_, .count = count_, .length = length_}; }

  // Begins a step: the numbers of this rank's parts, for a `for` statement, and drops what is left of a step that was not
  // averaged, because of an exception for example. No parameter may have a gradient by then, which the first part of each
  // rank would take for its own. Throws Error in another such loop, if a parameter of an optimiser that was added before
  // has a gradient, and if what was loaded is of another count. The end of a part throws Error if it has taken more than
  // 2^32 blocks of random numbers, which are those of a step, if a gradient came after add(), or if its layers have not
  // updated the same running statistics as those of the first one.
  //
  // An exception that leaves the loop ends the step, which counts. In a world of several the calls of average() of all
  // other ranks fail with it, and nobody updates, as after an operation that fails. That is queued; it may wait for room.
  // The others are not told of an exception of mine() itself, nor of a break: they wait for this rank, and its next loop
  // is an error on all, because it may be of another batch.
  [[nodiscard]] Mine mine(Location where = Location::current());

  // The rows of a part, of this rank's rows x (N, …) of a batch: (N / (count / size), …), which share storage with x.
  // Throws Error if the part is not this rank's, and if the rows cannot be shared evenly.
  Tensor rows(const Arg& x, int part) const;
  std::vector<Tensor> rows(const std::vector<Tensor>& batch, int part, Location where = Location::current()) const;

  // Takes the gradients of a part, after its backward(), so that the parameters have none. Called once for each part and
  // optimiser. A parameter without a gradient counts as zeros if another part has one; a gradient that is kept by rows
  // becomes whole. Queued; may wait for room. Throws Error outside of the loop, and if it was called too often or too
  // seldom.
  void add(optim::Optimizer& optimizer, Location where = Location::current());

  // Gives the parameters the average over all parts as their gradients: called after the loop, before step(). The first
  // call of a step queues the updates of running statistics, too. Queues and waits as average_gradients() does, and fails
  // as it does: an exception while it queues ends this rank's world. It is an error on all ranks if they differ in the
  // number of the step, in that of the loops begun for it, in the seed, or in the shapes and types of running
  // statistics. Throws Error in the loop, unless the loop has come to its end and all parts were added, and if a
  // parameter has got a gradient since.
  void average(optim::Optimizer& optimizer, Location where = Location::current());

  void members(nn::Members& m);

  // --- Internal: the loop over mine().
  Parts& begin(const Location& where);
  bool next();  // begins the next part; false: there is none, and the loop has ended
  int part() const { return part_; }
  void end();  // of the loop
  // The end by an exception. `cause`: its text, as far as it is known. Tells the other ranks.
  void fail(const std::string& cause, const char* before_cause = "") noexcept;
  // While it lives, the thread that made it has the part's generator, and notes updates of running statistics. It ends on
  // that thread, before scopes that were there when it began.
  class Scope {
   public:
    explicit Scope(Parts& parts) : generator_(parts.generator_), noted_(parts.noted_) {}

   private:
    GeneratorScope generator_;
    nn::NotedRunningUpdates noted_;
  };

 private:
  // A sum over some parts that follow each other.
  struct Partial {
    int parts;
    std::vector<Tensor> gradients;  // of each parameter; Tensor{}: no part has one
  };
  // Of one optimiser. They stay when a step ends, so that the next one can tell which gradients are left.
  struct Sums {
    const optim::Optimizer* optimizer;
    std::vector<Tensor> parameters;
    int added = 0;  // parts
    // A binary counter: each is of fewer parts than the one before it, but for the last part in a world of several. Empty
    // once averaged.
    std::vector<Partial> partial{};
  };

  void check(const char* call) const;
  Caller caller() const;
  std::uint64_t seed_of(int part) const;
  std::uint64_t place_of_step() const;
  void end_part();
  std::exception_ptr update_running(const Caller& of_step, const Location& where);
  std::exception_ptr gather(const Caller& of_step, const std::vector<Tensor>& terms, Tensor& all,
                            const Location& where) const;

  const World world_;
  const int count_, length_, first_;
  std::int64_t seed_, step_ = 0;
  std::int64_t kept_count_ = count_;  // of a checkpoint that was loaded

  bool is_in_loop_ = false;
  // How many loops have begun in step `step_of_loops_`: a rank that has left one before its average() has begun more of
  // them than the others.
  std::int64_t loops_ = 0, step_of_loops_ = 0;
  bool is_counted_ = true;  // the step, because it was averaged, or an exception has left its loop
  int part_ = -1;           // of the loop
  int ended_ = 0;           // parts of the loop
  Location where_;          // of the loop
  Generator generator_;
  std::vector<nn::RunningUpdate> noted_;                 // in this part
  std::vector<std::vector<nn::RunningUpdate>> updates_;  // of each part before
  std::vector<Sums> sums_;
  std::shared_ptr<Gate> gate_;  // of the step's collectives
};

// The parts of a step, for one `for` statement.
class Parts::Mine {
 public:
  class Iterator {
   public:
    explicit Iterator(Mine& mine) : mine_(&mine), is_at_end_(!mine.next()) {}
    int operator*() const { return mine_->parts_.part(); }
    Iterator& operator++() {
      is_at_end_ = !mine_->next();
      return *this;
    }
    bool operator==(std::default_sentinel_t) const { return is_at_end_; }

   private:
    Mine* mine_;
    bool is_at_end_;
  };

  Mine(Parts& parts, const Location& where) : parts_(parts.begin(where)), scope_(std::in_place, parts) {}
  Mine(const Mine&) = delete;
  Mine& operator=(const Mine&) = delete;
  ~Mine() {
    if (std::uncaught_exceptions() > exceptions_) {
      parts_.fail(error_.text(), "the last Error here was ");
    }
    parts_.end();
  }

  Iterator begin() { return Iterator(*this); }
  std::default_sentinel_t end() const { return {}; }

 private:
  bool next() {
    if (parts_.next()) return true;
    scope_.reset();
    return false;
  }

  const int exceptions_ = std::uncaught_exceptions();  // that were under way
  const detail::NotedError error_;
  Parts& parts_;
  std::optional<Scope> scope_;
};

inline Parts::Mine Parts::mine(Location where) { return {*this, where}; }

}  // namespace asyncgrad::dist
