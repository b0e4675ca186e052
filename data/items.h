// Items of a data set as parts of tensors.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "asyncgrad/autograd/custom.h"

namespace asyncgrad::data {

// A number, which becomes a scalar, or a contiguous range of numbers, such as a std::vector or a std::array.
template <class T>
concept Number = std::is_arithmetic_v<T>;
template <class T>
concept Numbers = Contiguous<T> && Number<ElementOf<T>>;
// A std::pair, std::tuple or std::array of such items.
template <class T>
concept TupleLike = !Numbers<T> && requires {
  std::tuple_size<T>::value;
};
// Items of which Batches makes tensors without a function of the program.
template <class T>
concept Simple = Number<T> || Numbers<T> || TupleLike<T>;

namespace items_detail {

// A single integer of any width is a label or a count and becomes int64, in which operations compute. A range of bytes
// may be large, and keeps its type.
template <class T>
using Element = std::conditional_t<std::is_integral_v<T>, std::int64_t, T>;
template <class T>
using ElementOfRange = std::conditional_t<std::is_same_v<T, std::uint8_t>, T, Element<T>>;

template <class Field>
CustomOutput output_of(const Field& field) {
  if constexpr (Number<Field>) {
    return {.shape = {}, .dtype = dtype_of<Element<Field>>};
  } else {
    using T = ElementOfRange<ElementOf<Field>>;
    return {.shape = {static_cast<std::int64_t>(std::size(field))}, .dtype = dtype_of<T>};
  }
}

// Writes a field of item `item` of the batch.
template <class Field>
void write(const CustomCall& call, int output, std::size_t item, const Field& field) {
  if constexpr (Number<Field>) {
    call.output<Element<Field>>(output)[item] = static_cast<Element<Field>>(field);
  } else {
    using T = ElementOfRange<ElementOf<Field>>;
    const auto out = call.output<T>(output);
    const std::size_t size = out.size() / static_cast<std::size_t>(call.output_shape(output)[0]);
    if (std::size(field) != size) {
      throw std::length_error("an item has " + std::to_string(std::size(field)) + " numbers where the first has " +
                              std::to_string(size));
    }
    const auto* const numbers = std::data(field);
    for (std::size_t i = 0; i < size; ++i) out[item * size + i] = static_cast<T>(numbers[i]);
  }
}

}  // namespace items_detail

// The type and shape of each tensor of one item.
template <Simple Item>
std::vector<CustomOutput> outputs_of(const Item& item) {
  if constexpr (TupleLike<Item>) {
    return std::apply([](const auto&... field) { return std::vector{items_detail::output_of(field)...}; }, item);
  } else {
    return {items_detail::output_of(item)};
  }
}

// Writes item `place` of a batch.
template <Simple Item>
void write_item(const CustomCall& call, std::size_t place, const Item& item) {
  if constexpr (TupleLike<Item>) {
    int output = 0;
    std::apply([&](const auto&... field) { (items_detail::write(call, output++, place, field), ...); }, item);
  } else {
    items_detail::write(call, 0, place, item);
  }
}

}  // namespace asyncgrad::data
