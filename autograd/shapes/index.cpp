// x(…): indices of several axes at once.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "asyncgrad/autograd/forms/parts.h"
#include "asyncgrad/autograd/shapes/selected.h"
#include "asyncgrad/autograd/tape/operands.h"
#include "asyncgrad/core/backend/round_up.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad {

using namespace detail;

namespace {

std::string str(const Index& index) {
  if (index.kind() == Index::Kind::position) return std::to_string(*index.begin());
  const auto bound = [](const std::optional<std::int64_t>& given) { return given ? std::to_string(*given) : ""; };
  const std::string range = fmt::format("{}:{}", bound(index.begin()), bound(index.end()));
  return index.step() == 1 ? range : fmt::format("{}:{}", range, index.step());
}

// Goes through the indices, which take the axes one after another.
class Selecting {
 public:
  Selecting(const char* operation, const Shape& shape, std::span<const Index> indices)
      : operation_(operation), shape_(shape), selection_{.region = whole(shape), .shape = {}} {
    int named = 0, dots = 0, added = 0, dropped = 0;
    for (const Index& index : indices) {
      const bool is_position = index.kind() == Index::Kind::position;
      named += is_position || index.kind() == Index::Kind::range ? 1 : 0;
      dropped += is_position ? 1 : 0;
      dots += index.kind() == Index::Kind::ellipsis ? 1 : 0;
      added += index.kind() == Index::Kind::newaxis ? 1 : 0;
    }
    if (named > shape.rank())
      fail(fmt::format("{} indices for the {} axes of {}; leave some out", named, shape.rank(), shape.str()));
    if (dots > 1)
      fail(
          fmt::format("more than one ellipsis for {}; one stands for all axes that no other index names", shape.str()));
    if (shape.rank() - dropped + added > Shape::max_rank)
      fail(fmt::format("{} new axes for {}: a tensor has at most six", added, shape.str()));
    for (const Index& index : indices) add(index, shape.rank() - named);
    keep(shape.rank() - axis_);
  }
  const Selection& selection() const { return selection_; }

 private:
  [[noreturn]] void fail(const std::string& why) const { throw_error(operation_, why, ErrorKind::index); }
  [[noreturn]] void fail(const Index& index) const {
    fail(fmt::format("axis {} of {} has no elements {}; it has {}", axis_, shape_.str(), str(index), shape_[axis_]));
  }

  void add(const Index& index, int unnamed) {
    switch (index.kind()) {
      case Index::Kind::none:
        return;
      case Index::Kind::newaxis:
        return selection_.shape.append(1);
      case Index::Kind::ellipsis:
        return keep(unnamed);
      case Index::Kind::position:
        return take_position(index);
      default:
        return take_range(index);
    }
  }

  void keep(int axes) {
    if (axes > 0) has_range_ = true;
    for (; axes > 0; --axes) selection_.shape.append(shape_[axis_++]);
  }

  void take_position(const Index& index) {
    const std::int64_t extent = shape_[axis_], given = *index.begin(), place = given < 0 ? given + extent : given;
    if (place < 0 || place >= extent) {
      fail(fmt::format("axis {} of {} has no element {}; it has {}", axis_, shape_.str(), given, extent));
    }
    selection_.region = sliced(selection_.region, axis_++, place, place + 1, 1);
    selection_.is_shared = selection_.is_shared && !has_range_;
  }

  void take_range(const Index& index) {
    if (index.is_whole()) return keep(1);
    const std::int64_t extent = shape_[axis_], step = index.step();
    if (step == 0)
      fail(fmt::format("the step along axis {} of {} is 0; it must go forwards or backwards", axis_, shape_.str()));
    const bool is_back = step < 0;
    const auto place = [extent](const std::optional<std::int64_t>& given, std::int64_t open) {
      return !given ? open : *given < 0 ? *given + extent : *given;
    };
    // The elements from `begin` to `end`, which is left out: downwards for a negative step.
    const std::int64_t begin = place(index.begin(), is_back ? extent - 1 : 0),
                       end = place(index.end(), is_back ? -1 : extent);
    const bool exists = is_back ? (end >= 0 || !index.end()) && end <= begin && begin < extent
                                : begin >= 0 && begin <= end && end <= extent;
    if (!exists || (begin < 0 && index.begin())) fail(index);
    // A longer step takes one element, too, and its products might overflow.
    const std::int64_t longest = std::max<std::int64_t>(extent, 1), distance = is_back ? begin - end : end - begin;
    const std::int64_t stride = is_back ? -std::max(step, -longest) : std::min(step, longest);
    const std::int64_t count = detail::divided_up(distance, stride);
    if (is_back) {
      const std::int64_t last = count == 0 ? begin + 1 : begin - (count - 1) * stride;
      selection_.region = flipped(sliced(selection_.region, axis_, last, begin + 1, stride), axis_);
    } else {
      selection_.region = sliced(selection_.region, axis_, begin, end, stride);
    }
    selection_.shape.append(count);
    ++axis_;
    selection_.is_shared = selection_.is_shared && !has_range_ && step == 1;
    has_range_ = true;
  }

  const char* operation_;
  const Shape& shape_;
  Selection selection_;
  int axis_ = 0;
  bool has_range_ = false;  // so far: further axes have to be whole to share storage
};

}  // namespace

Selection detail::selection_of(const char* operation, const Shape& shape, std::span<const Index> indices) {
  return Selecting(operation, shape, indices).selection();
}

Tensor Tensor::operator()(const Index& first, const Index& second, const Index& third, const Index& fourth,
                          const Index& fifth, const Index& sixth, const Index& seventh, const Index& eighth,
                          Location where) const {
  const CallSite site(where);
  const std::array indices{first, second, third, fourth, fifth, sixth, seventh, eighth};
  const auto [region, shape, is_shared] = selection_of("index", checked_operand(*this, "index").shape, indices);
  if (is_shared) return shared_part("index", *this, region, shape, where);
  Tensor y = copy_out(CopyKind::slice, *this, region, shape, where);
  record_part("index", *this, y, region, where);
  return y;
}

}  // namespace asyncgrad
