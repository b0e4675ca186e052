#include "asyncgrad/autograd/selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "asyncgrad/autograd/elementwise.h"
#include "asyncgrad/autograd/indexing.h"
#include "asyncgrad/autograd/shape.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/wording.h"

namespace asyncgrad {

namespace {

// The places of the true elements in row-major order.
std::vector<std::int64_t> true_places(const Tensor& mask, Location where) {
  std::vector<std::uint8_t> ones(static_cast<std::size_t>(mask.numel()));
  mask.copy_to_host(ones.data(), mask.numel(), boolean, "to_vector", where);
  // In memory that another library shares a byte may be neither 0 nor 1.
  const std::size_t count = ones.size() - static_cast<std::size_t>(std::ranges::count(ones, std::uint8_t{0}));
  std::vector<std::int64_t> places(count + 1);  // one more is written, so that there is no branch for each element
  std::size_t found = 0;
  const auto look_at = [&](std::size_t i) {
    places[found] = static_cast<std::int64_t>(i);
    found += ones[i] != 0 ? 1 : 0;
  };
  constexpr std::size_t some = sizeof(std::uint64_t);
  std::size_t i = 0;
  for (; i + some <= ones.size(); i += some) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, &ones[i], some);
    if (bytes == 0) continue;
    for (std::size_t k = i; k < i + some; ++k) look_at(k);
  }
  for (; i < ones.size(); ++i) look_at(i);
  places.resize(count);
  return places;
}

// The indices along each axis of ascending places in a tensor of `shape`, one place after another.
std::vector<std::int64_t> indices_of(const std::vector<std::int64_t>& places, const Shape& shape) {
  const auto rank = static_cast<std::size_t>(shape.rank());
  std::vector<std::int64_t> indices(places.size() * rank);
  std::array<std::int64_t, Shape::max_rank> row{};  // the indices along all axes but the last one
  std::int64_t row_begin = 0;
  auto out = indices.begin();
  for (const std::int64_t place : places) {
    for (; place - row_begin >= shape[-1]; row_begin += shape[-1]) {
      for (int axis = shape.rank() - 2; ++row[static_cast<std::size_t>(axis)] == shape[axis]; --axis) {
        row[static_cast<std::size_t>(axis)] = 0;
      }
    }
    out = std::copy_n(row.begin(), rank - 1, out);
    *out++ = place - row_begin;
  }
  return indices;
}

}  // namespace

Tensor nonzero(const Arg& x) {
  const Location where = x.where();
  const Tensor flags = x->dtype() == boolean ? x->detach() : not_equal(Arg(x->detach(), where), 0);
  const Shape& shape = x->shape();
  const std::vector<std::int64_t> places = true_places(flags, where);
  const auto indices = shape.rank() == 0 ? std::vector<std::int64_t>() : indices_of(places, shape);
  return Tensor::from(indices, {static_cast<std::int64_t>(places.size()), shape.rank()}, x->device(), where);
}

Tensor masked_select(const Arg& x, const Arg& mask) {
  if (mask->dtype() != boolean || mask->shape() != x->shape()) {
    throw_error("masked_select", fmt::format("needs a mask of bool of x's shape: x {} {}, mask {} {}", name(x->dtype()),
                                             x->shape().str(), name(mask->dtype()), mask->shape().str()));
  }
  const std::vector<std::int64_t> places = true_places(*mask.operator->(), mask.where());
  const Tensor indices = Tensor::from(places, {static_cast<std::int64_t>(places.size())}, x->device(), x.where());
  const Tensor flat = x->reshape({x->numel()}, x.where());
  return take(Arg(flat, x.where()), Arg(indices, x.where()));
}

}  // namespace asyncgrad
