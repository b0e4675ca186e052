// Operations of one's own: a kernel that the engine runs as it runs the library's. with_gradient.h gives a gradient to
// its result.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "asyncgrad/autograd/tensor_list.h"
#include "asyncgrad/core/custom_call.h"
#include "asyncgrad/core/location.h"
#include "asyncgrad/core/tensor.h"

namespace asyncgrad {

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

}  // namespace asyncgrad
