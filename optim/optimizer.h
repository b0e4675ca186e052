// The base class of all optimisers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "asyncgrad/core/location.h"
#include "asyncgrad/core/tensor.h"
#include "asyncgrad/nn/members.h"

namespace asyncgrad::detail {
struct UpdateAttributes;
}

namespace asyncgrad::optim {

// An optimiser of any kind, with one or several groups of parameters, each of which has options of its own:
//
//   std::unique_ptr<ag::optim::Optimizer> optimizer = std::make_unique<ag::optim::Adam>(ag::nn::parameters(net));
//
//   ag::optim::SGD sgd(weights, {.lr = 0.1, .weight_decay = 1e-4});
//   sgd.add_group(biases, {.lr = 0.2});
//
// For a Checkpoint it lists its state as members, as a layer does: for each group the learning rate and the tensors
// beside each parameter, "0.lr", "0.velocities.3". All other options come from the program. A copy shares parameters
// and state. One thread at a time may use an optimiser.
//
// Constructors and add_group() throw Error without parameters, if one requires no gradient or is the result of an
// operation, and if two share their values or one is in the optimiser already.
class Optimizer {
 public:
  virtual ~Optimizer();

  // Queues the update of every parameter that has a gradient: for each group one operation for each element type and
  // device, which updates all of its parameters or, if it fails, none. Gradients stay. A parameter without a gradient
  // stays as it is, and so does its state; a group without any queues nothing, and a first step without any after a
  // backward() warns. A parameter whose gradient is kept by rows (nn/embedding.h) has a few operations of its own, which
  // update these rows alone. May wait for room.
  void step(Location where = Location::current());

  // Drops the gradients; queues nothing and does not block.
  void zero_grad();

  // --- Groups, numbered from 0. Each call throws Error for a group that does not exist.
  std::size_t groups() const { return groups_.size(); }
  const std::vector<Tensor>& parameters(std::size_t group = 0) const { return checked(group).parameters; }
  std::vector<Tensor> all_parameters() const;  // of all groups
  double lr(std::size_t group = 0) const { return checked(group).lr; }
  // A new learning rate takes effect at the next step. Throws Error unless it is finite and not negative.
  void set_lr(double lr, Location where = Location::current());  // of all groups
  void set_lr(std::size_t group, double lr, Location where = Location::current());

  // The leaves of `loss` that the optimiser does not train, for example because a layer's list lacks a member: the
  // lines of missing_leaves() (autograd/leaves.h). Does not block. Throws Error after loss.backward().
  std::vector<std::string> missing(const Tensor& loss) const;

  // Lists the groups. An optimiser with further members overrides it, and calls this one first.
  virtual void members(nn::Members& m);

 protected:
  // Tensors that an optimiser keeps beside the parameters.
  struct State {
    std::string name;             // in the list of members
    std::vector<Tensor> tensors;  // one for each parameter
  };
  struct Group {
    std::vector<Tensor> parameters;
    double lr;
    std::vector<State> states{};
    // The rule of a built-in optimiser, with the learning rate at first; null in an optimiser of the program's own.
    std::shared_ptr<const detail::UpdateAttributes> rule{};

    void members(nn::Members& m);
  };

  explicit Optimizer(const char* name);
  Optimizer(const Optimizer&) = default;
  Optimizer(Optimizer&&) = default;
  Optimizer& operator=(const Optimizer&) = default;
  Optimizer& operator=(Optimizer&&) = default;

  // A group without state. Throws Error without parameters, if one requires no gradient or is the result of an
  // operation, if two share their values or one is in the optimiser already, and for a bad learning rate.
  Group made(std::vector<Tensor> parameters, double lr, Location where = Location::current()) const;
  // Gives the group a tensor beside each parameter, of the same shape and type and full of `value`. Queues these; may
  // wait for room.
  static void add_state(Group& group, std::string name, double value, Location where);
  // Adds the group, once it has all that it needs.
  void add(Group group);
  // Adds a group that a rule updates (core/backend/update_rules.h), with each of the rule's states, full of `initial`.
  // Waits and throws as made() and add_state() do.
  void add(std::vector<Tensor> parameters, const detail::UpdateAttributes& rule, Location where, double initial = 0);
  const char* name() const { return name_; }

 private:
  // Queues the update of a group: by its rule, unless an optimiser of the program's own overrides it.
  virtual void update(std::size_t number, const Group& group, Location where);
  const Group& checked(std::size_t group) const;
  // Notes whether some parameter has a gradient.
  bool note_reached();
  // Warns if backward() has run before each of several steps, but no parameter has had a gradient since.
  void check_reached();

  const char* name_;
  std::vector<Group> groups_;
  bool is_reached_ = false;         // by some gradient, ever
  std::uint64_t backwards_;         // how many there were when some gradient was last there, or before the last step
  int steps_without_gradient_ = 0;  // in a row, each after a backward()
};

}  // namespace asyncgrad::optim
