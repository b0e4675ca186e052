// Whether operations are recorded for backward(). The state belongs to the calling thread.
#pragma once

namespace asyncgrad {

// While it lives, operations of this thread are not recorded: their results want no gradient, and parameters may be
// written in place.
class NoGrad {
 public:
  [[nodiscard]] NoGrad();
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;
  ~NoGrad();

 private:
  bool outer_;
};

// NoGrad, and evaluation: layers that behave differently in training (dropout, running statistics) do what they do
// after it.
class Inference {
 public:
  [[nodiscard]] Inference();
  Inference(const Inference&) = delete;
  Inference& operator=(const Inference&) = delete;
  ~Inference();

 private:
  NoGrad no_grad_;
  bool outer_;
};

bool grad_enabled();       // true outside of NoGrad and Inference
bool inference_enabled();  // true inside Inference

}  // namespace asyncgrad
