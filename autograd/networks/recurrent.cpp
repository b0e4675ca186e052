#include "asyncgrad/autograd/networks/recurrent.h"

#include <vector>

#include "asyncgrad/autograd/creation.h"
#include "asyncgrad/autograd/elementwise.h"
#include "asyncgrad/autograd/forms/strided.h"
#include "asyncgrad/autograd/grad_mode.h"
#include "asyncgrad/autograd/matmul.h"
#include "asyncgrad/autograd/networks/decomposed.h"
#include "asyncgrad/autograd/reduce.h"
#include "asyncgrad/autograd/shape.h"
#include "asyncgrad/autograd/tape/operands.h"
#include "asyncgrad/autograd/tape/operation_node.h"
#include "asyncgrad/core/engine/submit.h"
#include "asyncgrad/core/math_mode.h"

namespace asyncgrad::detail {

namespace {

Tensor zeros_of(const Tensor& x, const Shape& shape) {
  Tensor zeros = make_like(x, shape);
  submit(Op::fill, {writes(zeros)}, FillAttributes{Number{.floating = 0}}, Location());
  return zeros;
}
// Row `t` of the first axis, in the same storage.
Tensor row(const Tensor& x, std::int64_t t) {
  const Shape shape(std::span(x.shape().begin() + 1, x.shape().end()));
  return make_view(x, shape, t * shape.numel());
}
// Rows [begin, begin + count) as one matrix.
Tensor matrix_of_rows(const Tensor& x, std::int64_t begin, std::int64_t count) {
  return make_view(x, {count * x.size(1), x.size(2)}, begin * x.size(1) * x.size(2));
}

Tensor transposed_copy(const Tensor& matrix) {
  static constexpr int axes[] = {1, 0};
  return copy_out(CopyKind::transpose, matrix, permuted(whole(matrix.shape()), axes), Location());
}

// The steps in the order in which they are taken.
class Steps {
 public:
  Steps(std::int64_t count, bool is_backward) : count_(count), is_backward_(is_backward) {}
  std::int64_t count() const { return count_; }
  bool is_backward() const { return is_backward_; }
  std::int64_t first() const { return is_backward_ ? count_ - 1 : 0; }
  std::int64_t last() const { return is_backward_ ? 0 : count_ - 1; }
  std::int64_t after(std::int64_t t) const { return is_backward_ ? t - 1 : t + 1; }
  std::int64_t before(std::int64_t t) const { return is_backward_ ? t + 1 : t - 1; }
  bool has(std::int64_t t) const { return t >= 0 && t < count_; }
  // The first row of all steps that have a predecessor, and the first row of their predecessors.
  std::int64_t later_rows() const { return is_backward_ ? 0 : 1; }
  std::int64_t earlier_rows() const { return is_backward_ ? 1 : 0; }

 private:
  std::int64_t count_;
  bool is_backward_;
};

struct Layer {
  RecurrentKind kind;
  Steps steps;
  Shape state;  // (N, H)

