// Scopes that switch the recording of operations for backward() off. Their state belongs to the calling thread. Nothing
// here blocks.
#pragma once

namespace asyncgrad {

// While it lives, operations of this thread are not recorded: their results require no gradient, and parameters may be
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

// Does what NoGrad does, and tells layers that behave differently in training, such as dropout, that they evaluate.
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
