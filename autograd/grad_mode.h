// Scopes that switch the recording of operations for backward() off and on, and layers from training to evaluation.
// Their state belongs to the calling thread. Nothing here blocks.
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

// While it lives, operations of this thread are recorded, whatever scope is around it. A prediction under Inference may
// need a gradient, and so may the gradient function of with_gradient().
//
//   const ag::EnableGrad enable_grad;
//   const ag::Tensor x = state.detach().requires_grad_();
//   const ag::Tensor force = -ag::grad(energy(x), {x})[0];
class EnableGrad {
 public:
  [[nodiscard]] EnableGrad();
  EnableGrad(const EnableGrad&) = delete;
  EnableGrad& operator=(const EnableGrad&) = delete;
  ~EnableGrad();

 private:
  bool outer_;
};

// While it lives, layers of this thread that behave differently in training evaluate: dropout keeps everything, and a
// normalisation uses the statistics that it has stored. Operations are recorded as before.
class Evaluation {
 public:
  [[nodiscard]] Evaluation();
  Evaluation(const Evaluation&) = delete;
  Evaluation& operator=(const Evaluation&) = delete;
  ~Evaluation();

 private:
  bool outer_;
};

// Does what NoGrad and Evaluation do.
class Inference {
 public:
  [[nodiscard]] Inference() = default;
  Inference(const Inference&) = delete;
  Inference& operator=(const Inference&) = delete;
  ~Inference() = default;

 private:
  NoGrad no_grad_;
  Evaluation evaluation_;
};

bool grad_enabled();  // true outside of NoGrad and Inference, and inside of EnableGrad
bool is_training();   // true outside of Evaluation and Inference; a layer asks in its call
// True while nn::recompute() computes a layer for the second time. A layer that counts its calls, in running statistics
// for example, does so only where this is false.
bool is_recomputing();

}  // namespace asyncgrad
