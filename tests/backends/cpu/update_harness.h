// One step of an optimiser's kernel on a group of parameters, and the same step written plainly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "tests/backends/cpu/kernel_runner.h"

namespace asyncgrad::detail {

// Random parameters, a list of state for each further pair of bounds, and gradients. The sizes are around a vector and
// a cache line, zero, and larger than a tile.
template <class T>
class UpdateLists {
 public:
  // The bounds of the parameters' values come first.
  explicit UpdateLists(const std::vector<std::pair<double, double>>& bounds) : updated_(bounds.size()) {
    unsigned seed = 0;
    for (const Shape& shape : shapes()) {
      for (std::size_t i = 0; i < bounds.size(); ++i) {
        updated_[i].push_back(random_values<T>(shape.numel(), ++seed, bounds[i].first, bounds[i].second));
      }
      gradients_.push_back(random_values<T>(shape.numel(), ++seed));
    }
  }

  std::int32_t parameters() const { return static_cast<std::int32_t>(shapes().size()); }

  template <class Attributes>
  void run(Op op, const Attributes& attributes) {
    std::vector<std::vector<Array>> arrays;
    std::vector<View> operands;
    for (const auto& list : updated_) arrays.push_back(arrays_of(list));
    for (const auto& list : arrays) {
      for (const Array& array : list) operands.push_back(updated(array));
    }
    const std::vector<Array> gradients = arrays_of(gradients_);
    for (const Array& array : gradients) operands.push_back(read(array));
    EXPECT_EQ(run_kernel(op, operands, attributes), 3);
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      for (std::size_t k = 0; k < arrays[i].size(); ++k) updated_[i][k] = arrays[i][k].template values<T>();
    }
  }

  // Calls step(the element in each list, its gradient) for every element.
  template <class Step>
  void each(Step step) {
    for (std::size_t k = 0; k < gradients_.size(); ++k) {
      for (std::size_t i = 0; i < gradients_[k].size(); ++i) {
        std::vector<T*> elements;
        for (auto& list : updated_) elements.push_back(&list[k][i]);
        step(elements, gradients_[k][i]);
      }
    }
  }

  void expect_same_bits(const UpdateLists& other) const {
    for (std::size_t i = 0; i < updated_.size(); ++i) {
      for (std::size_t k = 0; k < updated_[i].size(); ++k) {
        SCOPED_TRACE(testing::Message() << "list " << i << ", parameter " << k);
        detail::expect_same_bits(updated_[i][k], other.updated_[i][k]);
      }
    }
  }

 private:
  static const std::vector<Shape>& shapes() {
    static const std::vector<Shape> shapes = {Shape{},   Shape{0},     Shape{300, 250}, Shape{7},    Shape{15},
                                              Shape{16}, Shape{65537}, Shape{17},       Shape{1000}, Shape{3, 5, 7}};
    return shapes;
  }
  static std::vector<Array> arrays_of(const std::vector<std::vector<T>>& values) {
    std::vector<Array> arrays;
    for (std::size_t k = 0; k < values.size(); ++k) arrays.emplace_back(shapes()[k], values[k]);
    return arrays;
  }

  std::vector<std::vector<std::vector<T>>> updated_;
  std::vector<std::vector<T>> gradients_;
};

}  // namespace asyncgrad::detail