  bool has_c() const { return kind == RecurrentKind::lstm; }
  bool has_gates() const { return has_c() || kind == RecurrentKind::gru; }
  // A GRU has four parts, too: the last one is what its reset gate scales.
  Shape gates() const { return state.with(1, 4 * state[1]); }
  Shape of_all_steps(const Shape& row) const { return {steps.count(), row[0], row[1]}; }
  RecurrentAttributes attributes(std::int64_t t, const Tensor& lengths) const {
    return {.step = t,
            .steps = steps.count(),
            .kind = kind,
            .has_lengths = lengths.defined(),
            .is_backward = steps.is_backward()};
  }
};

// The results of all steps that the gradient needs.
struct Kept {
  Tensor gates, c;
};

// Whether one operation takes all steps. It computes in the type of its operands, whatever the mode.
bool is_one_operation(const Layer& layer, const Tensor& like) {
  return has_kernel(Op::recurrent, like) && has_kernel(Op::recurrent_grad, like) &&
         takes_all_steps(layer.kind, layer.state[0], layer.state[1],
                         static_cast<std::int64_t>(size_bytes(like.dtype())));
}

// A row that is written: the first one written begins its tensor.
OperandRef written(const Tensor& row, bool is_first) { return is_first ? writes(row) : finishes(row); }

// x with 0 in the padding of shorter sequences. It may hold NaN, which a product with a gradient of 0 would keep.
Tensor without_padding(const Tensor& x, const Tensor& lengths) {
  if (!lengths.defined()) return x;
  const Tensor steps = arange(0, x.size(0), 1, {.dtype = int64, .device = x.device()});
  return where(unsqueeze(less(unsqueeze(steps, 1), lengths), 2), x, 0);
}

// x weight_ih + bias_ih of all steps: (T, N, G H).
Tensor share_of_input(const RecurrentCall& call) {
  const Tensor rows = call.x.reshape({call.x.size(0) * call.x.size(1), call.x.size(2)}, call.where);
  return dense(Arg(rows, call.where), call.weight_ih, call.bias_ih)
      .reshape({call.x.size(0), call.x.size(1), call.weight_ih.size(1)}, call.where);
}

// h weight_hh + bias_hh.
Tensor share_of_state(const RecurrentCall& call, const Tensor& h) {
  Tensor z = make_like(h, {h.size(0), call.weight_hh.size(1)});
  const DenseAttributes attributes{ActivationKind::none, call.bias_hh.defined(), math_mode()};
  OperandList list;
  list.add(writes(z));
  list.add(reads(h));
  list.add(reads(call.weight_hh));
  list.add_reads(call.bias_hh);
  submit(Op::dense, list, attributes, call.where);
  return z;
}

// `inputs`: the shares of the inputs of all steps. `kept`: null if there will be no gradient.
void run_step_by_step(const RecurrentCall& call, const Layer& layer, const Tensor& inputs, const Tensor& y,
                      const Kept* kept) {
  const Steps& steps = layer.steps;
  Tensor h = call.h, c = call.c;
  for (std::int64_t t = steps.first(); steps.has(t); t = steps.after(t)) {
    const bool is_first = t == steps.first();
    const Tensor z = share_of_state(call, h), x = row(inputs, t), new_h = row(y, t);
    const bool keeps = kept != nullptr;
    Tensor new_c, gates;
    if (layer.has_c()) new_c = keeps ? row(kept->c, t) : make_like(call.x, layer.state);
    if (layer.has_gates()) gates = keeps ? row(kept->gates, t) : make_like(call.x, layer.gates());
    OperandList list;
    list.add(written(new_h, is_first));
    if (new_c.defined()) list.add(written(new_c, is_first || !keeps));
    if (gates.defined()) list.add(written(gates, is_first || !keeps));
    list.add(reads(x));
    list.add(reads(z));
    list.add(reads(h));
    list.add_reads(c);
    list.add_reads(call.lengths);
    submit(Op::recurrent_cell, list, layer.attributes(t, call.lengths), call.where);
    h = new_h;
    if (layer.has_c()) c = new_c;
  }
  if (layer.has_c()) submit(Op::copy, {finishes(row(y, steps.count())), reads(c)}, NoAttributes{}, call.where);
}

void run_at_once(const RecurrentCall& call, const Layer& layer, const Tensor& inputs, const Tensor& y,
                 const Kept* kept) {
  OperandList list;
  list.add(writes(y));
  if (kept != nullptr) {
    list.add_writes(kept->c);
    list.add_writes(kept->gates);
  }
  list.add(reads(inputs));
  list.add(reads(call.weight_hh));
  list.add_reads(call.bias_hh);
  list.add(reads(call.h));
  list.add_reads(call.c);
  list.add_reads(call.lengths);
  RecurrentAttributes attributes = layer.attributes(0, call.lengths);
  attributes.has_bias = call.bias_hh.defined();
  attributes.is_kept = kept != nullptr;
  submit(Op::recurrent, list, attributes, call.where);
}

Tensor run(const RecurrentCall& call, const Layer& layer, const Kept* kept) {
  const NoGrad no_grad;
  const Tensor inputs = share_of_input(call);
  const std::int64_t extra = layer.has_c() ? 1 : 0;
  Tensor y = make_like(call.x, {layer.steps.count() + extra, layer.state[0], layer.state[1]});
  if (is_one_operation(layer, call.x)) {
    run_at_once(call, layer, inputs, y, kept);
  } else {
    run_step_by_step(call, layer, inputs, y, kept);
  }
  return y;
}

// The backward function.
class RecurrentBackward {
 public:
  RecurrentBackward(const RecurrentCall& call, const Layer& layer, const Tensor& y, const Kept& kept)
      : layer_(layer),
        x_(call.x),
        weight_ih_(call.weight_ih),
        bias_ih_(save(call.bias_ih, call.bias_ih.defined())),
        weight_hh_(call.weight_hh),
        bias_hh_(save(call.bias_hh, call.bias_hh.defined())),
        h_(call.h),
        c_(save(call.c, call.c.defined())),
        lengths_(save(call.lengths, call.lengths.defined())),
        y_(y),
        gates_(save(kept.gates, layer.has_gates())),
        states_(save(kept.c, layer.has_c())) {}

