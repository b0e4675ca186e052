#include "tests/backends/cuda/device_cases.h"

namespace asyncgrad::tests {

namespace {

// The result of a function, and the gradients of its parameters where the result's own gradient is random.
Results with_gradients(Inputs& in, const Tensor& y, const std::vector<Tensor>& parameters) {
  sum(y * in(y.shape())).backward();
  Results results{y};
  for (const Tensor& parameter : parameters) results.push_back(parameter.grad());
  return results;
}

using All = Tensor (*)(const Arg&);
using Some = Tensor (*)(const Arg&, const Axes&, bool);
Results reductions(const Tensor& x, All all, Some some) {
  return {all(x),
          some(x, 0, false),
          some(x, 1, true),
          some(x, {0, 2}, false),
          all(x.slice(0, 0)),
          some(x.slice(0, 0), 0, false)};
}

Results one_input(Inputs& in, Tensor (*function)(const Arg&), double low = -3) {
  const Tensor x = in.parameter({37, 21}, low);
  return with_gradients(in, function(x), {x});
}
Results two_inputs(Inputs& in, Tensor (*function)(const Arg&, const Arg&), double low = -3) {
  const Tensor x = in.parameter({37, 21}, low), y = in.parameter({21}, low);
  return with_gradients(in, function(x, y), {x, y});
}
// Calls the function with one parameter of this shape.
template <class Function>
std::function<Results(Inputs&)> with_parameter(const Shape& shape, Function function) {
  return [=](Inputs& in) {
    const Tensor x = in.parameter(shape);
    return with_gradients(in, function(x), {x});
  };
}

std::vector<Tensor> three_parameters(Inputs& in) {
  return {in.parameter({300, 250}), in.parameter({7}), in.parameter({})};
}
Results trained(optim::Optimizer& optimizer) {
  for (int step = 0; step < 3; ++step) {
    optimizer.zero_grad();
    for (const Tensor& p : optimizer.parameters()) sum(square(p)).backward();
    optimizer.step();
  }
  return optimizer.parameters();
}
Results sgd(Inputs& in, const optim::SGDOptions& options) {
  optim::SGD sgd(three_parameters(in), options);
  return trained(sgd);
}
Results adam(Inputs& in) {
  optim::Adam adam(three_parameters(in), {.lr = 0.1, .weight_decay = 0.1});
  return trained(adam);
}
Results adagrad(Inputs& in) {
  optim::Adagrad adagrad(three_parameters(in), {.weight_decay = 0.1});
  return trained(adagrad);
}
Results rmsprop(Inputs& in, double momentum, bool centered) {
  optim::RMSprop rmsprop(three_parameters(in), {.weight_decay = 0.1, .momentum = momentum, .centered = centered});
  return trained(rmsprop);
}
Results random(Inputs& in, Tensor (*draw)(const Shape&, double, double, RandomOptions, Location)) {
  Generator generator(7);
  return {draw({1001}, -1, 2, {in.dtype(), in.device(), &generator}, Location::current()),
          draw({7001}, 0, 1, {in.dtype(), in.device(), &generator}, Location::current())};
}
Results dense_layer(Inputs& in, Activation activation, std::int64_t n, std::int64_t inputs, std::int64_t outputs) {
  const Tensor x = in.parameter({n, inputs}), w = in.parameter({inputs, outputs}), bias = in.parameter({outputs});
  return with_gradients(in, dense(x, w, bias, activation), {x, w, bias});
}

}  // namespace

const std::vector<DeviceCase>& device_cases() {
  using detail::Op;
  static const std::vector<DeviceCase> cases = {
      {"negate", {}, [](Inputs& in) { return one_input(in, operator-); }},
      {"relu", {}, [](Inputs& in) { return one_input(in, relu); }},
      {"sigmoid", {}, [](Inputs& in) { return one_input(in, sigmoid); }},
      {"tanh", {}, [](Inputs& in) { return one_input(in, tanh); }},
      {"exp", {}, [](Inputs& in) { return one_input(in, exp); }},
      {"log", {}, [](Inputs& in) { return one_input(in, log, 0.5); }},
      {"square", {}, [](Inputs& in) { return one_input(in, square); }},
      {"sqrt", {}, [](Inputs& in) { return one_input(in, sqrt, 0.5); }},
      {"abs", {}, [](Inputs& in) { return one_input(in, abs); }},
      {"add", {}, [](Inputs& in) { return two_inputs(in, operator+); }},
      {"subtract", {}, [](Inputs& in) { return two_inputs(in, operator-); }},
      {"multiply", {}, [](Inputs& in) { return two_inputs(in, operator*); }},
      {"divide", {}, [](Inputs& in) { return two_inputs(in, operator/, 0.5); }, 1e-4},
      {"pow", {}, [](Inputs& in) { return two_inputs(in, pow, 0.5); }, 1e-4},
      {"maximum", {}, [](Inputs& in) { return two_inputs(in, maximum); }},
      {"minimum", {}, [](Inputs& in) { return two_inputs(in, minimum); }},
      {"half_squared_error", {}, [](Inputs& in) { return two_inputs(in, half_squared_error); }},
      {"where",
       {},
       [](Inputs& in) {
         const Tensor x = in.parameter({37, 21}), y = in.parameter({37, 21});
         return with_gradients(in, where(less(x.detach(), y.detach()), x, y), {x, y});
       }},
      {"compare",
       {},
       [](Inputs& in) {
         const Tensor x = in({37, 21}), y = in({37, 1});
         const Tensor below = x<y, above = x> 0.5;
         return Results{x == x,           below,       above,         x <= 2,         x != x, x >= y,
                        isnan(x),         isfinite(x), below & above, below | !above, ~above, below ^ (x >= 0),
                        logical_and(x, y)};
       }},
      {"bools",
       {},
       [](Inputs& in) {
         const Tensor x = in.parameter({37, 21}), y = in.parameter({37, 1});
         return with_gradients(in, where(x.detach() < y.detach(), x, y) + masked_fill(x * (x > 0), y > 0, 3), {x, y});
       }},
      {"any",
       {Op::any},
       [](Inputs& in) {
         return reductions(in({30, 70, 5}) > 1.9, any, any);
       }},
      {"all",
       {Op::all},
       [](Inputs& in) {
         return reductions(in({30, 70, 5}) < 1.9, all, all);
       }},
      {"types",
       {},
       [](Inputs& in) {
         const Tensor x = in({37, 21}), rows = in.integers({9}, 37);
         Results results;
         for (const DType dtype : {int32, uint8, bfloat16, boolean}) {
           const Tensor y = (x * 3).to(dtype);
           results.insert(results.end(), {y, y.transpose(), take(y, rows), concat({y, y}, 1), tril(y), y.to(int64)});
         }
         return results;
       }},
      {"integers",
       {},
       [](Inputs& in) {
         const Tensor x = in.integers({300}, 50), y = in.integers({300}, 50);
         return Results{x + y, x * y - 3, maximum(x, y), equal(x, y), square(x), sum(x), max(x, 0)};
       }},
      {"fill",
       {Op::fill},
       [](Inputs& in) {
         return Results{full({1001}, 2, {in.dtype(), in.device()})};
       }},
      {"arange",
       {Op::arange},
       [](Inputs& in) {
         return Results{arange(0, 1001, 1, {in.dtype(), in.device()})};
       }},
      {"uniform", {Op::uniform}, [](Inputs& in) { return random(in, uniform); }},
      {"normal", {Op::normal}, [](Inputs& in) { return random(in, normal); }},
      {"copy",
       {Op::copy},
       [](Inputs& in) {
         const Tensor x = in({1001}, -100, 100);
         return Results{clone(x), to(x, int64), to(x, float32), to(x, float64), to(to(x, int64), in.dtype())};
       }},
      {"matmul_of_batches",
       {Op::matmul},
       [](Inputs& in) {
         const Tensor x = in.parameter({3, 1, 20, 30}), w = in.parameter({2, 30, 10});
         return with_gradients(in, matmul(x, w), {x, w});
       }},
      {"matmul",
       {Op::matmul},
       [](Inputs& in) {
         const Tensor x = in.parameter({65, 130}), w = in.parameter({130, 33});
         return with_gradients(in, matmul(x, w), {x, w});
       },
       1e-4},
      {"matmul_transposed",
       {Op::matmul},
       [](Inputs& in) {
         const Tensor x = in.parameter({130, 65}), w = in.parameter({33, 130});
         return with_gradients(in, matmul(x, w, {.transpose_x = true, .transpose_w = true}), {x, w});
       },
       1e-4},
      {"matmul_of_slices",
       {Op::matmul},
       [](Inputs& in) {  // which are not aligned
         return Results{matmul(slice(in({65, 33}), 1, 64), slice(in({34, 7}), 1, 34))};
       },
       1e-4},
      {"matmul_of_nothing",
       {Op::matmul},
       [](Inputs& in) {
         return Results{matmul(in({3, 0}), in({0, 5}))};
       }},
      {"dense", {Op::dense, Op::dense_grad}, [](Inputs& in) { return dense_layer(in, nullptr, 64, 128, 96); }, 1e-4},
      {"dense_relu", {Op::dense, Op::dense_grad}, [](Inputs& in) { return dense_layer(in, relu, 64, 128, 96); }, 1e-4},
      {"dense_odd", {Op::dense, Op::dense_grad}, [](Inputs& in) { return dense_layer(in, relu, 33, 17, 1); }, 1e-4},
      {"sum",
       {Op::sum},
       [](Inputs& in) {
         const Tensor x = in({3, 1000, 70});
         return Results{sum(x), sum(x, 0), sum(x, 1), sum(x, 2), mean(x), sum(in({100000}))};
       },
       1e-4},
      {"max", {Op::max, Op::max_grad}, with_parameter({30, 2000}, [](const Tensor& x) { return max(x, 1); })},
      {"max_across", {Op::max, Op::max_grad}, with_parameter({300, 7}, [](const Tensor& x) { return max(x, 0); })},
      {"min", {Op::min, Op::max_grad}, with_parameter({30, 2000}, [](const Tensor& x) { return min(x, 1); })},
      {"argmax_and_argmin",
       {Op::argmax, Op::argmin},
       [](Inputs& in) {
         const Tensor x = in({30, 2000});
         return Results{argmax(x, 0), argmax(x, 1), argmin(x, 0), argmin(x, 1)};
       }},
      {"softmax",
       {Op::softmax, Op::softmax_grad},
       with_parameter({30, 200}, [](const Tensor& x) { return softmax(x); })},
      {"softmax_across",
       {Op::softmax, Op::softmax_grad},
       with_parameter({30, 7}, [](const Tensor& x) { return softmax(x, 0); })},
      {"log_softmax",
       {Op::log_softmax, Op::log_softmax_grad},
       with_parameter({3, 5000}, [](const Tensor& x) { return log_softmax(x); }),
       1e-4},
      {"cross_entropy",
       {Op::cross_entropy, Op::cross_entropy_grad},
       [](Inputs& in) {
         const Tensor x = in.parameter({30, 10});
         return with_gradients(in, cross_entropy(x, in.integers({30}, 10)), {x});
       }},
      {"strided_copy",
       {Op::strided_copy, Op::fill},
       [](Inputs& in) {
         const Tensor x = in.parameter({5, 70, 33});
         const Tensor parts = slice(x, 1, 3, 60, 2) + slice(flip(x, 2), 1, 0, 57, 2);
         Results results = with_gradients(in, parts, {x});
         for (const Tensor& y : {transpose(x), transpose(x, 0, 1), transpose(x, 0, 2), tile(x, {2, 1, 3}),
                                 expand(x, {2, 5, 70, 33}), pad(x, {{1, 1}, {0, 2}, {3, 0}}, 7)}) {
           results.push_back(y);
         }
         return results;
       }},
      {"concat",
       {Op::concat},
       [](Inputs& in) {
         const Tensor x = in.parameter({5, 70}), y = in.parameter({5, 3});
         return with_gradients(in, concat({x, y, x}, 1), {x, y});
       }},
      {"gather_and_scatter_add",
       {Op::gather, Op::scatter_add},
       [](Inputs& in) {
         const Tensor x = in.parameter({4, 20, 3}), indices = in.integers({4, 30, 3}, 20);
         const Tensor source = in.parameter({4, 30, 3});
         return with_gradients(in, gather(scatter_add(x, indices, source, 1), indices, 1), {x, source});
       }},
      {"one_hot", {Op::one_hot}, [](Inputs& in) { return Results{one_hot(in.integers({40}, 7), 7, in.dtype())}; }},
      {"triangle", {Op::triangle}, with_parameter({3, 40, 30}, [](const Tensor& x) { return tril(x) + triu(x, 2); })},
      {"take",
       {Op::take, Op::take_grad},
       [](Inputs& in) {
         const Tensor x = in.parameter({20, 33});
         return with_gradients(in, take(x, in.integers({300}, 20)), {x});
       }},
      {"sgd", {Op::update}, [](Inputs& in) { return sgd(in, {.lr = 0.1}); }},
      {"sgd_nesterov",
       {Op::update},
       [](Inputs& in) { return sgd(in, {.lr = 0.1, .momentum = 0.9, .nesterov = true}); }},
      {"adam", {Op::update}, adam},
      {"adagrad", {Op::update}, adagrad},
      {"rmsprop", {Op::update}, [](Inputs& in) { return rmsprop(in, 0, false); }},
      {"rmsprop_of_all", {Op::update}, [](Inputs& in) { return rmsprop(in, 0.9, true); }},
  };
  return cases;
}

}  // namespace asyncgrad::tests
