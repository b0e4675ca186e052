#include "asyncgrad/optim/schedule.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <utility>

#include "asyncgrad/core/checks.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad::optim {

namespace {

void check_length(const char* schedule, const char* what, std::int64_t length) {
  if (length < 1) throw_error(schedule, fmt::format("{} must be at least 1, got {}", what, length));
}

}  // namespace

Factor steps(std::int64_t every, double factor) {
  check_length("steps", "every", every);
  check_not_negative("steps", "factor", factor);
  return [=](std::int64_t step) { return std::pow(factor, static_cast<double>(step / every)); };
}

Factor cosine(std::int64_t length, double min_factor) {
  check_length("cosine", "length", length);
  check_not_negative("cosine", "min_factor", min_factor);
  return [=](std::int64_t step) {
    if (step >= length) return min_factor;
    const double turn = std::numbers::pi * static_cast<double>(step) / static_cast<double>(length);
    return min_factor + (1 - min_factor) * (1 + std::cos(turn)) / 2;
  };
}

Factor warm_up(std::int64_t length, Factor then) {
  check_length("warm_up", "length", length);
  if (then == nullptr) throw_error("warm_up", "the schedule that is to follow is empty");
  return [length, then = std::move(then)](std::int64_t step) {
    return step < length ? static_cast<double>(step + 1) / static_cast<double>(length) : then(step - length);
  };
}

Factor warm_up(std::int64_t length) {
  return warm_up(length, [](std::int64_t) { return 1.0; });
}

Schedule::Schedule(Optimizer& optimizer, Factor factor) : optimizer_(&optimizer), factor_(std::move(factor)) {
  if (factor_ == nullptr) throw_error("Schedule", "the function is empty");
  set(0);
}

void Schedule::step() {
  set(count_ + 1);
  ++count_;
}

void Schedule::set(std::int64_t count) {
  const double factor = factor_(count);
  check_not_negative("Schedule", "the factor", factor);
  add_new_groups();
  for (std::size_t i = 0; i < first_rates_.size(); ++i) optimizer_->set_lr(i, first_rates_[i] * factor);
}

void Schedule::add_new_groups() {
  for (std::size_t i = first_rates_.size(); i < optimizer_->groups(); ++i) first_rates_.push_back(optimizer_->lr(i));
}

// A program that added a group after it had made the schedule loads its checkpoint before the next step.
void Schedule::members(nn::Members& m) {
  add_new_groups();
  m("count", count_);
  m("first_rates", first_rates_);
}

}  // namespace asyncgrad::optim
