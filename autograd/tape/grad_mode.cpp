#include "asyncgrad/autograd/grad_mode.h"

#include <utility>

#include "asyncgrad/autograd/tape/recording.h"

namespace asyncgrad {

namespace {

thread_local bool grad_on = true;
thread_local bool training = true;
thread_local bool recomputing = false;

}  // namespace

NoGrad::NoGrad() : outer_(std::exchange(grad_on, false)) {}
NoGrad::~NoGrad() { grad_on = outer_; }

EnableGrad::EnableGrad() : outer_(std::exchange(grad_on, true)) {}
EnableGrad::~EnableGrad() { grad_on = outer_; }

detail::Recording::Recording(bool is_on) : outer_(std::exchange(grad_on, is_on)) {}
detail::Recording::~Recording() { grad_on = outer_; }

detail::Recomputation::Recomputation(bool is_training)
    : outer_(std::exchange(recomputing, true)), outer_training_(std::exchange(training, is_training)) {}
detail::Recomputation::~Recomputation() {
  recomputing = outer_;
  training = outer_training_;
}

Evaluation::Evaluation() : outer_(std::exchange(training, false)) {}
Evaluation::~Evaluation() { training = outer_; }

bool grad_enabled() { return grad_on; }
bool is_training() { return training; }
bool is_recomputing() { return recomputing; }

}  // namespace asyncgrad