  void operator()(const Tensor& dy, Gradients& gradients) const {
    if (gradients.are_recorded()) return differentiate_decomposed(dy, gradients);
    const Steps& steps = layer_.steps;
    // Each step multiplies by the transposed weight, and products read a transposed copy faster.
    const Tensor weight = transposed_copy(gradients.read(weight_hh_));
    const Shape row_of_gates{layer_.state[0], weight.size(0)};
    StepGradients s;
    s.dx = make_like(dy, layer_.of_all_steps(row_of_gates));
    s.dz = layer_.kind == RecurrentKind::gru ? make_like(dy, layer_.of_all_steps(row_of_gates)) : s.dx;
    if (is_one_operation(layer_, dy)) {
      go_at_once(dy, weight, gradients, s);
    } else {
      go_step_by_step(dy, weight, gradients, s);
    }
    const Tensor dx = matrix_of_rows(s.dx, 0, steps.count());
    gradients(
        0, [&] { return matmul(dx, gradients.read(weight_ih_), {.transpose_w = true}).reshape(gradients.shape(0)); });
    gradients(1, [&] {
      const Tensor x = without_padding(gradients.read(x_), lengths_in(gradients));
      return matmul(matrix_of_rows(x, 0, steps.count()), dx, {.transpose_x = true});
    });
    gradients(2, [&] { return sum(dx, 0); });
    gradients(3, [&] { return gradient_of_weight_hh(s.dz, gradients); });
    gradients(4, [&] { return sum(matrix_of_rows(s.dz, 0, steps.count()), 0); });
    gradients(5, [&] { return s.from_next.defined() ? s.h + s.from_next : s.h; });
    gradients(6, [&] { return s.c; });
  }

 private:
  struct StepGradients {
    Tensor dx, dz;  // of the gates of all steps
    // These are of the state before the step at hand. Step by step, h has what goes around the product with the weight, and
    // from_next has what comes through it.
    Tensor h, c, from_next{};
  };

  // Tensor{} if all sequences have all steps.
  Tensor lengths_in(const Gradients& gradients) const {
    return lengths_.is_there() ? gradients.read(lengths_) : Tensor();
  }

