// What a backend fills: a table from operation to kernel, and what a kernel gets to see. Internal.
//
// Every operand is contiguous. Outputs come first, then inputs. The front end has checked shapes, types and devices;
// what depends on values (indices) is checked by `prepare`.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "asyncgrad/core/backend/formulas.h"
#include "asyncgrad/core/backend/view.h"
#include "asyncgrad/core/device.h"
#include "asyncgrad/core/dtype.h"
#include "asyncgrad/core/math_mode.h"
#include "asyncgrad/core/shape.h"

namespace asyncgrad::detail {

class DeviceQueue;
class MemorySource;

enum class Op : std::uint8_t {
  fill,                // out                   FillAttributes
  arange,              // out                   ArangeAttributes
  uniform,             // out                   RandomAttributes
  normal,              // out                   RandomAttributes
  randint,             // out (int64)           RandintAttributes
  permutation,         // out (int64)           RandintAttributes
  copy,                // out, in               none; converts between types; equal numbers of elements
  elementwise,         // out, inputs…          ElementwiseAttributes; inputs broadcast to out's shape
  matmul,              // out, x, w             MatmulAttributes: leading axes of x and w are broadcast to out's
  dense,               // out, x, w[, bias]     DenseAttributes: activation(x w + bias): (N, I) (I, O) (O) -> (N, O)
  dense_grad,          // dz[, dbias], y, dy    DenseAttributes: dz = activation'(y) dy, dbias = sum of dz's rows
  sum,                 // out, in               ReduceAttributes: out = scale * sum
  max,                 // out, in               ReduceAttributes
  min,                 // out, in               ReduceAttributes
  any,                 // out (bool), in (bool) ReduceAttributes
  all,                 // out (bool), in (bool) ReduceAttributes
  max_grad,            // dx, x, y, dy          ReduceAttributes: dy shared evenly by what equals y; of min, too
  argmax,              // out (int64), in       ReduceAttributes: the first of equals; NaN counts as the largest
  argmin,              // out (int64), in       ReduceAttributes: the first of equals; NaN counts as the smallest
  cumsum,              // out, in               CumsumAttributes
  softmax,             // out, in               ReduceAttributes
  softmax_grad,        // dx, y, dy             ReduceAttributes
  log_softmax,         // out, in               ReduceAttributes
  log_softmax_grad,    // dx, y, dy             ReduceAttributes
  cross_entropy,       // out (N), logits (N, C), labels (N) int64       none: -log softmax(logits)[label]
  cross_entropy_grad,  // dlogits (N, C), logits, labels, dy (N)      none
  layer_norm,          // out, statistics (2, R), x[, weight][, bias]   NormAttributes
  layer_norm_grad,     // dx[, dweight (tiles, W)][, dbias (tiles, W)], x, statistics, dy[, weight]   NormAttributes
  batch_norm,          // out, statistics (3, C), x[, weight][, bias]   BatchNormAttributes
  batch_norm_grad,     // dx[, dweight][, dbias], x, statistics, dy[, weight]   BatchNormAttributes
  conv,                // out (N, O, P, Q), x (N, C, H, W), w (O, C / groups, h, w)[, bias (O)]   ConvAttributes
  conv_input,          // dx, dy, w             ConvAttributes
  conv_weight,         // dw (parts groups, C / groups, h, w, O / groups), x, dy   ConvAttributes
  max_pool,            // out, indices (int64, or no elements), x   PoolAttributes: indices in the plane (H, W)
  max_pool_grad,       // dx, indices, dy       PoolAttributes
  avg_pool,            // out, x                PoolAttributes
  avg_pool_grad,       // dx, dy                PoolAttributes
  dropout,             // out, in               DropoutAttributes
  attention,           // out, sums, q, k, v[, mask]   AttentionAttributes: sums are log(sum(e^scores)) of each row
  attention_grad,      // dq, dk, dv, q, k, v, out, sums, dout[, mask]   AttentionAttributes
  recurrent_cell,      // h[, c][, gates], x, z, h before[, c before][, lengths]   RecurrentAttributes
  // dx[, dz], dh carried[, dc carried] (both update), dy, dh, gates or h[, c, c before | h before][, lengths]
  recurrent_cell_grad,  // RecurrentAttributes
  strided_copy,         // out, in               StridedCopyAttributes
  concat,               // out, inputs…          ConcatAttributes
  take,                 // out, in, indices      IndexAttributes: out[o, k, i] = in[o, indices[k], i]
  take_grad,            // dx (update), indices, dy   IndexAttributes: dx[o, indices[k], i] += dy[o, k, i], by rising k
  gather,               // out, in, indices      IndexAttributes: out[o, k, i] = in[o, indices[o, k, i], i]
  scatter_add,          // out (update), indices, in  IndexAttributes: out[o, indices[o, k, i], i] += in[o, k, i], by k
  one_hot,              // out (…, C), indices (…) int64      none: 1 at the index, else 0
  triangle,             // out, in               TriangleAttributes
  custom,               // outputs…, in place… (update), inputs…   CustomAttributes: a kernel of the program's
  source,   // outputs…              CustomAttributes: data that the program makes; what it does may take long
  sgd,      // params… (update)[, velocities… (update)], grads…   SgdAttributes
  adam,     // params…, first moments…, second moments…, steps… (all update), grads…   AdamAttributes
  adagrad,  // params…, sums of squares… (all update), grads…   AdagradAttributes
  rmsprop,  // params…, mean squares…[, means…][, velocities…] (all update), grads…   RmspropAttributes
  count
};
inline constexpr int op_count = static_cast<int>(Op::count);

// A number in the type of its tensor.
union Number {
  double floating;
  std::int64_t integer;
};

// What an operation has beside its operands, in at most this many bytes. No byte is nobody's: two that are the same
// have the same bytes.
inline constexpr std::size_t max_attribute_bytes = 64;

struct FillAttributes {
  Number value;
};
struct ArangeAttributes {
  Number start, step;
};
struct RandomAttributes {
  std::uint64_t seed, first_block;
  double low, high;  // of uniform; mean and standard deviation of normal
};
// Numbers low … low + span - 1. An element takes 64 bits of Philox: two share a block.
struct RandintAttributes {
  std::uint64_t seed, first_block;
  std::int64_t low;
  std::uint64_t span;
};
struct ElementwiseAttributes {
  std::uint8_t formula = 0;      // formulas::id
  std::uint8_t scalar_mask = 0;  // bit i: input i is scalars[i], not an operand; never all inputs
  std::array<std::uint8_t, 6> padding{};
  std::array<Number, 3> scalars{};
};
struct MatmulAttributes {
  bool transpose_x = false, transpose_w = false;
  MathMode math = MathMode::float32;
};
// The axes of an operand before its matrices' two.
inline Shape leading_axes(const Shape& shape) { return Shape(std::span(shape.begin(), shape.end() - 2)); }
enum class ActivationKind : std::uint8_t { none, relu };
struct DenseAttributes {
  ActivationKind activation = ActivationKind::none;
  bool has_bias = false;
  MathMode math = MathMode::float32;  // of dense; dense_grad has no product
};
// The input seen as (outer, axis, inner); the middle one is reduced or normalised.
struct ReduceAttributes {
  std::int64_t outer = 1, axis = 1, inner = 1;
  double scale = 1;
};
// The input seen as (outer, axis, inner): sums from the axis's first element, or from its last one, up to each.
struct CumsumAttributes {
  std::int64_t outer = 1, axis = 1, inner = 1;
  bool from_end = false;
  std::array<std::uint8_t, 7> padding{};
};
// The input seen as rows of `width` elements, each of which is normalised. Statistics are the rows' means and the
// inverses of their deviations. layer_norm_grad gives the gradients of weight and bias in parts, one of each tile.
struct NormAttributes {
  std::int64_t rows = 0, width = 1;
  double epsilon = 0;
  bool is_rms = false;  // the mean counts as 0
  bool has_weight = false, has_bias = false;
  std::array<std::uint8_t, 5> padding{};
};
constexpr std::int64_t norm_rows_per_tile(std::int64_t width) {
  return width < 1 ? 512 : width < 65536 ? 65536 / width : 1;
}
constexpr std::int64_t norm_tiles(std::int64_t rows, std::int64_t width) {
  const std::int64_t tiles = (rows + norm_rows_per_tile(width) - 1) / norm_rows_per_tile(width);
  return tiles < 1 ? 1 : tiles;
}
// The input seen as (outer, channels, inner). Statistics are means, variances and inverses of the deviations.
struct BatchNormAttributes {
  std::int64_t outer = 0, channels = 0, inner = 0;
  double epsilon = 0;
  bool has_weight = false, has_bias = false;
  bool is_given = false;  // statistics are read, and count as constants
  std::array<std::uint8_t, 5> padding{};
};
// Each pair is of the axes of height and width.
struct ConvAttributes {
  std::array<std::int64_t, 2> stride{1, 1}, padding{}, dilation{1, 1};
  std::int64_t groups = 1;
};
// The gradient of a weight (O, C / groups, h, w) is computed for parts of the batch, so that there is work for several
// threads, and `sums` of C / groups h w inputs in each group.
inline constexpr std::int64_t conv_sums_per_tile = 128;
constexpr std::int64_t conv_weight_parts(std::int64_t batch, std::int64_t groups, std::int64_t sums) {
  constexpr std::int64_t wanted = 8;
  const std::int64_t tiles = groups * ((sums + conv_sums_per_tile - 1) / conv_sums_per_tile);
  if (tiles < 1 || tiles >= wanted || batch < 1) return 1;
  return wanted / tiles < batch ? wanted / tiles : batch;
}
struct PoolAttributes {
  std::array<std::int64_t, 2> kernel{1, 1}, stride{1, 1}, padding{};
};
// Element i is kept, times `scale`, if the i-th 32-bit word from `first_block` on is above `last_dropped`, else 0.
struct DropoutAttributes {
  std::uint64_t seed, first_block;
  double scale;
  std::uint32_t last_dropped;
  std::array<std::uint8_t, 4> padding{};
};
// softmax(scale q k^T + mask) v. The mask is broadcast to the scores (…, T, S); causal: row i sees columns 0 … i.
struct AttentionAttributes {
  double scale;
  bool is_causal = false, has_mask = false;
  MathMode math = MathMode::float32;
  std::array<std::uint8_t, 5> padding{};
};
// One step of a recurrent layer, x being its input's share of the gates and z that of h before. Sequences that are no
// longer than `step` keep h and c. An LSTM has c; it and a GRU keep what their gates were for the gradient; of a GRU dz
// differs from dx.
enum class RecurrentKind : std::uint8_t { tanh, relu, gru, lstm };
constexpr int gate_count(RecurrentKind kind) {
  return kind == RecurrentKind::lstm ? 4 : kind == RecurrentKind::gru ? 3 : 1;
}
struct RecurrentAttributes {
  std::int64_t step = 0, steps = 0;
  RecurrentKind kind = RecurrentKind::tanh;
  bool has_lengths = false;
  std::array<std::uint8_t, 6> padding{};
};
// What a strided copy is for: its name in messages and profiles.
enum class CopyKind : std::uint8_t { permute, transpose, slice, slice_grad, flip, expand, tile, pad, assign, count };
// A copy between a whole tensor and some elements of another. The whole one is gone through in its own order; the place
// of an element in the other one is offset + the sum of index times stride along the axes of the whole one. Strides
// count elements; they may be 0 or negative in a tensor that is read.
struct StridedCopyAttributes {
  std::array<std::int64_t, Shape::max_rank> strides{};
  std::int64_t offset = 0;
  CopyKind kind = CopyKind::slice;
  bool into = false;  // out is the one with strides, of which no two elements coincide; else in is
  bool adds = false;  // out += in
  std::array<std::uint8_t, 5> padding{};
};
struct ConcatAttributes {
  std::int64_t outer = 1;  // the elements of the axes before the one that the inputs share; each input is (outer, …)
};
// The indexed operand seen as (outer, axis, inner), of which the middle one is indexed.
struct IndexAttributes {
  std::int64_t outer = 1, axis = 1, inner = 1;
};
// The elements (…, i, j) with j - i <= diagonal, or those with j - i >= diagonal; the others are 0.
struct TriangleAttributes {
  std::int64_t diagonal = 0;
  bool is_upper = false;
  std::array<std::uint8_t, 7> padding{};
};
struct CustomKernel;  // custom_kernel.h
struct CustomAttributes {
  const CustomKernel* kernel;
  const char* name;      // the same as the kernel's, which may be gone when a message or a profile is made
  std::uint64_t number;  // of the call: no two have the same attributes
};
struct SgdAttributes {
  double lr, momentum, weight_decay;
  bool nesterov;
  std::array<std::uint8_t, 3> padding{};
  std::int32_t count;  // of parameters
};

// The steps so far are a value beside the moments, not an attribute: a step that fails is one that did not happen.
// Every so many elements of a parameter have a count of their own, (adam_counts(numel)) int64: a kernel that cuts there
// has no tile that writes what another one reads.
struct AdamAttributes {
  double lr, beta1, beta2, epsilon, weight_decay;
  bool decoupled_weight_decay;
  std::array<std::uint8_t, 3> padding{};
  std::int32_t count;  // of parameters
};
inline constexpr std::int64_t adam_elements_per_count = 65536;
constexpr std::int64_t adam_counts(std::int64_t numel) {
  return (numel + adam_elements_per_count - 1) / adam_elements_per_count;
}

struct AdagradAttributes {
  double lr, epsilon, weight_decay;
  std::int32_t count;  // of parameters
  std::array<std::uint8_t, 4> padding{};
};
struct RmspropAttributes {
  double lr, alpha, epsilon, weight_decay, momentum;
  bool centered;
  std::array<std::uint8_t, 3> padding{};
  std::int32_t count;  // of parameters
};

// What a kernel sees of a queued operation.
struct KernelCall {
  const View* views;  // of the operands
  int view_count;
  const void* attributes_bytes;
  std::byte* scratch = nullptr;  // the computing thread's, or the queue's, of scratch_bytes(call), 64-byte aligned
  const void* launch = nullptr;  // what the queue of an asynchronous device gives its own kernels

