#include "asyncgrad/autograd/custom.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "asyncgrad/autograd/own/sink.h"
#include "asyncgrad/autograd/source.h"
#include "asyncgrad/autograd/tape/in_place.h"
#include "asyncgrad/autograd/tape/operands.h"
#include "asyncgrad/core/backend/custom_kernel.h"
#include "asyncgrad/core/engine/submit.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/memory/small_objects.h"
#include "asyncgrad/core/origin/kept_name.h"

namespace asyncgrad {

namespace {

using namespace detail;

void check_options(const char* name, const CustomOptions& options) {
  constexpr int max_tiles = 65535;
  constexpr std::int64_t max_scratch = std::int64_t{1} << 40;
  if (options.tiles < 1 || options.tiles > max_tiles) {
    throw_error(name, fmt::format("CustomOptions::tiles is {}, not 1 to {}", options.tiles, max_tiles));
  }
  if (options.scratch_bytes < 0 || options.scratch_bytes > max_scratch) {
    throw_error(name,
                fmt::format("CustomOptions::scratch_bytes is {}, not 0 to {}", options.scratch_bytes, max_scratch));
  }
  if (options.cost < 0) throw_error(name, fmt::format("CustomOptions::cost must be at least 0, got {}", options.cost));
}

// Throws Error unless the inputs are on one device, which it returns, and may be used here.
Device checked_device(const char* name, std::span<const Tensor> inputs, const CustomOptions& options) {
  Device device = options.device;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TensorImpl& impl = checked_operand(inputs[i], name);
    if (i == 0) device = impl.device;
    if (impl.device != device) {
      throw_error(name,
                  fmt::format("the inputs are on different devices: input 0 on {}, input {} on {}; to() copies one",
                              device.str(), i, impl.device.str()));
    }
    if (has_history(inputs[i]) && grad_enabled()) {
      throw_error(name, fmt::format("input {} {} requires a gradient, which the result of custom() has no way to pass "
                                    "on: pass detach() of it, and give the result to with_gradient()",
                                    i, impl.shape.str()));
    }
  }
  if (device.type == DeviceType::cuda && options.cuda == nullptr) {
    throw_error(name, fmt::format("has no kernel for {}: CustomOptions::cuda is empty; to(\"cpu\") copies a tensor "
                                  "to the CPU, which has one",
                                  device.str()));
  }
  return device;
}

// Throws Error unless the kernel may write those inputs. An input that is written must not overlap another operand,
// because timing would decide which values a tile sees.
void check_written(const char* name, std::span<const Tensor> inputs, const std::vector<int>& in_place) {
  for (const int written : in_place) {
    const auto i = static_cast<std::size_t>(written);
    if (written < 0 || i >= inputs.size()) {
      throw_error(name,
                  fmt::format("CustomOptions::in_place names input {}, of {} numbered from 0", written, inputs.size()));
    }
    check_writable(name, inputs[i], Tensor());
    for (std::size_t j = 0; j < inputs.size(); ++j) {
      if (i != j && inputs[i].impl()->storage == inputs[j].impl()->storage) {
        throw_error(name, fmt::format("input {} is written in place, and shares its storage with input {}", i, j));
      }
    }
  }
}

using Operands = std::vector<OperandRef, SmallObjectAllocator<OperandRef>>;

// Outputs come first, then what is written in place, then the rest; the kernel knows where its inputs are.
void add_inputs(Operands& operands, CustomKernel& kernel, std::span<const Tensor> inputs,
                const std::vector<int>& in_place) {
  if (in_place.empty()) {
    for (const Tensor& input : inputs) operands.push_back(reads(input));
    return;
  }
  kernel.is_in_place.resize(inputs.size());
  for (const int i : in_place) kernel.is_in_place[static_cast<std::size_t>(i)] = true;
  kernel.places.resize(inputs.size());
  for (const bool is_written : {true, false}) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (kernel.is_in_place[i] != is_written) continue;
      kernel.places[i] = static_cast<int>(operands.size());
      operands.push_back(is_written ? updates(inputs[i]) : reads(inputs[i]));
    }
  }
}

