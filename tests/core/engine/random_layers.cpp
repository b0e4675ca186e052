#include "tests/core/engine/random_layers.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "tests/support/own_operations.h"

namespace asyncgrad::tests {

namespace {

Tensor images(const Tensor& h) { return h.reshape({-1, 4, 8, 8}); }
Tensor sequences(const Tensor& h) { return h.reshape({-1, 16, 16}); }
Tensor rows(const Tensor& h) { return h.reshape({-1, 16}); }

// Calls function(T()) with the type of x as T.
template <class Function>
Tensor for_type_of(const Tensor& x, Function function) {
  return x.dtype() == float64 ? function(double()) : function(float());
}

// x times a number, by a kernel of the program's own that is cut into tiles. Its gradient is the same operation.
template <class T>
Tensor scaled_by_custom(const Tensor& x, T factor) {
  const Tensor y = custom("scaled", {.shape = x.shape(), .dtype = dtype_of<T>}, {x.detach()},
                          [factor](const CustomCall& call) {
                            const auto in = call.input<T>(0);
                            const auto out = call.output<T>();
                            const auto [begin, end] = call.part_of(static_cast<std::int64_t>(in.size()));
                            for (std::int64_t i = begin; i < end; ++i) {
                              out[static_cast<std::size_t>(i)] = in[static_cast<std::size_t>(i)] * factor;
                            }
                          },
                          {.tiles = 3});
  return with_gradient(
      "scaled", y, {x}, [factor](const GradientCall& call) { return scaled_by_custom(call.dy(), factor); }, {},
      GradientOrder::any);
}

// A source that is slow, so that later operations overtake it.
template <class T>
Tensor read(const Shape& shape) {
  return source("read", {.shape = shape, .dtype = dtype_of<T>}, [](const CustomCall& call) {
    std::this_thread::sleep_for(std::chrono::microseconds(call.output_shape().numel() % 128));
    std::ranges::fill(call.output<T>(), T(0.125));
  });
}

// Updates a running statistic of the program's own.
void go_on(Tensor running, const Tensor& of_batch) {
  if (is_recomputing()) return;
  const NoGrad no_grad;
  running *= 0.75;
  running += of_batch * 0.25;
}

}  // namespace

RandomWeights::RandomWeights(Generator& generator, DType dtype)
    : gru_(16, 16, {.dtype = dtype, .generator = &generator}),
      lstm_(16, 16, {.dtype = dtype, .generator = &generator}),
      embedding_(16, 16, {.standard_deviation = 0.5, .row_gradients = true, .dtype = dtype, .generator = &generator}) {
  const auto learned = [&](const Shape& shape, double mean, double deviation) {
    return parameter(normal(shape, mean, deviation, {.dtype = dtype, .generator = &generator}));
  };
  kernel_ = learned({4, 4, 3, 3}, 0, 0.2);
  kernel_bias_ = learned({4}, 0, 0.1);
  channel_scale_ = learned({4}, 1, 0.1);
  channel_shift_ = learned({4}, 0, 0.1);
  matrix_ = learned({16, 16}, 0, 0.25);
  bias_ = learned({16}, 0, 0.1);
  scale_ = learned({16}, 1, 0.1);
  shift_ = learned({16}, 0, 0.1);
  running_mean_ = zeros({4}, {.dtype = dtype});
}

std::vector<Tensor> RandomWeights::parameters() const { return nn::parameters(*this); }

void RandomWeights::members(nn::Members& m) {
  m("kernel", kernel_);
  m("kernel_bias", kernel_bias_);
  m("channel_scale", channel_scale_);
  m("channel_shift", channel_shift_);
  m("matrix", matrix_);
  m("bias", bias_);
  m("scale", scale_);
  m("shift", shift_);
  m("running_mean", running_mean_);
  m("gru", gru_);
  m("lstm", lstm_);
  m("embedding", embedding_);
}

RandomLayers::Layer RandomLayers::draw(int depth) {
  switch (draw_below(depth > 0 ? 8 : 6)) {
    case 0:
      return of_images();
    case 1:
      return of_rows();
    case 2:
      return of_sequences();
    case 3:
      return of_indices();
    case 4:
      return of_any_shape();
    case 5:
      return of_ones_own();
    default:
      return of_layers(depth);
  }
}

RandomLayers::Layer RandomLayers::of_images() {
  const RandomWeights& w = weights_;
  switch (draw_below(5)) {
    case 0: {
      const std::int64_t groups = std::int64_t{1} << draw_below(3), dilation = 1 + static_cast<int>(draw_below(2));
      const Conv2dOptions options{.padding = dilation, .dilation = dilation, .groups = groups};
      return [kernel = w.kernel_, bias = w.kernel_bias_, options](const Tensor& h) {
        return conv2d(images(h), slice(kernel, 1, 0, 4 / options.groups), bias, options);
      };
    }
    case 1:
      return [](const Tensor& h) { return max_pool2d(images(h), 3, {.stride = 1, .padding = 1}); };
    case 2:
      return [](const Tensor& h) {
        const Tensor p = avg_pool2d(images(h), 2);
        return concat({p, p * 0.5, square(p), -p}, 1);
      };
    case 3:
      return [scale = w.channel_scale_, shift = w.channel_shift_, groups = std::int64_t{1} << draw_below(3)](
                 const Tensor& h) { return group_norm(images(h), groups, scale, shift); };
    default:
      return [scale = w.channel_scale_, shift = w.channel_shift_, running = w.running_mean_](const Tensor& h) {
        BatchNormResult result = batch_norm(images(h), scale, shift);
        go_on(running, result.mean);
        return result.y;
      };
  }
}

RandomLayers::Layer RandomLayers::of_rows() {
  const RandomWeights& w = weights_;
  switch (draw_below(6)) {
    case 0:
      return [scale = w.scale_, shift = w.shift_](const Tensor& h) { return layer_norm(rows(h), scale, shift); };
    case 1:
      return [scale = w.scale_](const Tensor& h) { return rms_norm(rows(h), scale); };
    case 2: {
      constexpr Activation activations[] = {nullptr, relu, gelu, tanh};
      const Activation activation = activations[draw_below(std::size(activations))];
      return [matrix = w.matrix_, bias = w.bias_, activation](const Tensor& h) {
        return dense(rows(h), matrix, bias, activation);
      };
    }
    case 3:
      return [](const Tensor& h) { return softmax(rows(h)) * 4; };
    case 4:
      return [](const Tensor& h) { return log_softmax(sequences(h), 1) * 0.25; };
    default:
      return [](const Tensor& h) {
        const Tensor x = rows(h);
        return (x - mean(x, 1, true)) * rsqrt(variance(x, 1, true) + 1) + 0.125 * logsumexp(x, 1, true) -
               0.25 * max(x, 1, true);
      };
  }
}

RandomLayers::Layer RandomLayers::of_sequences() {
  const RandomWeights& w = weights_;
  switch (draw_below(7)) {
    case 0: {
      const bool causal = draw_below(2) == 0;
      return [matrix = w.matrix_, generator = &generator_, causal](const Tensor& h) {
        const Tensor x = sequences(h);
        const Tensor mask = bernoulli(0.75, {16, 16}, {.generator = generator});
        return scaled_dot_product_attention(matmul(x, matrix), x, x, {.causal = causal, .mask = mask});
      };
    }
    case 1: {
      const int axis = static_cast<int>(draw_below(3));
      return [axis](const Tensor& h) { return cumsum(sequences(h), axis) * 0.125; };
    }
    case 2:
      return [](const Tensor& h) {
        const std::vector<Tensor> parts = split(sequences(h), 4, 2);
        return stack({parts[2], parts[0] * 0.5, parts[3], parts[1]}, 1);
      };
    case 3:
      return [](const Tensor& h) {
        const Tensor x = sequences(h);
        return einsum("nij,nkj,nj->nik", {x, x, prod(x(all, range(0, 3)), 1)}) * 0.0625;
      };
    case 4:
      return [generator = &generator_](const Tensor& h) {
        const Tensor x = sequences(h), targets = randint(1, 16, {x.size(0), 4}, {.generator = generator});
        const Tensor steps = full({x.size(0)}, 15, {.dtype = int64}),
                     labels = randint(0, 5, steps.shape(), {.generator = generator});
        const Tensor losses = ctc(log_softmax(x.transpose(0, 1)), targets, steps, labels);
        return x * (losses * 0.01)(all, newaxis, newaxis);
      };
    case 5:
      return [gru = w.gru_](const Tensor& h) { return gru(sequences(h).transpose(0, 1)).transpose(0, 1); };
    default:
      return [lstm = w.lstm_](const Tensor& h) { return lstm(sequences(h).transpose(0, 1)); };
  }
}

RandomLayers::Layer RandomLayers::of_indices() {
  Generator* const generator = &generator_;
  const int axis = 1 + static_cast<int>(draw_below(2));
  const auto indices = [generator](const Tensor& h) { return randint(0, 16, h.shape(), {.generator = generator}); };
  switch (draw_below(6)) {
    case 0:
      return [=](const Tensor& h) {
        const Tensor x = sequences(h);
        return gather(x, indices(x), axis);
      };
    case 1:
      return [=](const Tensor& h) {
        const Tensor x = sequences(h);
        return scatter_add(x * 0.5, indices(x), x * 0.25, axis);
      };
    case 2:
      return [=](const Tensor& h) {
        const Tensor x = rows(h);
        return take(x, permutation(x.size(0), {.generator = generator}));
      };
    case 3:
      return [=](const Tensor& h) {
        const Tensor x = sequences(h), y = x * 0.5;
        put(y, indices(x), x * 0.25);
        return y;
      };
    case 4: {
      const bool is_tied = draw_below(4) == 0;
      return [=, &embedding = weights_.embedding_](const Tensor& h) {
        const Tensor x = rows(h), y = embedding(randint(0, 16, {x.size(0)}, {.generator = generator}));
        return x * (is_tied ? embedding.scores(y) : y) + y;
      };
    }
    default:
      return [=](const Tensor& h) { return masked_fill(h, bernoulli(0.25, h.shape(), {.generator = generator}), 0.5); };
  }
}

RandomLayers::Layer RandomLayers::of_any_shape() {
  switch (draw_below(7)) {
    case 0:
      return [generator = &generator_](const Tensor& h) { return dropout(h, 0.25, generator); };
    case 1:
      return [](const Tensor& h) {
        return slice(pad(flip(sequences(h), {2}), {{0, 0}, {1, 0}, {0, 0}}, 0.25), 1, 0, 16);
      };
    case 2:
      return [](const Tensor& h) {
        const DType other = h.dtype() == float32 ? bfloat16 : float64;  // differences need all digits of float64
        return h.to(other).to(h.dtype());
      };
    case 3:
      return [](const Tensor& h) { return where((h > 0) & (h < 1), sin(h), h * 0.5); };
    case 4:  // in place, in the middle of the tape
      return [](const Tensor& h) {
        Tensor x = rows(h) * 0.5;
        assign(x, {{1, 0, 16, 3}}, 0.25);
        x += rows(h) * 0.25;
        return x;
      };
    case 5:
      return [](const Tensor& h) {
        Tensor x = sequences(h) * 0.5;
        x.assign({all, range({}, {}, -2), 3}, x(all, range(0, 8), 2) * 0.25);
        return x(ellipsis, range({}, {}, -1));
      };
    default:
      return [other = other_](const Tensor& h) { return (h.to(other) * 0.75).to(h.device()); };
  }
}

RandomLayers::Layer RandomLayers::of_ones_own() {
  switch (draw_below(is_second_ ? 2 : 4)) {
    case 0: {
      const double factor = 0.5 + 0.25 * static_cast<double>(draw_below(3));
      return [factor](const Tensor& h) {
        return for_type_of(h, [&]<class T>(T) { return scaled_by_custom(h, static_cast<T>(factor)); });
      };
    }
    case 1:
      return [](const Tensor& h) { return for_type_of(h, [&]<class T>(T) { return rows(h) + read<T>({16}); }); };
    case 2:
      return [](const Tensor& h) { return for_type_of(h, [&]<class T>(T) { return fused_gelu<T>(h); }); };
    default:
      return [generator = &generator_](const Tensor& h) {
        const Tensor x = rows(h);
        const Tensor numbers = randint(0, x.size(0), {x.size(0)}, {.generator = generator});
        return for_type_of(x, [&]<class T>(T) { return rows_of<T>(x, numbers); });
      };
  }
}

RandomLayers::Layer RandomLayers::of_layers(int depth) {
  Layer first = draw(depth - 1), second = draw(depth - 1);
  if (draw_below(2) == 0) {
    return [first = std::move(first), second = std::move(second)](const Tensor& h) {
      return rows(h) * 0.5 + rows(second(first(h))) * 0.5;
    };
  }
  return [first = std::move(first), second = std::move(second)](const Tensor& h) {
    return nn::recompute([first, second](const Arg& x) { return second(first(x.tensor())); }, h);
  };
}

RandomLayers::Layer RandomLayers::draw_fault() {
  switch (draw_below(3)) {
    case 0:
      return [](const Tensor& h) {  // there are 16 columns
        return rows(h) + sum(take(rows(h), full({2}, 16, {.dtype = int64}), 1), 1, true);
      };
    case 1:
      return [](const Tensor& h) {
        return custom("fragile", {.shape = h.shape()}, {h.detach()},
                      [](const CustomCall& call) {
                        if (call.part_of(call.output_shape().numel()).first > 0) throw std::runtime_error("it broke");
                      },
                      {.tiles = 2}) +
               h;
      };
    default:  // the gradient fails, and not the value
      return [](const Tensor& h) {
        return with_gradient(
            "fragile", h, {h},
            [](const GradientCall& call) {
              return call.dy() * custom("fragile gradient", {.shape = call.dy().shape()}, {},
                                        [](const CustomCall&) { throw std::runtime_error("it broke backwards"); });
            },
            {}, GradientOrder::any);
      };
  }
}

}  // namespace asyncgrad::tests
