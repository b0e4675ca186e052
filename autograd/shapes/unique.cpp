// unique: few different elements are found by hashing, and many by sorting all of them.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <optional>
#include <type_traits>
#include <vector>

#include "asyncgrad/autograd/selection.h"
#include "asyncgrad/autograd/sort.h"
#include "asyncgrad/core/backend/place_table.h"
#include "asyncgrad/core/backend/sort_order.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/wording.h"

namespace asyncgrad {

using namespace detail;

namespace {

// The different values in some order, how often each is there, and which of them each element is.
template <class T>
struct Different {
  std::vector<T> values;
  std::vector<std::int64_t> counts, of_elements;

  void add(T value) {
    values.push_back(value);
    counts.push_back(0);
  }
  void count(std::int64_t value) {
    ++counts[static_cast<std::size_t>(value)];
    of_elements.push_back(value);
  }
};

// The same for equal values: for zeros of both signs, too.
template <class T>
std::int64_t key_of(T value) {
  std::int64_t key = 0;
  const T plain = value == T{0} ? T{0} : value;
  std::memcpy(&key, &plain, sizeof(T));
  return key;
}

// In the order of their first places; none if there are many, which sorting finds sooner.
template <class T>
std::optional<Different<T>> few_different(const std::vector<T>& elements) {
  constexpr std::int32_t many = 8192;
  constexpr PlaceTable table(2 * many);  // so that most slots stay free, and a search is short
  Different<T> found;
  found.of_elements.reserve(elements.size());
  std::vector<std::int32_t> slots(table.slots, -1);  // places in `values`
  for (const T value : elements) {
    const auto next = static_cast<std::int32_t>(found.values.size());
    std::int32_t place = next;
    if (value == value) {  // NOLINT(misc-redundant-expression): each NaN is another value
      std::uint64_t slot = table.first_slot(key_of(value));
      while (slots[slot] >= 0 && found.values[static_cast<std::size_t>(slots[slot])] != value) {
        slot = table.next_slot(slot);
      }
      if (slots[slot] < 0) slots[slot] = next;
      place = slots[slot];
    }
    if (place == many) return std::nullopt;
    if (place == next) found.add(value);
    found.count(place);
  }
  return found;
}

// Puts them in ascending order, with NaN last.
template <class T>
void sort(Different<T>& found) {
  std::vector<std::int64_t> order(found.values.size()), ranks(order.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](std::int64_t i, std::int64_t k) {
    return is_less(found.values[static_cast<std::size_t>(i)], found.values[static_cast<std::size_t>(k)]);
  });
  Different<T> sorted;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const auto place = static_cast<std::size_t>(order[rank]);
    ranks[place] = static_cast<std::int64_t>(rank);
    sorted.values.push_back(found.values[place]);
    sorted.counts.push_back(found.counts[place]);
  }
  for (std::int64_t& value : found.of_elements) value = ranks[static_cast<std::size_t>(value)];
  found.values = std::move(sorted.values);
  found.counts = std::move(sorted.counts);
}

// `order`: of the elements, as argsort() gives it.
template <class T>
Different<T> different_in_order(const std::vector<T>& elements, const std::vector<std::int64_t>& order) {
  Different<T> found;
  found.of_elements.resize(elements.size());
  for (const std::int64_t place : order) {
    const T value = elements[static_cast<std::size_t>(place)];
    if (found.values.empty() || !(found.values.back() == value)) found.add(value);
    ++found.counts.back();
    found.of_elements[static_cast<std::size_t>(place)] = static_cast<std::int64_t>(found.values.size()) - 1;
  }
  return found;
}

template <class T>
UniqueResult unique_of(const Tensor& x, Location where) {
  const Tensor flat = x.detach().reshape({x.numel()}, where);
  const std::vector<T> elements = flat.to_vector<T>(where);
  std::optional<Different<T>> found = few_different(elements);
  if (found) {
    sort(*found);
  } else {
    found = different_in_order(elements, argsort(Arg(flat, where)).to_vector<std::int64_t>(where));
  }
  const auto count = static_cast<std::int64_t>(found->values.size());
  const Device device = x.device();
  return {Tensor::from(found->values, {count}, device, where),
          Tensor::from(found->of_elements, x.shape(), device, where),
          Tensor::from(found->counts, {count}, device, where)};
}

}  // namespace

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