  template <class A>
  const A& attributes() const {
    return *static_cast<const A*>(attributes_bytes);
  }
  template <class T>
  T* data(int operand) const {
    return reinterpret_cast<T*>(views[operand].data);
  }
  const Shape& shape(int operand) const { return views[operand].shape; }
  std::int64_t numel(int operand) const { return views[operand].shape.numel(); }
  DType dtype(int operand) const { return views[operand].dtype; }
  Device device(int operand) const { return views[operand].device; }
  std::byte* bytes(int operand) const { return views[operand].data; }
  // The elements of all operands.
  std::int64_t elements() const {
    std::int64_t count = 0;
    for (int i = 0; i < view_count; ++i) count += numel(i);
    return count;
  }
};

// How an operation is computed. All functions are pure but for what `run` writes; any thread may call them. `tiles`,
// `scratch_bytes` and `cost` are functions of shapes, types and attributes alone, and are called before there is any
// data; `prepare` and `run` have it.
struct Kernel {
  // Computes tile `tile` of `tiles(call)`; tiles may run at once and in any order. Takes no lock that a caller of the
  // library may hold. Neither waits nor queues nor asks the engine for figures: all throw Error there. On an
  // asynchronous device: puts the whole operation on the queue (tile 0) and returns.
  void (*run)(const KernelCall& call, int tile) = nullptr;
  // Null: one tile.
  int (*tiles)(const KernelCall& call) = nullptr;
  // Checks what depends on values and throws Error before anything is written. Null: nothing to check.
  void (*prepare)(const KernelCall& call) = nullptr;
  // Bytes that a thread needs while it runs a tile. Null: none.
  std::int64_t (*scratch_bytes)(const KernelCall& call) = nullptr;
  // Scalar operations, about. Null: the elements of all operands. Small ones may run at the call.
  std::int64_t (*cost)(const KernelCall& call) = nullptr;
};

// One for a kind of device. Filled once by make_backend and constant from then on.
struct Backend {
  const char* name = "";
  std::array<Kernel, op_count> kernels{};  // elementwise is not here but:
  std::array<Kernel, formulas::count> elementwise{};
  // Prepares the calling thread for running kernels (default rounding), and undoes it with what the first returned; 0:
  // nothing to undo.
  std::uint64_t (*enter_thread)() = nullptr;
  void (*leave_thread)(std::uint64_t previous) = nullptr;

  // Of devices that run on their own what is issued to them, see engine/device_queue.h; null for devices that the
  // engine's threads compute for. The device's `index`-th queue. Throws Error if there is no such device.
  std::unique_ptr<DeviceQueue> (*make_queue)(Device device, int index) = nullptr;
  // Where a device's memory comes from. Null: the operating system, for devices that the engine's threads compute for.
  MemorySource& (*memory)(Device device) = nullptr;
};

inline std::uint64_t enter_thread(const Backend& backend) {
  return backend.enter_thread == nullptr ? 0 : backend.enter_thread();
}
inline void leave_thread(const Backend& backend, std::uint64_t previous) {
  if (previous != 0) backend.leave_thread(previous);
}

// The backend of a device type, or null if the library was built without it. Defined in backends/.
const Backend* make_backend(DeviceType type);

// The name that errors and profiles show: "matmul", "relu".
const char* op_name(Op op, const void* attributes);
const char* formula_name(int formula);  // by formulas::id
// Appends an operand to a list as they show it: "to (8, 4), (8, 2), (2, 4)".
void append_operand(std::string& list, Access access, const Shape& shape);

}  // namespace asyncgrad::detail
