// Operations of one's own: a gradient for a function made of operations, and a kernel that the engine runs as it runs
// the library's.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "asyncgrad/autograd/tensor_list.h"
#include "asyncgrad/core/custom_call.h"
#include "asyncgrad/core/location.h"
#include "asyncgrad/core/tensor.h"

namespace asyncgrad {

// Holds the values from which a gradient of one's own is computed.
class GradientCall {
 public:
  // The gradient of the value, of its shape.
  virtual const Tensor& dy() const = 0;
  // Whether the gradient of input i is wanted; one that is not may be left Tensor{}.
  virtual bool wants(int i) const = 0;
  // The i-th tensor that with_gradient() was asked to save. Throws Error if it was written in place since.
  virtual const Tensor& saved(int i) const = 0;

 protected:
  ~GradientCall() = default;
};

using GradientFunction = std::function<std::vector<Tensor>(const GradientCall& call)>;

// Says whether a gradient of one's own has gradients itself, for GradOptions::create_graph.
enum class GradientOrder : std::uint8_t {
  first,  // it has none: ag::grad() with create_graph throws Error
  any,    // it computes its results from dy(), and from what it saved, by differentiable operations alone
};

// `value`, with `backward` for its gradients: backward() calls it with the gradient of the value, under NoGrad, and it
// returns those of `inputs`, in their order and of their shapes; Tensor{} stands for none. The value's own history is
// ignored. `saved` are tensors that `backward` reads, by GradientCall::saved(). The result shares its storage with
// `value`. Nothing is queued; `name` appears in messages.
//
// With GradientOrder::any `backward` is also called while operations are recorded; inputs and the value then come from
// GradientCall::saved() with their history, and all else that is saved is a constant. So it may save nothing else that
// depends on the inputs.
//
// Throws Error if the value is neither float32 nor float64, and, with GradientOrder::any, for a saved tensor that has a
// history, is no input and not the value. backward() throws Error if `backward` returns more or fewer gradients than
// there are inputs, or one of another shape, type or device.
//
//   ag::Tensor round_through(const ag::Tensor& x) {  // rounds; the gradient is as if it did not
//     const auto pass_on = [](const auto& call) { return call.dy(); };
//     return ag::with_gradient("round_through", ag::round(x.detach()), {x}, pass_on);
//   }
Tensor with_gradient(std::string_view name, const Tensor& value, TensorList inputs, GradientFunction backward,
                     TensorList saved = {}, GradientOrder order = GradientOrder::first,
                     Location where = Location::current());

// The same for one input: `backward` returns its gradient alone.
template <class Backward>
requires std::convertible_to<std::invoke_result_t<Backward&, const GradientCall&>, Tensor> Tensor
with_gradient(std::string_view name, const Tensor& value, TensorList inputs, Backward backward, TensorList saved = {},
              GradientOrder order = GradientOrder::first, Location where = Location::current()) {
  return with_gradient(name, value, inputs,
                       GradientFunction([backward = std::move(backward)](const GradientCall& call) mutable {
                         return std::vector<Tensor>{backward(call)};
                       }),
                       saved, order, where);
}

// A tensor that a kernel of one's own makes.
struct CustomOutput {
  Shape shape{};
  DType dtype = default_dtype();
};

struct CustomOptions {
  // The kernel runs so many times, once for each part of the work, on as many threads as there are: see
  // CustomCall::part_of(). A number that depends on shapes alone keeps results the same on every machine. 1 to 65535.
  int tiles = 1;
  std::int64_t scratch_bytes = 0;  // that a thread needs while it runs a tile
  // The approximate number of scalar operations of all tiles together; 0 stands for one for each element of all
  // tensors. Short kernels may run at the call.
  std::int64_t cost = 0;
  std::vector<int> in_place{};  // inputs that the kernel writes
  // The kernel gives the same outputs whenever it runs with the same inputs, so that EngineOptions::recompute_to_fit may
  // drop them and run it again. Its captures live on for that. Not together with in_place.
  bool recomputable = false;
  Device device{};  // of the outputs, where there is no input; else they are where the inputs are
  // On a GPU this runs once in place of the kernel, on the library's thread: it puts its work on CustomCall::stream() and
  // returns. A LaunchGraph launches what comes before it and after it, and never records it.
  std::function<void(const CustomCall&)> cuda{};
};

// An operation whose kernel is a function of the program. It runs as every other one does: on the engine's threads,
// once its inputs are computed and the memory of its outputs is admitted. An exception that it throws is the
// operation's error. The kernel may not wait, queue operations or ask the engine for figures, which throws Error; nor
// may it wait for a thread that does: that thread may wait for this operation, and then neither ends. It may not keep
// what CustomCall gave it. Its captures are destroyed on some thread after the operation has ended. It has to write
// every element of every output, and its results should depend on its inputs alone.
//
// The result has no history. So an input that requires a gradient is an Error while gradients are recorded: pass
// x.detach(), and give the result to with_gradient().
//
// Throws Error for inputs on different devices, options that make no sense, and a GPU without CustomOptions::cuda. May
// wait for room in the queue, as every operation may.
//
//   ag::Tensor reversed(const ag::Tensor& x) {
//     return ag::custom("reversed", {.shape = x.shape()}, {x}, [](const ag::CustomCall& call) {
//       std::ranges::reverse_copy(call.input<float>(0), call.output<float>().begin());
//     });
//   }
Tensor custom(std::string_view name, const CustomOutput& output, TensorList inputs,
              std::function<void(const CustomCall&)> kernel, CustomOptions options = {},
              Location where = Location::current());

// Does the same with any number of outputs. Without outputs it has to write an input in place.
std::vector<Tensor> custom_many(std::string_view name, const std::vector<CustomOutput>& outputs, TensorList inputs,
                                std::function<void(const CustomCall&)> kernel, CustomOptions options = {},
                                Location where = Location::current());

// Data that a function of the program makes: it reads a file, decodes, draws. It runs on threads of its own, of which
// there are EngineOptions::source_threads, so it may sleep or wait for a file. Otherwise the rules for kernels hold.
// Sources run ahead of the program's other operations as far as the memory budget allows. So a source that is queued
// for the next batch reads it ahead of time:
//
//   ag::Tensor x = read(0);  // ag::source("read", {.shape = {256, 784}}, [](const ag::CustomCall& call) { … })
//   for (int batch = 0; batch < batches; ++batch) {
//     train(x);
//     x = read(batch + 1);  // is read while the batch before is computed
//   }
//
// Several sources may run at once, and end in any order: a function that others share takes a lock. Throws Error for a
// device that is no part of the CPU. The first source waits until everything is finished.
Tensor source(std::string_view name, const CustomOutput& output, std::function<void(const CustomCall&)> function,
              Device device = {}, Location where = Location::current());

// Does the same with several results.
std::vector<Tensor> source_many(std::string_view name, const std::vector<CustomOutput>& outputs,
                                std::function<void(const CustomCall&)> function, Device device = {},
                                Location where = Location::current());

}  // namespace asyncgrad
