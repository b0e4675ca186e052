#include "asyncgrad/nn/assignment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "asyncgrad/autograd/grad_mode.h"
#include "asyncgrad/autograd/shape.h"
#include "asyncgrad/core/wait_hooks.h"
#include "asyncgrad/core/wording.h"

namespace asyncgrad::nn {

using safetensors::in_quotes;
using safetensors::TensorEntry;

namespace {

std::vector<std::uint64_t> extents_of(const Tensor& tensor) { return {tensor.shape().begin(), tensor.shape().end()}; }
bool is_transpose(const TensorEntry& source, const Tensor& target) {
  const std::vector<std::uint64_t> extents = extents_of(target);
  return extents.size() == 2 && source.extents == std::vector<std::uint64_t>{extents[1], extents[0]};
}

bool same_bits(const Tensor& a, const Tensor& b) { return safetensors::bytes_of(a) == safetensors::bytes_of(b); }

}  // namespace

Assignments::Assignments(const safetensors::Reader& file, const safetensors::NamedTensors& targets,
                         const LoadOptions* options)
    : file_(&file), targets_(&targets), options_(options), target_of_(targets.begin(), targets.end()) {
  for (const TensorEntry& entry : file.header().tensors) sources_.emplace(entry.name, &entry);
  for (const auto& [name, source] : sources_) is_used_[name] = false;
  if (options != nullptr) rename(options->rename);
  keep_names();
  if (options == nullptr || options->strict) check_complete();
}

void Assignments::rename(const std::vector<Rename>& renames) {
  for (const Rename& entry : renames) {
    const auto source = sources_.find(entry.from);
    if (source == sources_.end()) {
      add_problem(fmt::format("{}, which is to be {}, is not in the file", in_quotes(entry.from), in_quotes(entry.to)));
      continue;
    }
    is_used_[entry.from] = true;
    add(*source->second, entry.to, entry.transpose);
  }
}

// A tensor that no entry renames keeps its name. Where others are transposed, a square matrix may have to be, too.
void Assignments::keep_names() {
  const bool transposes = std::ranges::any_of(by_name_, [](const auto& entry) { return entry.second.transpose; });
  for (const auto& [name, source] : sources_) {
    if (is_used_[name] || !target_of_.contains(name)) continue;
    is_used_[name] = true;
    add(*source, name, false);
    if (transposes && is_transpose(*source, target_of_.at(name)) && source->extents[0] == source->extents[1] &&
        source->extents[0] > 1) {
      add_problem(fmt::format(
          "{} {} fits both ways, while other matrices are transposed; {} transposes it, and without "
          "{} it is loaded as it is",
          in_quotes(name), source->shape(), renaming(*source, name, true), detail::in_program("true", "True")));
    }
  }
}

void Assignments::add(const TensorEntry& source, const std::string& name, bool transpose) {
  const auto target = target_of_.find(name);
  if (target == target_of_.end()) {
    add_problem(
        fmt::format("{} is to be {}, which is none of the tensors here", in_quotes(source.name), in_quotes(name)));
    return;
  }
  const Assignment assignment{.source = &source, .name = name, .target = target->second, .transpose = transpose};
  const auto [place, is_new] = by_name_.emplace(name, assignment);
  if (is_new) {
    check_fit(assignment);
  } else {
    add_problem(fmt::format("{} and {} are both to be {}", in_quotes(place->second.source->name),
                            in_quotes(source.name), in_quotes(name)));
  }
}

void Assignments::check_fit(const Assignment& assignment) {
  const TensorEntry& source = *assignment.source;
  const Tensor& target = assignment.target;
  std::vector<std::uint64_t> wanted = extents_of(target);
  if (assignment.transpose) {
    if (wanted.size() != 2) {
      add_problem(fmt::format("{} is to be transposed, but has the shape {} here, not two axes",
                              in_quotes(assignment.name), target.shape().str()));
      return;
    }
    std::swap(wanted[0], wanted[1]);
  }
  const std::optional<DType> held = safetensors::held_type(source.type);
  if (source.extents == wanted && held == target.dtype()) return;
  std::string hint;
  if (!held.has_value()) {
    hint = "; there is no type for " + source.type;
  } else if (held != target.dtype()) {
    hint = fmt::format("; nothing is converted, so make it {} here", asyncgrad::name(*held));
  } else if (options_ != nullptr && !assignment.transpose && is_transpose(source, target)) {
    hint = fmt::format("; {} transposes it", renaming(source, assignment.name, true));
  }
  add_problem(fmt::format("{} is {} {} in the file{}, {} {} here{}", in_quotes(source.name), source.type,
                          source.shape(), assignment.transpose ? ", to be transposed" : "",
                          safetensors::type_name(target.dtype()), target.shape().str(), hint));
}

// What the program writes for this: Rename{"fc.weight", "0.weight", true}.
std::string Assignments::renaming(const TensorEntry& source, const std::string& name, bool transpose) const {
  const std::string names = fmt::format("{}, {}", in_quotes(source.name), in_quotes(name));
  const std::string_view flag = transpose ? detail::in_program(", true", ", True") : "";
  return fmt::format("{}{}{}{}", detail::in_program("Rename{", "rename=[("), names, flag,
                     detail::in_program("}", ")]"));
}

// A tensor with several names is complete with one of them.
void Assignments::check_complete() {
  std::unordered_set<const detail::TensorImpl*> found;
  for (const auto& [name, assignment] : by_name_) found.insert(assignment.target.impl());
  for (const auto& entry : *targets_) {
    const auto& [name, tensor] = entry;
    if (!found.contains(tensor.impl())) {
      is_incomplete_ = true;
      missing_.push_back(&entry);
      add_problem(fmt::format("{}, {} {}, is missing in the file", in_quotes(name),
                              safetensors::type_name(tensor.dtype()), tensor.shape().str()));
    }
  }
  for (const auto& [name, is_used] : is_used_) {
    if (is_used) continue;
    add_left_over(*sources_.at(name));
  }
}

// A missing tensor of its shape may be the same one by another name.
void Assignments::add_left_over(const TensorEntry& source) {
  is_incomplete_ = true;
  std::string hint;
  for (const bool transpose : {false, true}) {
    const auto fits = [&](const auto* target) {
      return transpose ? is_transpose(source, target->second) : source.extents == extents_of(target->second);
    };
    const auto found = std::ranges::find_if(missing_, fits);
    if (options_ == nullptr || !hint.empty() || found == missing_.end()) continue;
    hint = fmt::format("; {} makes it {}", renaming(source, (*found)->first, transpose), in_quotes((*found)->first));
    if (is_transpose(source, (*found)->second) && !transpose)
      hint += fmt::format(", with {} behind it transposed", detail::in_program("true", "True"));
    missing_.erase(found);
  }
  add_problem(fmt::format("{}, {} {}, is left over{}", in_quotes(source.name), source.type, source.shape(), hint));
}

void Assignments::throw_problems() const {
  if (problems_.empty()) return;
  const std::string hint = !is_incomplete_ || options_ == nullptr
                               ? ""
                               : fmt::format("\n  With {} what is missing or left over is passed over",
                                             detail::in_program("strict = false", "strict=False"));
  file_->name().fail(fmt::format("does not fit:\n  {}{}", fmt::join(problems_, "\n  "), hint));
}

void Assignments::read() {
  const NoGrad no_grad;
  std::unordered_map<const detail::TensorImpl*, const Assignment*> read;
  for (auto& [name, assignment] : by_name_) {
    const Tensor& target = assignment.target;
    assignment.values = file_->read(*assignment.source, target.device());
    if (assignment.transpose) assignment.values = assignment.values.transpose(0, 1);
    const auto [first, is_new] = read.emplace(target.impl(), &assignment);
    if (!is_new && !same_bits(first->second->values, assignment.values)) {
      add_problem(fmt::format("{} and {} are one tensor here, with two values in the file",
                              in_quotes(first->second->name), in_quotes(name)));
    }
  }
  // If a device refuses something, this must be known before anything is changed.
  for (const auto& [name, assignment] : by_name_) assignment.values.wait();
  throw_problems();
}

void Assignments::assign() {
  const NoGrad no_grad;
  const detail::Uninterrupted uninterrupted;  // all of them, or none
  const Location where = CallSite::current();
  for (auto& [name, assignment] : by_name_) assignment.target.copy_(Arg(assignment.values, where));
}

}  // namespace asyncgrad::nn
