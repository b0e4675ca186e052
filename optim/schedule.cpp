#include "asyncgrad/optim/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "asyncgrad/core/checks.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad::optim {

Factor steps(std::int64_t every, double factor) {
  check_at_least_one("steps", "every", every);
  check_not_negative("steps", "factor", factor);
  return [=](std::int64_t step) { return std::pow(factor, static_cast<double>(step / every)); };
}

Factor cosine(std::int64_t length, double min_factor) {
  check_at_least_one("cosine", "length", length);
  check_not_negative("cosine", "min_factor", min_factor);
  return [=](std::int64_t step) {
    if (step >= length) return min_factor;
    const double turn = std::numbers::pi * static_cast<double>(step) / static_cast<double>(length);
    return min_factor + (1 - min_factor) * (1 + std::cos(turn)) / 2;
  };
}

Factor warm_up(std::int64_t length, Factor then) {
  check_at_least_one("warm_up", "length", length);
  if (then == nullptr) throw_error("warm_up", "the schedule that is to follow is empty");
  return [length, then = std::move(then)](std::int64_t step) {
    return step < length ? static_cast<double>(step + 1) / static_cast<double>(length) : then(step - length);
  };
}

Factor warm_up(std::int64_t length) {
  return warm_up(length, [](std::int64_t) { return 1.0; });
}

Factor one_cycle(std::int64_t length, OneCycleOptions options) {
  if (length < 2) throw_error("one_cycle", fmt::format("length must be at least 2, got {}", length));
  if (!(options.rise > 0 && options.rise < 1)) {
    throw_error("one_cycle", fmt::format("rise must be in (0, 1), got {}", options.rise));
  }
  check_not_negative("one_cycle", "first_factor", options.first_factor);
  check_not_negative("one_cycle", "last_factor", options.last_factor);
  const auto between = [](double from, double to, double share) {
    return to + (from - to) * (1 + std::cos(std::numbers::pi * share)) / 2;
  };
  const double last = static_cast<double>(length) - 1, top = options.rise * static_cast<double>(length) - 1;
  return [=](std::int64_t step) {
    const double t = static_cast<double>(step);
    if (t >= last) return options.last_factor;
    if (t <= top) return between(options.first_factor, 1, top > 0 ? t / top : 1);
    return between(1, options.last_factor, (t - top) / (last - top));
  };
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
  for (const double rate : first_rates_) check_not_negative("Schedule", "the learning rate", rate * factor);
  for (std::size_t i = 0; i < first_rates_.size(); ++i) optimizer_->set_lr(i, first_rates_[i] * factor);
}

void Schedule::add_new_groups() {
  for (std::size_t i = first_rates_.size(); i < optimizer_->groups(); ++i) first_rates_.push_back(optimizer_->lr(i));
}

// A program that added a group after it had made the schedule loads its checkpoint before the next step.
void Schedule::members(nn::Members& m) {
  add_new_groups();
  m.not_negative("count", count_);
  m.not_negative("first_rates", first_rates_);
}

Plateau::Plateau(Optimizer& optimizer, PlateauOptions options, Location where)
    : optimizer_(&optimizer),
      options_(options),
      best_(options.larger_is_better ? -std::numeric_limits<double>::infinity()
                                     : std::numeric_limits<double>::infinity()) {
  const CallSite site(where);
  check_below_one("Plateau", "factor", options.factor);
  check_not_negative("Plateau", "threshold", options.threshold);
  check_not_negative("Plateau", "min_lr", options.min_lr);
  if (options.patience < 0) {
    throw_error("Plateau", fmt::format("patience must not be negative, got {}", options.patience));
  }
}

bool Plateau::is_better(double value) const {
  if (std::isinf(best_)) return options_.larger_is_better ? value > best_ : value < best_;
  const double margin = options_.threshold * std::abs(best_);
  return options_.larger_is_better ? value > best_ + margin : value < best_ - margin;
}

bool Plateau::step(double value) {
  if (is_better(value)) {
    best_ = value;
    worse_ = 0;
    return false;
  }
  if (++worse_ <= options_.patience) return false;
  worse_ = 0;
  bool has_lowered = false;
  for (std::size_t group = 0; group < optimizer_->groups(); ++group) {
    const double lr = std::max(options_.min_lr, options_.factor * optimizer_->lr(group));
    if (lr >= optimizer_->lr(group)) continue;
    optimizer_->set_lr(group, lr);
    has_lowered = true;
  }
  return has_lowered;
}

void Plateau::members(nn::Members& m) {
  m("best", best_);
  m.not_negative("worse", worse_);
}

}  // namespace asyncgrad::optim