// Makes the results, one for each output. `op`: custom or source.
void run(Op op, std::string_view name, std::span<const CustomOutput> outputs, std::span<Tensor> results,
         std::span<const Tensor> inputs, std::function<void(const CustomCall&)> function, CustomOptions options,
         const Location& where) {
  const char* const kept = kept_name(op == Op::source ? "source" : "custom", name);
  if (function == nullptr) throw_error(kept, "there is no kernel: the function is empty");
  check_options(kept, options);
  const Device device = checked_device(kept, inputs, options);
  check_written(kept, inputs, options.in_place);
  if (options.recomputable && !options.in_place.empty())
    throw_error(kept,
                "CustomOptions::recomputable and in_place exclude each other: what was written is not there again");
  if (outputs.empty() && options.in_place.empty())
    throw_error(kept, "writes nothing: it has no output, and in_place names no input");

  Operands operands;
  operands.reserve(outputs.size() + inputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    results[i] = make_tensor(outputs[i].shape, outputs[i].dtype, device);
    operands.push_back(writes(results[i]));
  }
  auto kernel = std::allocate_shared<CustomKernel>(SmallObjectAllocator<CustomKernel>(),
                                                   CustomKernel{.name = kept,
                                                                .run = std::move(function),
                                                                .run_on_cuda = std::move(options.cuda),
                                                                .tiles = options.tiles,
                                                                .scratch_bytes = options.scratch_bytes,
                                                                .cost = options.cost,
                                                                .recomputable = options.recomputable,
                                                                .outputs = static_cast<int>(outputs.size()),
                                                                .inputs = static_cast<int>(inputs.size())});
  add_inputs(operands, *kernel, inputs, options.in_place);
  // Relaxed: a number for each.
  static std::atomic<std::uint64_t> number{0};
  const CustomAttributes attributes{kernel.get(), kept, number.fetch_add(1, std::memory_order_relaxed)};
  const std::shared_ptr<const void> owned = std::move(kernel);
  submit(Submission{op, operands, &attributes, sizeof(attributes), where, &owned});
}

// Throws Error if there can be no source on the device.
void prepare(std::string_view name, Device device) {
  if (device.type != DeviceType::cpu) {
    throw_error(kept_name("source", name),
                fmt::format("a source makes data on the CPU, not on {}: copy it with to()", device.str()));
  }
  prepare_for_sources(device);
}

// The cost is that of a long operation, however little the source computes, because it may take long.
CustomOptions source_on(Device device) {
  constexpr std::int64_t cost = std::int64_t{1} << 20;
  return {.cost = cost, .device = device};
}

}  // namespace

Tensor custom(std::string_view name, const CustomOutput& output, TensorList inputs,
              std::function<void(const CustomCall&)> kernel, CustomOptions options, Location where) {
  const CallSite site(where);
  Tensor result;
  run(Op::custom, name, {&output, 1}, {&result, 1}, inputs.all(), std::move(kernel), std::move(options), where);
  return result;
}

std::vector<Tensor> custom_many(std::string_view name, const std::vector<CustomOutput>& outputs, TensorList inputs,
                                std::function<void(const CustomCall&)> kernel, CustomOptions options, Location where) {
  const CallSite site(where);
  std::vector<Tensor> results(outputs.size());
  run(Op::custom, name, outputs, results, inputs.all(), std::move(kernel), std::move(options), where);
  return results;
}

Tensor source(std::string_view name, const CustomOutput& output, std::function<void(const CustomCall&)> function,
              Device device, Location where) {
  const CallSite site(where);
  Tensor result;
  prepare(name, device);
  run(Op::source, name, {&output, 1}, {&result, 1}, {}, std::move(function), source_on(device), where);
  return result;
}

std::vector<Tensor> source_many(std::string_view name, const std::vector<CustomOutput>& outputs,
                                std::function<void(const CustomCall&)> function, Device device, Location where) {
  const CallSite site(where);
  std::vector<Tensor> results(outputs.size());
  prepare(name, device);
  run(Op::source, name, outputs, results, {}, std::move(function), source_on(device), where);
  return results;
}

namespace detail {

Tensor sink(std::string_view name, const std::vector<Tensor>& inputs, std::function<void(const CustomCall&)> function,
            Location where) {
  const Device device = inputs.empty() ? Device() : inputs.front().device();
  prepare(name, device);
  const CustomOutput output{.shape = {}, .dtype = int64};
  Tensor result;
  run(Op::source, name, {&output, 1}, {&result, 1}, inputs, std::move(function), source_on(device), where);
  compute_before_exit();
  return result;
}

}  // namespace detail

}  // namespace asyncgrad
