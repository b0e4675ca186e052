// New tensors: of a number, of a range, of random numbers.
#include "asyncgrad/core/shared_generator.h"
#include "call.h"
#include "conversion.h"
#include "dtypes.h"
#include "errors.h"
#include "functions.h"
#include "module.h"
#include "rows.h"
#include "tensor.h"

namespace asyncgrad::python {

namespace {

DType dtype_or(Handle dtype, DType otherwise) { return dtype.is_none() ? otherwise : dtype_from(dtype); }

struct FilledLike {
  const char* name;
  Tensor (*function)(const Arg&);
  Tensor (*in_type)(const Shape&, TensorOptions, Location);
  const char* doc;
};

void bind_filled_like(nb::module_& m) {
  static constexpr FilledLike rows[] = {
      {"zeros_like", zeros_like, zeros, "Zeros of x's shape, device, and type unless `dtype` is given."},
      {"ones_like", ones_like, ones, "Ones of x's shape, device, and type unless `dtype` is given."},
  };
  for (const FilledLike& row : rows) {
    m.def(
        row.name,
        [row = &row](Handle x, Handle dtype) {
          const Call call(x);
          const Tensor like = tensor_from(x);
          if (dtype.is_none()) return call.result(row->function(call.arg(like)));
          return call.result(
              row->in_type(like.shape(), {.dtype = dtype_from(dtype), .device = like.device()}, call.where()));
        },
        nb::arg("x"), nb::arg("dtype") = nb::none(), row.doc);
  }
  m.def(
      "full_like",
      [](Handle x, Handle value, Handle dtype) {
        const Call call(x);
        const Tensor like = tensor_from(x);
        const Scalar number =
            required_number(number_in(dtype_or(dtype, like.dtype()), value.ptr(), call.where()), value, "value");
        if (dtype.is_none()) return call.result(full_like(call.arg(like), number));
        return call.result(
            full(like.shape(), number, {.dtype = dtype_from(dtype), .device = like.device()}, call.where()));
      },
      nb::arg("x"), nb::arg("value"), nb::arg("dtype") = nb::none(),
      "One number everywhere, with x's shape, device, and type unless `dtype` is given.");
}

void bind_random_like(nb::module_& m) {
  struct RandomLike {
    const char* name;
    Tensor (*function)(const Arg&, Generator*);
    const char* doc;
  };
  static constexpr RandomLike rows[] = {
      {"rand_like", rand_like, "Random numbers in (0, 1], with x's shape, type and device."},
      {"randn_like", randn_like, "Random numbers of N(0, 1), with x's shape, type and device."},
  };
  for (const RandomLike& row : rows) {
    m.def(
        row.name,
        [row = &row](Handle x, Handle from) {
          const Call call(x);
          return call.result(row->function(call.arg(tensor_from(x)), generator_from(from, row->name)));
        },
        nb::arg("x"), nb::arg("generator") = nb::none(), row.doc);
  }
}

}  // namespace

void bind_creation(nb::module_& m) {
  bind_filled_like(m);
  bind_random_like(m);
  detail::share_default_generator();  // the interpreter's lock orders the threads
  nb::class_<Generator>(m, "Generator", "A place in one of 2^64 sequences of random numbers (Philox 4x32-10).")
      .def(
          "__init__",
          [](Generator* self, nb::typed<nb::handle, int> seed, std::uint64_t place) {
            new (self) Generator(seed_from(seed, "Generator"), place);
          },
          nb::arg("seed") = 0, nb::arg("place") = 0, "The same seed and place give the same numbers on every machine.")
      .def_prop_ro("seed", &Generator::seed, "Which sequence it is.")
      .def_prop_ro("place", &Generator::place, "The number of blocks taken so far.")
      .def(
          "set",
          [](Generator& g, nb::typed<nb::handle, int> seed, std::uint64_t place) {
            g = Generator(seed_from(seed, "Generator.set"), place);
          },
          nb::arg("seed"), nb::arg("place") = 0, "Goes on from a place in the sequence of a seed.")
      .def(
          "__reduce__",
          [](nb::handle g) {
            const auto& generator = nb::cast<const Generator&>(g);
            return nb::make_tuple(g.type(), nb::make_tuple(generator.seed(), generator.place()));
          },
          "For copies and pickles, which go on where this one is.");
  m.def(
      "default_generator", [] { return &default_generator(); }, nb::rv_policy::reference,
      "The generator that functions use unless they are given another: that of the GeneratorScope around the call, "
      "else the program's, which any thread may use.");
  m.def(
      "manual_seed", [](nb::typed<nb::handle, int> seed) { manual_seed(seed_from(seed, "manual_seed")); },
      nb::arg("seed"), "Restarts the default generator with this seed.");
  struct Filled {
    const char* name;
    std::int64_t value;
    const char* doc;
  };
  for (const Filled& row : {Filled{"zeros", 0, "Zeros of a shape, as in f(2, 3) or f((2, 3)); of default_dtype()."},
                            Filled{"ones", 1, "Ones of a shape, as in f(2, 3) or f((2, 3)); of default_dtype()."}}) {
    m.def(
        row.name,
        [value = row.value](const nb::args& shape, Handle dtype, Handle device) {
          const Call call(tensor_type);
          return call.result(full(shape_of_args(shape), call.scalar(value),
                                  {.dtype = dtype_or(dtype, default_dtype()), .device = device_or_default(device)},
                                  call.where()));
        },
        nb::arg("shape"), nb::kw_only(), nb::arg("dtype") = nb::none(), nb::arg("device") = nb::none(), row.doc);
  }
  m.def(
      "full",
      [](Handle shape, Handle value, Handle dtype, Handle device) {
        const Call call(tensor_type);
        const Scalar number = required_number(dtype.is_none() ? number_from(value.ptr(), call.where())
                                                              : number_in(dtype_from(dtype), value.ptr(), call.where()),
                                              value, "value");
        const DType natural = natural_type(value, number);
        return call.result(full(shape_from(shape), number,
                                {.dtype = dtype_or(dtype, natural), .device = device_or_default(device)},
                                call.where()));
      },
      nb::arg("shape"), nb::arg("value"), nb::arg("dtype") = nb::none(), nb::arg("device") = nb::none(),
      "One number everywhere; an integer makes int64, as in NumPy.");
  m.def(
      "_eye",
      [](std::int64_t rows, std::int64_t columns, std::int64_t diagonal, Handle dtype, Handle device) {
        const Call call(tensor_type);
        return call.result(eye(rows, columns, diagonal,
                               {.dtype = dtype_or(dtype, default_dtype()), .device = device_or_default(device)},
                               call.where()));
      },
      nb::arg("rows"), nb::arg("columns"), nb::arg("diagonal"), nb::arg("dtype").none(), nb::arg("device").none());
  m.def(
      "_linspace",
      [](double start, double stop, std::int64_t count, Handle dtype, Handle device) {
        const Call call(tensor_type);
        const DType wanted = dtype_or(dtype, default_dtype());
        const DType computed = is_floating(wanted) ? wanted : float64;
        const Tensor numbers =
            linspace(start, stop, count, {.dtype = computed, .device = device_or_default(device)}, call.where());
        return call.result(in_type(call, numbers, wanted));
      },
      nb::arg("start"), nb::arg("stop"), nb::arg("count"), nb::arg("dtype").none(), nb::arg("device").none());
  m.def(
      "arange",
      [](Handle start, Handle stop, Handle step, Handle dtype, Handle device) {
        const Call call(tensor_type);
        const auto read = [&](Handle value) {
          const auto number = number_from(value.ptr(), call.where());
          if (!number) {
            throw_type_error("start, stop and step must be numbers, got " + repr_of(value));
          }
          return *number;
        };
        const Scalar first = stop.is_none() ? call.scalar(std::int64_t{0}) : read(start),
                     last = stop.is_none() ? read(start) : read(stop), by = read(step);
        const DType natural = first.is_integer() && last.is_integer() && by.is_integer() ? int64 : default_dtype();
        return call.result(arange(
            first, last, by, {.dtype = dtype_or(dtype, natural), .device = device_or_default(device)}, call.where()));
      },
      nb::arg("start"), nb::arg("stop") = nb::none(), nb::arg("step") = 1, nb::arg("dtype") = nb::none(),
      nb::arg("device") = nb::none(),
      "start, start + step, ... below stop; of integers it is int64, else default_dtype().");
  const auto options = [](const char* function, Handle dtype, Handle device, Handle from) {
    return RandomOptions{.dtype = dtype_or(dtype, default_dtype()),
                         .device = device_or_default(device),
                         .generator = generator_from(from, function)};
  };
  m.def(
      "uniform",
      [options](double low, double high, Handle shape, Handle dtype, Handle device, Handle from) {
        const Call call(tensor_type);
        return call.result(
            uniform(shape_from(shape), low, high, options("uniform", dtype, device, from), call.where()));
      },
      nb::arg("low"), nb::arg("high"), nb::arg("shape"), nb::arg("dtype") = nb::none(), nb::arg("device") = nb::none(),
      nb::arg("generator") = nb::none(), "Random numbers low + u (high - low), rounded, with u in (0, 1].");
  m.def(
      "normal",
      [options](double mean, double deviation, Handle shape, Handle dtype, Handle device, Handle from) {
        const Call call(tensor_type);
        return call.result(
            normal(shape_from(shape), mean, deviation, options("normal", dtype, device, from), call.where()));
      },
      nb::arg("mean"), nb::arg("standard_deviation"), nb::arg("shape"), nb::arg("dtype") = nb::none(),
      nb::arg("device") = nb::none(), nb::arg("generator") = nb::none(), "Random numbers of a normal distribution.");
  m.def(
      "rand",
      [options](const nb::args& shape, Handle dtype, Handle device, Handle from) {
        const Call call(tensor_type);
        return call.result(uniform(shape_of_args(shape), 0, 1, options("rand", dtype, device, from), call.where()));
      },
      nb::arg("shape"), nb::kw_only(), nb::arg("dtype") = nb::none(), nb::arg("device") = nb::none(),
      nb::arg("generator") = nb::none(), "Random numbers in (0, 1] of a shape, as in f(2, 3) or f((2, 3)).");
  m.def(
      "randn",
      [options](const nb::args& shape, Handle dtype, Handle device, Handle from) {
        const Call call(tensor_type);
        return call.result(randn(shape_of_args(shape), options("randn", dtype, device, from), call.where()));
      },
      nb::arg("shape"), nb::kw_only(), nb::arg("dtype") = nb::none(), nb::arg("device") = nb::none(),
      nb::arg("generator") = nb::none(), "Random numbers of N(0, 1) of a shape, as in f(2, 3) or f((2, 3)).");
  m.def(
      "randint",
      [](std::int64_t low, std::int64_t high, Handle shape, Handle dtype, Handle device, Handle from) {
        const Call call(tensor_type);
        return call.result(randint(low, high, shape_from(shape),
                                   {.dtype = dtype_or(dtype, int64),
                                    .device = device_or_default(device),
                                    .generator = generator_from(from, "randint")},
                                   call.where()));
      },
      nb::arg("low"), nb::arg("high"), nb::arg("shape"), nb::arg("dtype") = nb::none(), nb::arg("device") = nb::none(),
      nb::arg("generator") = nb::none(), "Random integers in [low, high).");
  m.def(
      "permutation",
      [](std::int64_t n, Handle dtype, Handle device, Handle from) {
        const Call call(tensor_type);
        return call.result(permutation(n,
                                       {.dtype = dtype_or(dtype, int64),
                                        .device = device_or_default(device),
                                        .generator = generator_from(from, "permutation")},
                                       call.where()));
      },
      nb::arg("n"), nb::arg("dtype") = nb::none(), nb::arg("device") = nb::none(), nb::arg("generator") = nb::none(),
      "0 ... n - 1 in random order.");
  m.def(
      "bernoulli",
      [](Handle p, Handle shape, Handle dtype, Handle device, Handle from) {
        const Call call = is_tensor(p.ptr()) ? Call(p) : Call(tensor_type);
        if (is_tensor(p.ptr())) {
          if (!shape.is_none() || !dtype.is_none() || !device.is_none())
            throw_value_error("bernoulli() of a tensor has its shape and device, and the type bool");
          return call.result(bernoulli(call.arg(tensor_in(p.ptr())), generator_from(from, "bernoulli")));
        }
        if (shape.is_none()) throw_value_error("bernoulli() of a number needs a shape");
        return call.result(bernoulli(float_from(p, "[bernoulli] p"), shape_from(shape),
                                     {.dtype = dtype_or(dtype, boolean),
                                      .device = device_or_default(device),
                                      .generator = generator_from(from, "bernoulli")},
                                     call.where()));
      },
      nb::arg("p"), nb::arg("shape") = nb::none(), nb::arg("dtype") = nb::none(), nb::arg("device") = nb::none(),
      nb::arg("generator") = nb::none(),
      "True with probability p, a number or a tensor of them, else False; bool unless `dtype` says otherwise.");
}

}  // namespace asyncgrad::python
