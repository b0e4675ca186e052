#include "asyncgrad/nn/running.h"

#include <fmt/format.h>

#include <utility>

#include "asyncgrad/autograd/elementwise.h"
#include "asyncgrad/autograd/grad_mode.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/nn/layer_options.h"

namespace asyncgrad::nn {

namespace {

constinit thread_local std::vector<RunningUpdate>* noted_by_thread = nullptr;

}  // namespace

NotedRunningUpdates::NotedRunningUpdates(std::vector<RunningUpdate>& noted)
    : outer_(std::exchange(noted_by_thread, &noted)) {}
NotedRunningUpdates::~NotedRunningUpdates() { noted_by_thread = outer_; }

// The values are written once, so that a batch that could not be computed leaves them unchanged.
void update_running(const RunningUpdate& update, const Location& where) {
  const NoGrad no_grad;
  Tensor running = update.running;  // another handle of the same values
  Tensor next = Arg(running, where) * Scalar(update.keep, where);
  next += Arg(update.term, where);
  running.copy_(Arg(next, where));
}

void update_running(const Tensor& running, double keep, const Arg& value, double weight) {
  const Shape &kept = layer_detail::shape_of("update_running", Arg(running, value.where())),
              &taken = layer_detail::shape_of("update_running", value);
  if (kept != taken || running.dtype() != value->dtype()) {
    throw_error("update_running",
                fmt::format("running {} {} and value {} {} differ; both are to have one shape and type",
                            name(running.dtype()), kept.str(), name(value->dtype()), taken.str()));
  }
  const NoGrad no_grad;
  RunningUpdate update{.running = running, .keep = keep, .term = value * Scalar(weight, value.where())};
  if (noted_by_thread != nullptr) {
    noted_by_thread->push_back(std::move(update));
  } else {
    update_running(update, value.where());
  }
}

}  // namespace asyncgrad::nn
