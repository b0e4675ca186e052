#include "asyncgrad/autograd/custom.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "asyncgrad/autograd/in_place.h"
#include "asyncgrad/autograd/operands.h"
#include "asyncgrad/core/backend/custom_kernel.h"
#include "asyncgrad/core/engine/submit.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/origin/kept_name.h"

namespace asyncgrad {

namespace {

using namespace detail;

void check_options(const char* name, const CustomOptions& options) {
  constexpr int most_tiles = 65535;
  constexpr std::int64_t most_scratch = std::int64_t{1} << 40;
  if (options.tiles < 1 || options.tiles > most_tiles) {
    throw_error(name, fmt::format("CustomOptions::tiles is {}, not 1 to {}", options.tiles, most_tiles));
  }
  if (options.scratch_bytes < 0 || options.scratch_bytes > most_scratch) {
    throw_error(name,
                fmt::format("CustomOptions::scratch_bytes is {}, not 0 to {}", options.scratch_bytes, most_scratch));
  }
  if (options.cost < 0) throw_error(name, fmt::format("CustomOptions::cost is {}", options.cost));
}

// Throws Error unless the inputs are on one device, which it returns, and may be used here.
Device checked_device(const char* name, const std::vector<Tensor>& inputs, const CustomOptions& options) {
  Device device = options.device;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TensorImpl& impl = checked_operand(inputs[i], name);
    if (i == 0) device = impl.device;
    if (impl.device != device) {
      throw_error(name, fmt::format("the inputs are on different devices: input 0 on {}, input {} on {}", device.str(),
                                    i, impl.device.str()));
    }
    if (has_history(inputs[i]) && grad_enabled()) {
      throw_error(name, fmt::format("input {} {} requires a gradient, which the result of custom() has no way to pass "
                                    "on: pass detach() of it, and give the result to with_gradient()",
                                    i, impl.shape.str()));
    }
  }
  if (device.type == DeviceType::cuda && options.cuda == nullptr) {
    throw_error(name, fmt::format("has no kernel for {}: CustomOptions::cuda is empty", device.str()));
  }
  return device;
}

// Which inputs the kernel writes.
std::vector<bool> written_inputs(const char* name, const std::vector<Tensor>& inputs, const CustomOptions& options) {
  std::vector<bool> is_written(inputs.size());
  for (const int i : options.in_place) {
    if (i < 0 || static_cast<std::size_t>(i) >= inputs.size()) {
      throw_error(name, fmt::format("CustomOptions::in_place names input {}, of {}", i, inputs.size()));
    }
    is_written[static_cast<std::size_t>(i)] = true;
    check_writable(name, inputs[static_cast<std::size_t>(i)], Tensor());
  }
  return is_written;
}

// What is written must not lie where another operand does: which of them a tile sees would be a matter of time.
void check_overlaps(const char* name, const std::vector<Tensor>& inputs, const std::vector<bool>& is_written) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    for (std::size_t j = 0; is_written[i] && j < inputs.size(); ++j) {
      if (i != j && inputs[i].impl()->storage == inputs[j].impl()->storage) {
        throw_error(name, fmt::format("input {} is written in place, and shares its storage with input {}", i, j));
      }
    }
  }
}

}  // namespace

std::vector<Tensor> custom_many(std::string_view name, const std::vector<CustomOutput>& outputs,
                                const std::vector<Tensor>& inputs, std::function<void(const CustomCall&)> kernel,
                                CustomOptions options, Location where) {
  const char* const kept = kept_name("custom", name);
  if (kernel == nullptr) throw_error(kept, "there is no kernel");
  check_options(kept, options);
  const Device device = checked_device(kept, inputs, options);
  std::vector<bool> is_written = written_inputs(kept, inputs, options);
  check_overlaps(kept, inputs, is_written);
  if (outputs.empty() && options.in_place.empty()) throw_error(kept, "writes nothing: it has no output");

  std::vector<Tensor> results;
  std::vector<OperandRef> operands;
  results.reserve(outputs.size());  // the operands refer to them
  for (const CustomOutput& output : outputs) {
    results.push_back(make_tensor(output.shape, output.dtype, device));
    operands.push_back(writes(results.back()));
  }
  auto made = std::make_shared<CustomKernel>(CustomKernel{.name = kept,
                                                          .run = std::move(kernel),
                                                          .run_on_cuda = std::move(options.cuda),
                                                          .tiles = options.tiles,
                                                          .scratch_bytes = options.scratch_bytes,
                                                          .cost = options.cost,
                                                          .outputs = static_cast<int>(outputs.size())});
  made->inputs.resize(inputs.size());
  for (const bool written : {true, false}) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (is_written[i] != written) continue;
      made->inputs[i] = static_cast<int>(operands.size());
      operands.push_back(written ? updates(inputs[i]) : reads(inputs[i]));
    }
  }
  made->is_in_place = std::move(is_written);
  // Relaxed: a number for each.
  static std::atomic<std::uint64_t> number{0};
  const CustomAttributes attributes{made.get(), kept, number.fetch_add(1, std::memory_order_relaxed)};
  submit(Submission{Op::custom, operands, &attributes, sizeof(attributes), where, std::move(made)});
  return results;
}

Tensor custom(std::string_view name, CustomOutput output, const std::vector<Tensor>& inputs,
              std::function<void(const CustomCall&)> kernel, CustomOptions options, Location where) {
  return custom_many(name, std::vector{output}, inputs, std::move(kernel), std::move(options), where).front();
}

}  // namespace asyncgrad
