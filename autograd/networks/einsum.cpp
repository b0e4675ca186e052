#include "asyncgrad/autograd/einsum.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "asyncgrad/autograd/forms/parts.h"
#include "asyncgrad/autograd/networks/contraction.h"
#include "asyncgrad/autograd/tape/operands.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad {

using namespace detail;

namespace {

class Equation {
 public:
  // Throws Error unless the equation fits the operands.
  Equation(std::string_view text, std::span<const Tensor> operands) : text_(text), operands_(operands) {
    std::string spaceless;
    std::ranges::copy_if(text, std::back_inserter(spaceless), [](char c) { return c != ' '; });
    const std::size_t arrow = spaceless.find("->");
    read_terms(spaceless.substr(0, arrow));
    for (std::size_t i = 0; i < terms_.size(); ++i) note_extents(i);
    result_ = arrow == std::string::npos ? implicit_result() : expanded(spaceless.substr(arrow + 2), dots_);
    check_result();
  }

  Tensor value(Location where) const {
    Contraction contraction(result_, extents_, where);
    std::vector<Labels> labels;
    for (std::size_t i = 0; i < terms_.size(); ++i) labels.push_back(kept_labels(i));
    if (contraction.plan(labels) > Shape::max_rank) fail("a product would have more than six axes");
    std::vector<Term> terms;
    for (std::size_t i = 0; i < terms_.size(); ++i) terms.push_back({without_repeats(i, where), labels[i]});
    return contraction.value(std::move(terms));
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    std::string shapes;
    for (const Tensor& x : operands_) shapes += (shapes.empty() ? "" : ", ") + x.shape().str();
    throw_error("einsum", fmt::format("{}: {}; operands {}", quoted(text_), why, shapes));
  }
  static std::string quoted(std::string_view text) {
    constexpr std::size_t shown = 80;
    return text.size() <= shown ? fmt::format("{:?}", text) : fmt::format("{:?}...", text.substr(0, shown));
  }
  static std::string name(Label label) {
    return label < 0 ? "an axis of ..." : std::string(1, static_cast<char>(label));
  }

  // The labels of a term in which "..." stands for `dots` axes.
  Labels expanded(std::string_view term, int dots) const {
    Labels labels;
    bool has_dots = false;
    for (std::size_t i = 0; i < term.size(); ++i) {
      const char c = term[i];
      if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
        labels.push_back(c);
      } else if (term.substr(i, 3) == "..." && !has_dots) {
        for (int axis = -dots; axis < 0; ++axis) labels.push_back(axis);
        has_dots = true;
        i += 2;
      } else {
        fail(fmt::format("{:?} in {} is neither a letter nor the only ...", c, quoted(term)));
      }
    }
    return labels;
  }

  void read_terms(const std::string& inputs) {
    std::vector<std::string> parts(1);
    for (const char c : inputs) {
      if (c == ',') {
        parts.emplace_back();
      } else {
        parts.back() += c;
      }
    }
    if (parts.size() != operands_.size()) {
      fail(fmt::format("{} terms for {} operands", parts.size(), operands_.size()));
    }
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const int letters = static_cast<int>(expanded(parts[i], 0).size()), rank = operands_[i].rank();
      const bool has_dots = parts[i].find('.') != std::string::npos;
      if (has_dots ? letters > rank : letters != rank) {
        fail(fmt::format("{} names {} axes of operand {}, which has {}", quoted(parts[i]), letters, i, rank));
      }
      terms_.push_back(expanded(parts[i], rank - letters));
      if (has_dots) dots_ = std::max(dots_, rank - letters);
    }
  }

  void note_extents(std::size_t i) {
    for (std::size_t axis = 0; axis < terms_[i].size(); ++axis) {
      const Label label = terms_[i][axis];
      const std::int64_t extent = operands_[i].size(static_cast<int>(axis));
      const auto first = static_cast<int>(std::ranges::find(terms_[i], label) - terms_[i].begin());
      std::int64_t& known = extents_.emplace(label, extent).first->second;
      const bool is_diagonal = operands_[i].size(first) == extent;
      if (!is_diagonal || (known != extent && known != 1 && extent != 1)) {
        fail(fmt::format("{} is {} and {}", name(label), is_diagonal ? known : operands_[i].size(first), extent));
      }
      if (known == 1) known = extent;
    }
  }

  Labels implicit_result() const {
    Labels result;
    for (int axis = -dots_; axis < 0; ++axis) result.push_back(axis);
    for (const auto& [label, extent] : extents_) {  // ascending
      std::ptrdiff_t count = 0;
      for (const Labels& term : terms_) count += std::ranges::count(term, label);
      if (label > 0 && count == 1) result.push_back(label);
    }
    return result;
  }

  void check_result() const {
    for (const Label label : result_) {
      if (!extents_.contains(label)) fail(fmt::format("no operand has {}", name(label)));
      if (std::ranges::count(result_, label) > 1) fail(fmt::format("the result has {} twice", name(label)));
    }
    if (result_.size() > Shape::max_rank) fail("the result would have more than six axes");
  }

  // An operand's labels, each once, without those along which it is broadcast.
  Labels kept_labels(std::size_t i) const {
    Labels kept;
    for (std::size_t axis = 0; axis < terms_[i].size(); ++axis) {
      const Label label = terms_[i][axis];
      const bool is_broadcast = operands_[i].size(static_cast<int>(axis)) != extents_.at(label);
      if (!is_broadcast && !has(kept, label)) kept.push_back(label);
    }
    return kept;
  }
  // The operand with an axis for each of these.
  Tensor without_repeats(std::size_t i, Location where) const {
    const Tensor& x = operands_[i];
    const Labels kept = kept_labels(i);
    const Region all = whole(x.shape());
    Region region;
    bool repeats = false;
    for (const Label label : kept) {
      std::int64_t stride = 0;
      for (std::size_t axis = 0; axis < terms_[i].size(); ++axis) {
        if (terms_[i][axis] == label) stride += all.stride(static_cast<int>(axis));
      }
      repeats = repeats || std::ranges::count(terms_[i], label) > 1;
      region.append(extents_.at(label), stride);
    }
    if (!repeats) return region.shape == x.shape() ? x : x.reshape(region.shape, where);
    Tensor y = copy_out(CopyKind::slice, x, region, where);
    record_part("slice", x, y, region, where);
    return y;
  }

  std::string_view text_;
  std::span<const Tensor> operands_;
  std::vector<Labels> terms_;
  LabelExtents extents_;
  int dots_ = 0;  // the axes of "..."
  Labels result_;
};

// The operands are of one floating type and on one device.
void check_operands(const char* operation, std::span<const Tensor> operands) {
  if (operands.empty()) throw_error(operation, "there are no operands");
  const NamedOperand first{"first", checked_operand(operands.front(), operation)};
  for (const Tensor& operand : operands) {
    const NamedOperand other{"another", checked_operand(operand, operation)};
    check_floating(operation, {"operand", other.impl});
    check_alike(operation, {first, other});
  }
}

}  // namespace

Tensor einsum(std::string_view equation, TensorList operands, Location where) {
  const CallSite site(where);
  const std::span all_operands = operands.all();
  check_operands("einsum", all_operands);
  Tensor y = Equation(equation, all_operands).value(where);
  const bool is_operand = std::ranges::any_of(all_operands, [&](const Tensor& x) { return x.impl() == y.impl(); });
  return is_operand ? y.clone(where) : y;  // the result is never an input itself
}

}  // namespace asyncgrad
