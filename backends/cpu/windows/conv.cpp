// Convolutions and the gradients of their inputs. Both are passes: every output is a sum over channels and over the
// elements of the kernel, which lie at fixed distances from it (conv_field.h). The gradient of an input is a pass for
// each place of an input between two strides, over the gradient of the output.
//
// Every sum is one chain, in the order that conv_order() gives.
#include <algorithm>

#include "asyncgrad/backends/cpu/families.h"
#include "asyncgrad/backends/cpu/windows/conv_block_of_pixels.h"
#include "asyncgrad/backends/cpu/windows/conv_depthwise.h"
#include "asyncgrad/backends/cpu/windows/conv_images.h"
#include "asyncgrad/backends/divided.h"

namespace asyncgrad::detail {

namespace {

ConvExtents extents_of(const KernelCall& call, bool of_inputs) {
  return of_inputs ? ConvExtents(call, 0, 2, 1) : ConvExtents(call, 1, 2, 0);
}

template <class T>
ConvOperands<T> operands_of(const KernelCall& call, const ConvExtents& e, bool of_inputs) {
  const std::int64_t in = e.groups * e.channels * e.in_plane(), out = e.groups * e.outputs * e.out_plane();
  const std::int64_t of_output = e.channels * e.taps(), of_channel = e.taps();
  ConvOperands<T> o{.x = call.data<T>(1), .w = call.data<T>(2), .bias = nullptr, .y = call.data<T>(0)};
  if (call.view_count == 4) o.bias = call.data<T>(3);
  o.kernel_width = e.width.kernel;
  if (of_inputs) {
    o.x_image = out, o.x_plane = e.out_plane(), o.y_image = in, o.y_plane = e.in_plane(), o.y_width = e.width.in;
    o.w_output = of_channel, o.w_channel = of_output;
  } else {
    o.x_image = in, o.x_plane = e.in_plane(), o.y_image = out, o.y_plane = e.out_plane(), o.y_width = e.width.out;
    o.w_output = of_output, o.w_channel = of_channel;
  }
  return o;
}

// Visits how the operation is computed: with a DepthwisePlan, an ImagesPlan or a ConvPlan.
template <bool of_inputs, class T, class Visit>
auto with_plan(const KernelCall& call, Visit visit) {
  const ConvExtents e = extents_of(call, of_inputs);
  if (const auto plan = depthwise_plan<T>(e, of_inputs ? Op::conv_input : Op::conv)) return visit(*plan);
  if (const auto plan = images_plan<T>(e, of_inputs)) return visit(*plan);
  return visit(conv_plan(e, of_inputs, conv_products().of<T>().lanes));
}

template <bool of_inputs, class T>
void run_tile(const ConvPlan& plan, const KernelCall& call, int tile) {
  const ConvExtents e = extents_of(call, of_inputs);
  const ConvOperands<T> operands = operands_of<T>(call, e, of_inputs);
  ConvScratch scratch(call.scratch);
  const ConvMemory<T> memory(scratch, plan);
  const Range units = tile_range(plan.units(), plan.units_per_tile, tile);
  const std::int64_t of_block = plan.groups * plan.output_parts;
  for (std::int64_t unit = units.begin; unit < units.end;) {
    std::int64_t rest = unit / of_block;
    const std::int64_t column_rest = take_digit(rest, plan.column_passes), row_rest = take_digit(rest, plan.row_passes);
    const ConvPass pass = conv_pass(e, of_inputs, row_rest, column_rest);
    const ConvBlock block = plan.grid.block(rest, pass.rows, pass.columns);
    const Range of_this{unit % of_block, std::min(of_block, unit % of_block + units.end - unit)};
    if (block.pixels() > 0) ConvBlockOfPixels<T>(plan, pass, block, operands, memory).run(of_this);
    unit += of_this.end - of_this.begin;
  }
}
template <bool of_inputs, class T>
void run_tile(const ImagesPlan& plan, const KernelCall& call, int tile) {
  run_images(plan, operands_of<T>(call, plan.extents, of_inputs), call.scratch, tile);
}
template <bool of_inputs, class T>
void run_tile(const DepthwisePlan& plan, const KernelCall& call, int tile) {
  run_depthwise<T>(plan, call, tile);
}

template <class T>
std::int64_t bytes_of(const ConvPlan& plan) {
  ConvScratch scratch(nullptr);
  const ConvMemory<T> memory(scratch, plan);
  return scratch.taken_bytes();
}
template <class T>
std::int64_t bytes_of(const ImagesPlan& plan) {
  return images_scratch_bytes<T>(plan);
}
template <class T>
std::int64_t bytes_of(const DepthwisePlan& plan) {
  return depthwise_scratch_bytes<T>(plan);
}

template <bool of_inputs>
void run(const KernelCall& call, int tile) {
  visit_floating(call.dtype(0), [&]<class T>(T) {
    with_plan<of_inputs, T>(call, [&](const auto& plan) { run_tile<of_inputs, T>(plan, call, tile); });
  });
}
template <bool of_inputs>
int tiles(const KernelCall& call) {
  return static_cast<int>(in_type_of(call, [&]<class T>(T) -> std::int64_t {
    return with_plan<of_inputs, T>(call, [](const auto& plan) { return plan.tiles(); });
  }));
}
template <bool of_inputs>
std::int64_t scratch_bytes(const KernelCall& call) {
  return in_type_of(call, [&]<class T>(T) {
    return with_plan<of_inputs, T>(call, [](const auto& plan) { return bytes_of<T>(plan); });
  });
}
template <bool of_inputs>
std::int64_t cost(const KernelCall& call) {
  return extents_of(call, of_inputs).cost();
}

}  // namespace

constinit const Kernel cpu_kernels::conv{
    .run = run<false>, .tiles = tiles<false>, .scratch_bytes = scratch_bytes<false>, .cost = cost<false>};
constinit const Kernel cpu_kernels::conv_input{
    .run = run<true>, .tiles = tiles<true>, .scratch_bytes = scratch_bytes<true>, .cost = cost<true>};

}  // namespace asyncgrad::detail
