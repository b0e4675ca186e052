#include "asyncgrad/autograd/selection.h"

#include <fmt/format.h>

#include <cstdint>
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
  std::vector<std::int64_t> places;
  const std::vector<bool> values = mask.to_vector<bool>(where);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i]) places.push_back(static_cast<std::int64_t>(i));
  }
  return places;
}

template <class T>
UniqueResult unique_of(const Tensor& x, Location where) {
  const Tensor flat = x.detach().reshape({x.numel()}, where);
  const std::vector<std::int64_t> order = argsort(Arg(flat, where)).to_vector<std::int64_t>(where);
  const std::vector<T> elements = flat.to_vector<T>(where);
  std::vector<T> values;
  std::vector<std::int64_t> inverse(elements.size()), counts;
  for (const std::int64_t place : order) {
    const T value = elements[static_cast<std::size_t>(place)];
    if (values.empty() || !(values.back() == value)) {
      values.push_back(value);
      counts.push_back(0);
    }
    ++counts.back();
    inverse[static_cast<std::size_t>(place)] = static_cast<std::int64_t>(values.size()) - 1;
  }
  const auto count = static_cast<std::int64_t>(values.size());
  const Device device = x.device();
  return {Tensor::from(values, {count}, device, where), Tensor::from(inverse, x.shape(), device, where),
          Tensor::from(counts, {count}, device, where)};
}

}  // namespace

Tensor nonzero(const Arg& x) {
  const Location where = x.where();
  const Tensor flags = x->dtype() == boolean ? x->detach() : not_equal(Arg(x->detach(), where), 0);
  const Shape& shape = x->shape();
  const std::vector<std::int64_t> places = true_places(flags, where);
  std::vector<std::int64_t> indices(places.size() * static_cast<std::size_t>(shape.rank()));
  for (std::size_t i = 0; i < places.size(); ++i) {
    std::int64_t rest = places[i];
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      indices[i * static_cast<std::size_t>(shape.rank()) + static_cast<std::size_t>(axis)] = rest % shape[axis];
      rest /= shape[axis];
    }
  }
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

UniqueResult unique(const Arg& x) {
  switch (x->dtype()) {
    case DType::float32:
      return unique_of<float>(x, x.where());
    case DType::float64:
      return unique_of<double>(x, x.where());
    case DType::int64:
      return unique_of<std::int64_t>(x, x.where());
    default:
      throw_error("unique",
                  fmt::format("has no form for {}: x {}; x{} converts it", name(x->dtype()), x->shape().str(),
                              detail::to_str(int64)),
                  ErrorKind::type);
  }
}

}  // namespace asyncgrad
