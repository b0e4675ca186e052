// Calls of reductions.
#include "tests/backends/cuda/device_cases.h"

namespace asyncgrad::tests {

namespace {

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

}  // namespace

DeviceCases reduction_cases() {
  using detail::Op;
  return {
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
      {"sum",
       {Op::sum},
       [](Inputs& in) {
         const Tensor x = in({3, 1000, 70});
         return Results{sum(x), sum(x, 0), sum(x, 1), sum(x, 2), mean(x), sum(in({100000})), sum(in({67, 33}), 1)};
       },
       1e-4},
      {"sum_of_booleans",
       {Op::sum},
       [](Inputs& in) {
         const Tensor x = in({3, 1000, 70}) > 1.2;
         return Results{sum(x), sum(x, 0), sum(x, 1), sum(x, 2), mean(x), mean(x, 1), sum(in({100000}) > 1.2)};
       }},
      {"prod",
       {Op::prod, Op::prod_grad},
       [](Inputs& in) {  // of some numbers that are 0, along short and long lines, and across
         const Tensor x = in.parameter({3, 300, 7}, 0.7, 1.4), y = in.parameter({2, 16400}, 0.9, 1.11);
         const Tensor some = where(x.detach() < 0.702, x * 0, x);
         const Tensor products = concat(
             {prod(some, 0).reshape({2100}), prod(x, 1).reshape({21}), prod(some, 2).reshape({900}), prod(y, 1)}, 0);
         return with_gradients(in, products, {x, y});
       },
       1e-4},
      {"prod_of_nothing",
       {Op::prod},
       [](Inputs& in) {
         return Results{prod(in({2, 0, 3}), 1), prod(in({0, 3}), 1)};
       }},
      {"prod_of_integers",
       {Op::prod},
       [](Inputs& in) {
         const Tensor x = in.integers({30, 70}, 50) * 2 + 1;
         return Results{prod(x), prod(x, 0), prod(x, 1)};
       }},
      {"max", {Op::max, Op::max_grad}, with_parameter({30, 2000}, [](const Tensor& x) { return max(x, 1); })},
      {"max_across", {Op::max, Op::max_grad}, with_parameter({300, 7}, [](const Tensor& x) { return max(x, 0); })},
      {"min", {Op::min, Op::max_grad}, with_parameter({30, 2000}, [](const Tensor& x) { return min(x, 1); })},
      {"argmax_and_argmin",
       {Op::argmax, Op::argmin},
       [](Inputs& in) {
         const Tensor x = in({30, 2000});
         return Results{argmax(x, 0), argmax(x, 1), argmin(x, 0), argmin(x, 1)};
       }},
      {"argsort",
       {Op::argsort},
       [](Inputs& in) {  // of some elements that are equal, and of some NaN
         Results results;
         for (const Shape& shape : {Shape{30, 12}, Shape{7, 100}, Shape{3, 40, 5}, Shape{1, 1030}, Shape{1, 2100},
                                    Shape{0, 3}, Shape{300, 3}, Shape{3, 700}, Shape{2, 1100, 2}, Shape{1, 4200}}) {
           const Tensor x = in.integers(shape, 40).to(in.dtype()), y = where(x == 7, x / 0 - x / 0, x);
           for (const bool descending : {false, true}) {
             results.push_back(argsort(y, {.axis = 1, .descending = descending}));
           }
           results.insert(results.end(),
                          {topk(y, 2, {.axis = 1}).indices, argsort(in.integers(shape, 40), {.axis = 1})});
         }
         // Each stretch of a falling line comes behind the next one.
         results.push_back(argsort(arange(2100, 0, -1, {.dtype = in.dtype(), .device = results[0].device()})));
         return results;
       }},
      {"softmax",
       {Op::softmax, Op::softmax_grad},
       with_parameter({30, 200}, [](const Tensor& x) { return softmax(x); })},
      {"softmax_across",
       {Op::softmax, Op::softmax_grad},
       with_parameter({30, 7}, [](const Tensor& x) { return softmax(x, 0); })},
      {"softmax_across_many",
       {Op::softmax, Op::softmax_grad},
       with_parameter({2, 20, 8200}, [](const Tensor& x) { return softmax(x, 1); })},
      {"softmax_of_few_long_lines",
       {Op::softmax, Op::softmax_grad},
       with_parameter({2, 16500}, [](const Tensor& x) { return softmax(x) * 1e4; }),
       1e-4,
       true},
      {"softmax_across_few_long_lines",
       {Op::softmax, Op::softmax_grad},
       with_parameter({2, 16400, 3}, [](const Tensor& x) { return softmax(x, 1) * 1e4; }),
       1e-4,
       true},
      {"log_softmax",
       {Op::log_softmax, Op::log_softmax_grad},
       with_parameter({3, 5000}, [](const Tensor& x) { return log_softmax(x); }),
       1e-4},
      {"log_softmax_of_few_long_lines",
       {Op::log_softmax, Op::log_softmax_grad},
       with_parameter({2, 16500}, [](const Tensor& x) { return log_softmax(x); }),
       1e-4,
       true},
      {"cross_entropy",
       {Op::cross_entropy, Op::cross_entropy_grad},
       [](Inputs& in) {
         const Tensor x = in.parameter({30, 10});
         return with_gradients(in, cross_entropy(x, in.integers({30}, 10)), {x});
       }},
      {"cross_entropy_of_few_long_rows",
       {Op::cross_entropy, Op::cross_entropy_grad},
       [](Inputs& in) {
         const Tensor x = in.parameter({2, 16500});
         const Tensor y = cross_entropy(x, in.integers({2}, 16500));
         sum(y).backward();
         return Results{y, x.grad() * 1e4};
       },
       1e-4,
       true},
  };
}

}  // namespace asyncgrad::tests
