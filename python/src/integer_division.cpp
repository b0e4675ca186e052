#include "integer_division.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "asyncgrad/asyncgrad.h"
#include "asyncgrad/autograd/forms/broadcast.h"
#include "binding.h"

namespace asyncgrad::python {

namespace {

using Function = std::int64_t (*)(std::int64_t, std::int64_t);

// C++ rounds toward 0, and the remainder has the sign of x.
bool is_rounded_up(std::int64_t remainder, std::int64_t y) { return remainder != 0 && (remainder < 0) != (y < 0); }

std::int64_t quotient_of(std::int64_t x, std::int64_t y) {
  if (y == 0) return 0;
  if (y == -1) return static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(x));  // of -2^63 there is no negative
  return x / y - (is_rounded_up(x % y, y) ? 1 : 0);
}

std::int64_t remainder_of(std::int64_t x, std::int64_t y) {
  if (y == 0 || y == -1) return 0;
  const std::int64_t remainder = x % y;
  return is_rounded_up(remainder, y) ? remainder + y : remainder;
}

std::int64_t power_of(std::int64_t x, std::int64_t y) {
  if (y < 0) return x == 1 ? 1 : x != -1 ? 0 : y % 2 == 0 ? 1 : -1;
  std::uint64_t result = 1, square = static_cast<std::uint64_t>(x);
  for (; y != 0; y /= 2, square *= square) {
    if (y % 2 != 0) result *= square;
  }
  return static_cast<std::int64_t>(result);
}

// Where the elements of an operand are that has been broadcast to a shape.
class Broadcast {
 public:
  Broadcast(const Shape& operand, const Shape& result) : result_(result) {
    const int missing = result.rank() - operand.rank();
    std::int64_t stride = 1;
    for (int axis = operand.rank() - 1; axis >= 0; --axis) {
      strides_[static_cast<std::size_t>(axis + missing)] = operand[axis] == 1 ? 0 : stride;
      stride *= operand[axis];
    }
  }
  std::int64_t begin_of_row(std::int64_t row) const {
    std::int64_t place = 0;
    for (int axis = result_.rank() - 2; axis >= 0; --axis) {
      place += row % result_[axis] * strides_[static_cast<std::size_t>(axis)];
      row /= result_[axis];
    }
    return place;
  }
  std::int64_t step() const { return result_.rank() == 0 ? 0 : strides_[static_cast<std::size_t>(result_.rank() - 1)]; }

 private:
  Shape result_;
  std::array<std::int64_t, Shape::max_rank> strides_{};
};

template <Function function>
void compute(const CustomCall& call) {
  const Shape& shape = call.output_shape();
  if (shape.numel() == 0) return;
  const std::int64_t width = shape.rank() == 0 ? 1 : shape[-1];
  const Broadcast x_places(call.input_shape(0), shape), y_places(call.input_shape(1), shape);
  const std::int64_t x_step = x_places.step(), y_step = y_places.step();
  const auto [first, end] = call.part_of(shape.numel() / width);
  for (std::int64_t row = first; row < end; ++row) {
    const std::int64_t* const x = call.input<std::int64_t>(0).data() + x_places.begin_of_row(row);
    const std::int64_t* const y = call.input<std::int64_t>(1).data() + y_places.begin_of_row(row);
    std::int64_t* const result = call.output<std::int64_t>().data() + row * width;
    for (std::int64_t i = 0; i < width; ++i) result[i] = function(x[i * x_step], y[i * y_step]);
  }
}

Tensor prepared(const Arg& x) {
  const Location& where = x.where();
  const Tensor wide = x->dtype() == int64 ? x.tensor() : to(x, int64);
  return wide.device().type == DeviceType::cpu ? wide : wide.to(Device(), where);
}

int tiles_of(const Shape& shape) {
  constexpr std::int64_t elements_of_tile = 1 << 14, most_tiles = 1024;
  return static_cast<int>(std::clamp<std::int64_t>(shape.numel() / elements_of_tile, 1, most_tiles));
}

template <Function function>
Tensor computed(const char* name, const Arg& x, const Arg& y) {
  Shape shape = x->shape();
  if (!detail::broadcast_into(shape, y->shape()))
    throw_value_error("[" + std::string(name) + "] shapes do not broadcast: x " + x->shape().str() + ", y " +
                      y->shape().str());
  const Tensor a = prepared(x), b = prepared(y);
  Tensor result =
      custom(name, {.shape = shape, .dtype = int64}, {a, b}, compute<function>, {.tiles = tiles_of(shape)}, x.where());
  if (x->device() != result.device()) result = result.to(x->device(), x.where());
  return x->dtype() == int64 ? result : to(Arg(result, x.where().file, x.where().line), x->dtype());
}

template <class T>
void take_low_bits(const CustomCall& call) {
  const auto from = call.input<std::int64_t>(0);
  const auto into = call.output<T>();
  const auto [first, end] = call.part_of(static_cast<std::int64_t>(from.size()));
  for (auto i = static_cast<std::size_t>(first); std::cmp_less(i, end); ++i) into[i] = static_cast<T>(from[i]);
}

}  // namespace

Tensor narrowed(const Arg& x, DType dtype) {
  if (x->dtype() != int64 || (dtype != int32 && dtype != uint8)) return x->dtype() == dtype ? x.tensor() : to(x, dtype);
  Tensor result = custom("narrow", {.shape = x->shape(), .dtype = dtype}, {prepared(x)},
                         dtype == int32 ? take_low_bits<std::int32_t> : take_low_bits<std::uint8_t>,
                         {.tiles = tiles_of(x->shape())}, x.where());
  return x->device() == result.device() ? result : result.to(x->device(), x.where());
}

Tensor floor_quotient(const Arg& x, const Arg& y) { return computed<quotient_of>("floor_divide", x, y); }
Tensor floor_remainder(const Arg& x, const Arg& y) { return computed<remainder_of>("remainder", x, y); }
Tensor integer_power(const Arg& x, const Arg& y) { return computed<power_of>("power", x, y); }

}  // namespace asyncgrad::python
