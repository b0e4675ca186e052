// What the ranks of a world compute together.
//
// Each function queues operations, as all others do, and returns: a rank's part of a sum runs as soon as its values
// exist, beside the computing. All ranks call the same functions in the same order, with tensors of the same shapes and
// types; where they do not, it is an error of the operations on all ranks. If a value could not be computed on one rank,
// the operations fail on all ranks, with the cause, "rank 2: [matmul] …". In a world of one nothing is queued.
//
// Sums are balanced trees over the ranks, in the element type. All ranks get the same bits, and they depend on nothing but
// the values and the number of ranks.
#pragma once

#include <vector>

#include "asyncgrad/core/call_site.h"
#include "asyncgrad/core/location.h"
#include "asyncgrad/core/tensor.h"
#include "asyncgrad/dist/world.h"
#include "asyncgrad/nn/members.h"
#include "asyncgrad/optim/optimizer.h"

namespace asyncgrad::dist {

// Gives the tensors the values that they have on rank 0, in place. May wait for room. Throws Error for a tensor that is
// not on the CPU "cpu:0", and in the child of a fork; so do the other functions.
void broadcast_tensors(const std::vector<Tensor>& tensors, const World& world, Location where = Location::current());

// Does so with all tensors of a layer, an optimiser, or whatever else may be a member (nn/members.h), such as a
// std::vector of tensors: parameters, buffers and state. Numbers among the members, such as learning rates, stay as they
// are.
template <class Member>
void broadcast(Member& member, const World& world, Location where = Location::current()) {
  static_assert(!nn::members_detail::is_value<Member>,
                "tensors are broadcast; a number is one as ag::full({}, number)");
  struct Listed {
    void members(nn::Members& m) { m("value", value); }
    Member& value;
  };
  nn::members_detail::StateVisitor visitor;
  Listed listed{member};
  nn::Members::visit(listed, visitor);
  std::vector<Tensor> tensors;
  for (const auto& [path, tensor] : visitor.state) tensors.push_back(tensor);
  broadcast_tensors(tensors, world, where);
}
// What is const shares its tensors with its copies.
template <class Member>
void broadcast(const Member& member, const World& world, Location where = Location::current()) {
  Member copy = member;
  broadcast(copy, world, where);
}

// Replaces the gradients of the optimiser's parameters by their averages over all ranks; called between backward() and
// step(). A gradient of which the program holds another handle is copied first. A parameter that has a gradient on some
// ranks counts as zeros on the others. On a rank that lacks a gradient the call waits until all ranks have come to theirs;
// otherwise it only queues.
//
// If an operation fails, so do all updates that step() queues after it, on all ranks, and the parameters keep their
// values. After recover() the gradients are undefined until zero_grad().
//
// The sums are cut into pieces of at most 4 MiB, gradients of less than 1 MiB together, from the last parameter to the
// first, because backward() computes them in that order. A piece needs at most 8 MiB of workspace, one at a time.
void average_gradients(optim::Optimizer& optimizer, const World& world, Location where = Location::current());

// The sum over all ranks, element by element, of a tensor of float32, float64 or int64: a new tensor without history. In a
// world of one it is the tensor itself, without its history. Throws Error for another type.
Tensor sum(const Arg& tensor, const World& world);
// The same of several tensors, of which small ones go together.
std::vector<Tensor> sum(const std::vector<Tensor>& tensors, const World& world, Location where = Location::current());

}  // namespace asyncgrad::dist
