#include "asyncgrad/autograd/grad_mode.h"

#include <utility>

namespace asyncgrad {

namespace {

thread_local bool grad_on = true;
thread_local bool inference_on = false;

}  // namespace

NoGrad::NoGrad() : outer_(std::exchange(grad_on, false)) {}
NoGrad::~NoGrad() { grad_on = outer_; }

Inference::Inference() : outer_(std::exchange(inference_on, true)) {}
Inference::~Inference() { inference_on = outer_; }

bool grad_enabled() { return grad_on; }
bool inference_enabled() { return inference_on; }

}  // namespace asyncgrad