  void go_at_once(const Tensor& dy, const Tensor& weight, Gradients& gradients, StepGradients& s) const {
    const bool is_gru = layer_.kind == RecurrentKind::gru;
    const Tensor lengths = lengths_in(gradients);
    s.h = make_like(dy, layer_.state);
    if (layer_.has_c()) s.c = make_like(dy, layer_.state);
    OperandList list;
    list.add(writes(s.dx));
    if (is_gru) list.add(writes(s.dz));
    list.add(writes(s.h));
    list.add_writes(s.c);
    list.add(reads(dy));
    list.add(reads(weight));
    const auto add = [&](const SavedTensor& saved) { list.add(reads(gradients.read(saved))); };
    if (layer_.has_gates()) add(gates_);
    if (!layer_.has_c()) add(y_);
    if (layer_.has_c()) {
      add(states_);
      add(c_);
    }
    if (is_gru) add(h_);
    list.add_reads(lengths);
    submit(Op::recurrent_grad, list, layer_.attributes(0, lengths), Location());
  }

  void go_step_by_step(const Tensor& dy, const Tensor& weight, Gradients& gradients, StepGradients& s) const {
    const Steps& steps = layer_.steps;
    s.h = zeros_of(dy, layer_.state);
    s.from_next = zeros_of(dy, layer_.state);
    if (layer_.has_c()) {
      s.c = make_like(dy, layer_.state);
      submit(Op::copy, {writes(s.c), reads(row(dy, steps.count()))}, NoAttributes{}, Location());
    }
    for (std::int64_t t = steps.last(); steps.has(t); t = steps.before(t)) {
      step(t, dy, gradients, s);
      s.from_next = make_like(dy, layer_.state);
      submit(Op::matmul, {writes(s.from_next), reads(row(s.dz, t)), reads(weight)},
             MatmulAttributes{.math = math_mode()}, Location());
    }
  }

  void differentiate_decomposed(const Tensor& dy, Gradients& gradients) const {
    const SavedTensor* const saved[] = {&x_, &weight_ih_, &bias_ih_, &weight_hh_, &bias_hh_, &h_, &c_};
    std::vector<Tensor> inputs;
    for (const SavedTensor* const one : saved) {
      inputs.push_back(one->is_there() ? gradients.read_input(*one, static_cast<int>(inputs.size())) : Tensor());
    }
    const Tensor lengths = lengths_in(gradients);
    differentiate(gradients, inputs, dy, [&](std::span<const Tensor> in) {
      return decomposed_recurrent({.kind = layer_.kind,
                                   .is_backward = layer_.steps.is_backward(),
                                   .x = without_padding(in[0], lengths),
                                   .weight_ih = in[1],
                                   .bias_ih = in[2],
                                   .weight_hh = in[3],
                                   .bias_hh = in[4],
                                   .h = in[5],
                                   .c = in[6],
                                   .lengths = lengths,
                                   .where = Location()});
    });
  }

  void step(std::int64_t t, const Tensor& dy, Gradients& gradients, StepGradients& s) const {
    const Steps& steps = layer_.steps;
    const bool is_first = t == steps.last(), has_before = t != steps.first();
    const Tensor& y = gradients.read(y_);
    const Tensor lengths = lengths_in(gradients);
    const Tensor dx = row(s.dx, t), dy_row = row(dy, t);
    Tensor dz, gates, c, before;
    if (layer_.has_gates()) gates = row(gradients.read(gates_), t);
    OperandList list;
    list.add(written(dx, is_first));
    if (layer_.kind == RecurrentKind::gru) {
      dz = row(s.dz, t);
      list.add(written(dz, is_first));
      before = has_before ? row(y, steps.before(t)) : gradients.read(h_);
    }
    list.add(finishes(s.h));
    if (layer_.has_c()) {
      list.add(finishes(s.c));
      c = row(gradients.read(states_), t);
      before = has_before ? row(gradients.read(states_), steps.before(t)) : gradients.read(c_);
    }
    list.add(reads(dy_row));
    list.add(reads(s.from_next));
    const Tensor h = layer_.has_gates() ? Tensor() : row(y, t);
    list.add_reads(gates);
    list.add_reads(h);
    list.add_reads(c);
    list.add_reads(before);
    list.add_reads(lengths);
    submit(Op::recurrent_cell_grad, list, layer_.attributes(t, lengths), Location());
  }

