#include "asyncgrad/autograd/grad_mode.h"

#include <utility>

#include "asyncgrad/autograd/recording.h"

namespace asyncgrad {

namespace {

thread_local bool grad_on = true;
thread_local bool training = true;

}  // namespace

NoGrad::NoGrad() : outer_(std::exchange(grad_on, false)) {}
NoGrad::~NoGrad() { grad_on = outer_; }

detail::Recording::Recording(bool is_on) : outer_(std::exchange(grad_on, is_on)) {}
detail::Recording::~Recording() { grad_on = outer_; }

Evaluation::Evaluation() : outer_(std::exchange(training, false)) {}
Evaluation::~Evaluation() { training = outer_; }

bool grad_enabled() { return grad_on; }
bool is_training() { return training; }

}  // namespace asyncgrad
