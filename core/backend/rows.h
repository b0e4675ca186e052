// A table whose rows are types: a std::tuple that no object is made of. Internal.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>

namespace asyncgrad::detail {

template <class Row, class Table, std::size_t I = 0>
constexpr int find_row() {
  static_assert(I < std::tuple_size_v<Table>, "the row is not in the list at the end of its table");
  if constexpr (std::is_same_v<Row, std::tuple_element_t<I, Table>>) {
    return static_cast<int>(I);
  } else {
    return find_row<Row, Table, I + 1>();
  }
}

// The place of a row in the table. It is a variable, so that it is found once, however often it is asked for.
template <class Row, class Table>
inline constexpr int row_number = find_row<Row, Table>();

}  // namespace asyncgrad::detail