  // The sum over all steps of (h before)^T dz.
  Tensor gradient_of_weight_hh(const Tensor& dz, Gradients& gradients) const {
    const Steps& steps = layer_.steps;
    const Tensor first = matmul(gradients.read(h_), row(dz, steps.first()), {.transpose_x = true});
    if (steps.count() == 1) return first;
    const std::int64_t count = steps.count() - 1;
    return first + matmul(matrix_of_rows(gradients.read(y_), steps.earlier_rows(), count),
                          matrix_of_rows(dz, steps.later_rows(), count), {.transpose_x = true});
  }

  Layer layer_;
  SavedTensor x_, weight_ih_, bias_ih_, weight_hh_, bias_hh_, h_, c_, lengths_, y_, gates_, states_;
};

}  // namespace

Tensor recurrent(const RecurrentCall& call) {
  const NamedOperand x{"x", *call.x.impl()};
  check_alike("recurrent", {x, {"weight_hh", *call.weight_hh.impl()}});
  check_alike("recurrent", {x, {"h", *call.h.impl()}});
  const Layer layer{call.kind, Steps(call.x.size(0), call.is_backward), call.h.shape()};
  const bool is_recorded = records(call.x, call.weight_ih, call.bias_ih, call.weight_hh, call.bias_hh, call.h, call.c);
  if (!is_recorded) return run(call, layer, nullptr);
  Kept kept;
  if (layer.has_gates()) kept.gates = make_like(call.x, layer.of_all_steps(layer.gates()));
  if (layer.has_c()) kept.c = make_like(call.x, layer.of_all_steps(layer.state));
  Tensor y = run(call, layer, &kept);
  record(Recorded(Op::recurrent_cell).as("recurrent"), call.where, y,
         {call.x, call.weight_ih, call.bias_ih, call.weight_hh, call.bias_hh, call.h, call.c},
         differentiable(RecurrentBackward(call, layer, y, kept)));
  return y;
}

namespace {

struct State {
  Tensor h, c;
};

State decomposed_step(RecurrentKind kind, const Tensor& x, const Tensor& z, const State& before) {
  if (kind == RecurrentKind::tanh) return {tanh(x + z), {}};
  if (kind == RecurrentKind::relu) return {relu(x + z), {}};
  if (kind == RecurrentKind::lstm) {
    const std::vector<Tensor> gates = split(x + z, 4, 1);
    const Tensor c = sigmoid(gates[1]) * before.c + sigmoid(gates[0]) * tanh(gates[2]);
    return {sigmoid(gates[3]) * tanh(c), c};
  }
  const std::vector<Tensor> xs = split(x, 3, 1), zs = split(z, 3, 1);
  const Tensor reset = sigmoid(xs[0] + zs[0]), update = sigmoid(xs[1] + zs[1]);
  const Tensor candidate = tanh(xs[2] + reset * zs[2]);
  return {candidate + update * (before.h - candidate), {}};
}

}  // namespace

Tensor decomposed_recurrent(const RecurrentCall& call) {
  const Steps steps(call.x.size(0), call.is_backward);
  const Tensor inputs = share_of_input(call);
  State state{call.h, call.c};
  std::vector<Tensor> rows(static_cast<std::size_t>(steps.count()));
  for (std::int64_t t = steps.first(); steps.has(t); t = steps.after(t)) {
    State next = decomposed_step(call.kind, inputs[t], dense(state.h, call.weight_hh, call.bias_hh), state);
    if (call.lengths.defined()) {
      const Tensor is_taken = unsqueeze(greater(call.lengths, t), 1);
      next.h = where(is_taken, next.h, state.h);
      if (next.c.defined()) next.c = where(is_taken, next.c, state.c);
    }
    state = next;
    rows[static_cast<std::size_t>(t)] = state.h;
  }
  if (call.kind == RecurrentKind::lstm) rows.push_back(state.c);
  return stack(rows);
}

}  // namespace asyncgrad::detail
