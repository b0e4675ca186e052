#include "asyncgrad/dist/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "asyncgrad/autograd/copy.h"
#include "asyncgrad/autograd/creation.h"
#include "asyncgrad/autograd/grad_mode.h"
#include "asyncgrad/autograd/shape.h"
#include "asyncgrad/autograd/tape/leaf.h"
#include "asyncgrad/autograd/tape/row_gradient.h"
#include "asyncgrad/autograd/tape/update.h"
#include "asyncgrad/core/call_site.h"
#include "asyncgrad/core/checks.h"
#include "asyncgrad/core/engine.h"
#include "asyncgrad/core/engine/submit.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/tensor_impl.h"
#include "asyncgrad/core/wait_hooks.h"
#include "asyncgrad/data/random.h"
#include "asyncgrad/dist/average.h"
#include "asyncgrad/dist/queue_collectives.h"

namespace asyncgrad::dist {

namespace {

using detail::Leaf;
using detail::TensorImpl;

constexpr int place_bits = 32;  // a step owns 2^32 blocks of random numbers

int checked_count(const World& world, int count, const Location& where) {
  const CallSite site(where);
  if (count < 1 || !std::has_single_bit(static_cast<unsigned>(count))) {
    throw_error("Parts", fmt::format("count must be a power of two, because sums form one binary tree, got {}", count));
  }
  if (count % world.size() != 0) {
    throw_error("Parts", fmt::format("{} ranks cannot share {} parts evenly; start a power of two of ranks, at most {}",
                                     world.size(), count, count));
  }
  return count;
}

// The program's seed, which is that of rank 0: a number for each part, so that ranks with other counts are told.
std::int64_t agreed_seed(const World& world, int count, const Location& where) {
  const CallSite site(where);
  const auto seed = static_cast<std::int64_t>(default_generator().seed());
  if (world.size() == 1) return seed;
  world.communicator()->check("Parts");
  const Tensor seeds = Tensor::from(std::vector(static_cast<std::size_t>(count), seed), {count});
  throw_if(queue_move({.kind = Move::broadcast}, {.name = "Parts"}, {seeds}, world.communicator(), where));
  // In a dry run there are no values.
  return engine_options().schedule == Schedule::dry_run ? seed : seeds.to_vector<std::int64_t>()[0];
}

// The parameter's gradient, which it then no longer has; Tensor{} if there is none.
Tensor taken_gradient(Tensor& parameter, const Location& where) {
  if (!detail::has_gradient(parameter)) return {};
  Tensor gradient;
  if (detail::RowGradient* const rows = detail::row_gradient_of(parameter)) {
    gradient = zeros_like(Arg(parameter, where));
    rows->move_to(gradient);
  } else {
    gradient = parameter.grad();
  }
  parameter.zero_grad();
  return gradient;
}

// An absent gradient counts as zeros, unless both are absent. Zeros are really added, because -0 + 0 is 0.
Tensor sum_of(Tensor x, Tensor y, const Location& where) {
  if (!x.defined() && !y.defined()) return {};
  for (const auto& [absent, other] : {std::pair(&x, &y), std::pair(&y, &x)}) {
    if (!absent->defined()) *absent = zeros_like(Arg(*other, where));
  }
  return detail::sum_of_gradients(std::move(x), std::move(y));
}

// Throws Error if a parameter has a gradient, with the reason why it may not.
void check_no_gradient(const char* call, const std::vector<Tensor>& parameters, std::string_view reason) {
  const auto left = std::ranges::find_if(parameters, detail::has_gradient);
  if (left != parameters.end()) {
    throw_error(call, fmt::format("a parameter {} has a gradient {}", left->shape().str(), reason));
  }
}

// Whether two parts update the same statistics in the same order.
bool are_alike(const std::vector<nn::RunningUpdate>& a, const std::vector<nn::RunningUpdate>& b) {
  return std::ranges::equal(a, b, [](const nn::RunningUpdate& x, const nn::RunningUpdate& y) {
    const TensorImpl &from = *x.running.impl(), &to = *y.running.impl();
    return from.storage == to.storage && from.offset_bytes == to.offset_bytes && from.shape == to.shape &&
           x.keep == y.keep;
  });
}

// "keep 0.9 of (3), keep 0.9 of (3)".
std::string str_of(const std::vector<nn::RunningUpdate>& updates) {
  std::string text;
  for (const nn::RunningUpdate& update : updates) {
    text += fmt::format("{}keep {} of {} {}", text.empty() ? "" : ", ", update.keep, name(update.running.dtype()),
                        update.running.shape().str());
  }
  return text.empty() ? "none" : text;
}

}  // namespace

Parts::Parts(const World& world, int count, Location where)
    : world_(world),
      count_(checked_count(world, count, where)),
      length_(count / world.size()),
      first_(world.rank() * length_),
      seed_(agreed_seed(world, count, where)) {}

void Parts::check(const char* call) const {
  if (world_.size() > 1) world_.communicator()->check(call);
}

Parts& Parts::begin(const Location& where) {
  const CallSite site(where);
  check("Parts.mine");
  if (is_in_loop_) {
    throw_error("Parts.mine",
                fmt::format("the loop over mine() at {} goes on; it ends before the next one", where_.str()));
  }
  if (kept_count_ != count_) {
    throw_error("Parts.mine",
                fmt::format("what was loaded is of a training in {} parts, and this one has {}: it would go "
                            "on with other bits; make Parts of {}",
                            kept_count_, count_, kept_count_));
  }
  for (Sums& sums : sums_) {
    check_no_gradient("Parts.mine", sums.parameters,
                      "before the first part, which would be counted again; the optimiser's zero_grad() drops it");
  }
  for (Sums& sums : sums_) {
    sums.added = 0;
    sums.partial.clear();
  }
  noted_.clear();
  updates_.clear();
  is_in_loop_ = true;
  is_counted_ = false;
  if (std::exchange(step_of_loops_, step_) != step_) loops_ = 0;
  ++loops_;
  gate_ = std::make_shared<Gate>();
  ended_ = 0;
  part_ = -1;
  where_ = where;
  return *this;
}

void Parts::end() { is_in_loop_ = false; }

// It is computed even if the program ends now, because the other ranks wait for it.
void Parts::fail(const std::string& cause, const char* before_cause) noexcept {
  if (!std::exchange(is_in_loop_, false)) return;
  is_counted_ = true;
  ++step_;
  if (world_.size() == 1) return;
  try {
    const detail::Uninterrupted uninterrupted;  // of a wait for room nothing would be queued, and the others would wait
    check("Parts.mine");
    queue_absence(caller(),
                  fmt::format("[Parts.mine] an exception has left the loop at {} in part {}{}{}{}", where_.str(), part_,
                              cause.empty() ? "" : ": ", cause.empty() ? "" : before_cause, cause),
                  world_.communicator(), where_);
    detail::compute_before_exit();
  } catch (const std::exception& error) {
    world_.communicator()->leave(error.what());
  }
}

Caller Parts::caller() const {
  return {.name = "Parts.average",
          .details = fmt::format("step {}, seed {}, loop {} over mine(), running statistics: {}", step_, seed_, loops_,
                                 updates_.empty() ? "none" : str_of(updates_.front())),
          .gate = gate_};
}

bool Parts::next() {
  const CallSite site(where_);
  if (!is_in_loop_) throw_error("Parts.mine", "the loop over these parts has ended; mine() begins the next one");
  if (part_ >= 0) end_part();
  if (ended_ == length_) {
    end();
    return false;
  }
  part_ = first_ + ended_;
  generator_ = Generator(seed_of(part_), place_of_step());
  return true;
}

std::uint64_t Parts::seed_of(int part) const {
  return detail::mixed_key(static_cast<std::uint64_t>(seed_), static_cast<std::uint64_t>(part));
}
std::uint64_t Parts::place_of_step() const { return static_cast<std::uint64_t>(step_) << place_bits; }

// A program that has seeded the generator itself knows what it does.
void Parts::end_part() {
  const std::uint64_t taken = generator_.seed() == seed_of(part_) ? generator_.place() - place_of_step() : 0;
  if (taken > std::uint64_t{1} << place_bits) {
    throw_error("Parts.mine",
                fmt::format("part {} has taken {} blocks of random numbers, and a step has 2^{}; draw from "
                            "a Generator of the program's own",
                            part_, taken, place_bits));
  }
  for (const Sums& sums : sums_) {
    if (sums.added == 0) continue;
    check_no_gradient("Parts.mine", sums.parameters,
                      fmt::format("that add() has not taken, at the end of part {}; add() comes after all calls of "
                                  "backward() of the part",
                                  part_));
  }
  updates_.push_back(std::exchange(noted_, {}));
  if (!are_alike(updates_.front(), updates_.back())) {
    throw_error(
        "Parts.mine",
        fmt::format("parts {} and {} update running statistics in different ways, {} and {} of them: {}, and {}; "
                    "each part makes the same updates, in the same order",
                    first_, part_, updates_.front().size(), updates_.back().size(), str_of(updates_.front()),
                    str_of(updates_.back())));
  }
  ++ended_;
}

Tensor Parts::rows(const Arg& x, int part) const {
  if (part < first_ || part >= first_ + length_) {
    throw_error("Parts.rows", fmt::format("part {} is not one of this rank's, which are {} to {}", part, first_,
                                          first_ + length_ - 1));
  }
  const Shape& shape = detail::checked_impl(x, "Parts.rows").shape;
  if (shape.rank() < 1 || shape[0] % length_ != 0) {
    throw_error("Parts.rows",
                fmt::format("{} parts cannot share the rows of x {} evenly; Batches with the share of the "
                            "Parts leaves such a batch out",
                            length_, shape.str()));
  }
  const std::int64_t rows = shape[0] / length_, begin = (part - first_) * rows;
  return slice(x, begin, begin + rows);
}

std::vector<Tensor> Parts::rows(const std::vector<Tensor>& batch, int part, Location where) const {
  std::vector<Tensor> all;
  for (const Tensor& tensor : batch) all.push_back(rows(Arg(tensor, where), part));
  return all;
}

void Parts::add(optim::Optimizer& optimizer, Location where) {
  const CallSite site(where);
  check("Parts.add");
  if (!is_in_loop_ || part_ < 0) {
    throw_error("Parts.add", is_in_loop_ ? "no part has begun; it is called within the loop over mine()"
                                         : "no loop over mine() goes on; it is called within one, for each part");
  }
  auto sums = std::ranges::find(sums_, &optimizer, &Sums::optimizer);
  if (sums == sums_.end()) {
    sums_.push_back({.optimizer = &optimizer, .parameters = {}});
    sums = sums_.end() - 1;
  }
  if (sums->added == 0) sums->parameters = optimizer.all_parameters();
  if (sums->added != part_ - first_) {
    throw_error("Parts.add",
                fmt::format("it is called once for each part, and part {} comes after {} others of this rank, "
                            "but {} parts were added; after an error begin the loop over mine() again, on all ranks",
                            part_, part_ - first_, sums->added));
  }
  const NoGrad no_grad;
  // What throws in between leaves too few added.
  std::vector<Tensor> gradients;
  for (Tensor& parameter : sums->parameters) gradients.push_back(taken_gradient(parameter, where));
  int parts = 1;
  std::vector<Partial>& partial = sums->partial;
  // What the last part completes is added where ranks exchange it, so that nothing waits for all of its gradients.
  const bool is_left = world_.size() > 1 && part_ + 1 == first_ + length_;
  while (!is_left && !partial.empty() && partial.back().parts == parts) {
    for (std::size_t i = gradients.size(); i-- > 0;) {  // the order of backward()
      gradients[i] = sum_of(std::move(partial.back().gradients[i]), std::move(gradients[i]), where);
    }
    partial.pop_back();
    parts *= 2;
  }
  partial.push_back({.parts = parts, .gradients = std::move(gradients)});
  ++sums->added;
}

void Parts::average(optim::Optimizer& optimizer, Location where) {
  const CallSite site(where);
  check("Parts.average");
  if (is_in_loop_) {
    throw_error("Parts.average", fmt::format("part {} has not ended; it is called after the loop over mine() at {}",
                                             part_, where_.str()));
  }
  const auto sums = std::ranges::find(sums_, &optimizer, &Sums::optimizer);
  const int added = sums == sums_.end() ? 0 : sums->added;
  if (ended_ != length_ || added != length_) {
    throw_error("Parts.average",
                fmt::format("{} of this rank's {} parts have ended, and {} were added; add() is called for each in the "
                            "loop over mine(), which begins again on all ranks after an error",
                            ended_, length_, added));
  }
  if (sums->partial.empty()) {
    throw_error(
        "Parts.average",
        fmt::format("step {} has averaged this optimiser's gradients before; a loop over mine() begins the next",
                    step_));
  }
  check_no_gradient("Parts.average", sums->parameters, "that came after its add(), and would be lost");
  if (world_.size() > 1) {
    for (const Tensor& parameter : sums->parameters) check_device("Parts.average", *parameter.impl(), world_);
    for (const std::vector<nn::RunningUpdate>& of_part : updates_) {
      for (const nn::RunningUpdate& update : of_part) check_device("Parts.average", *update.term.impl(), world_);
    }
  }
  if (!std::exchange(is_counted_, true)) ++step_;
  const Caller of_step = world_.size() == 1 ? Caller() : caller();
  std::exception_ptr failure;  // of all ranks
  try {
    const NoGrad no_grad;
    std::vector<Partial> partial = std::exchange(sums->partial, {});
    std::vector<Tensor> totals = std::move(partial.back().gradients);
    partial.pop_back();
    Terms terms(totals.size());
    for (std::size_t i = totals.size(); i-- > 0;) {
      for (Partial& more : partial) terms[i].push_back(std::move(more.gradients[i]));
      const bool is_whole = totals[i].defined() && std::ranges::all_of(terms[i], &Tensor::defined);
      for (; !is_whole && !terms[i].empty(); terms[i].pop_back()) {
        totals[i] = sum_of(std::move(terms[i].back()), std::move(totals[i]), where);
      }
      if (!totals[i].defined()) continue;
      Tensor& parameter = sums->parameters[i];
      static_cast<Leaf*>(parameter.impl()->node)->accumulate(std::move(totals[i]));
      if (world_.size() == 1 && count_ > 1) parameter.grad() /= Scalar(count_, where);
    }
    if (world_.size() > 1) failure = queue_average(of_step, sums->parameters, count_, world_, where, std::move(terms));
    const std::exception_ptr of_updates = update_running(of_step, where);
    if (failure == nullptr) failure = of_updates;
  } catch (const std::exception& error) {
    if (world_.size() > 1 && !gate_->is_closed()) world_.communicator()->leave(error.what());
    throw;
  }
  throw_if(failure);
}

// Once in a step. All ranks have the terms of all parts then, and make all updates. Returns a failure of all ranks, as
// queue_move() does.
std::exception_ptr Parts::update_running(const Caller& of_step, const Location& where) {
  if (updates_.empty()) return nullptr;
  const std::vector<std::vector<nn::RunningUpdate>> updates = std::exchange(updates_, {});
  std::exception_ptr failure;
  std::set<DType> dtypes;
  for (const nn::RunningUpdate& update : updates.front()) dtypes.insert(update.term.dtype());
  for (const DType dtype : dtypes) {
    std::vector<Tensor> terms;
    for (const std::vector<nn::RunningUpdate>& of_part : updates) {
      for (const nn::RunningUpdate& update : of_part) {
        if (update.term.dtype() == dtype) terms.push_back(reshape(Arg(update.term, where), {-1}));
      }
    }
    Tensor all;
    // All ranks queue all of them, whatever has failed.
    if (const std::exception_ptr here = gather(of_step, terms, all, where)) {
      if (failure == nullptr) failure = here;
      continue;
    }
    for (int part = 0; part < count_; ++part) {
      std::int64_t begin = 0;
      for (const nn::RunningUpdate& update : updates.front()) {
        if (update.term.dtype() != dtype) continue;
        const std::int64_t end = begin + update.term.numel();
        const Tensor term = slice(Arg(all[part], where), begin, end);
        nn::update_running({update.running, update.keep, term.reshape(update.term.shape())}, where);
        begin = end;
      }
    }
  }
  return failure;
}

// `all`: a row for each part of all ranks.
std::exception_ptr Parts::gather(const Caller& of_step, const std::vector<Tensor>& terms, Tensor& all,
                                 const Location& where) const {
  const Tensor own = concat(terms, 0, where).reshape({length_, -1});
  all = own;
  if (world_.size() == 1) return nullptr;
  all = zeros({count_, own.shape()[1]}, {.dtype = own.dtype(), .device = own.device()}, where);
  slice(Arg(all, where), first_, first_ + length_).copy_(Arg(own, where));
  return queue_move({.kind = Move::gather}, of_step, {all}, world_.communicator(), where);
}

void Parts::members(nn::Members& m) {
  m("count", kept_count_);
  m("seed", seed_);
  m.not_negative("step", step_);
}

}  // namespace asyncgrad::dist
