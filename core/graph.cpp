#include "asyncgrad/core/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <utility>
#include <vector>

#include "asyncgrad/core/engine/engine.h"
#include "asyncgrad/core/engine/front_end/figures.h"
#include "asyncgrad/core/tensor_impl.h"

namespace asyncgrad {

namespace {

using detail::Access;
using detail::PendingOperand;
using detail::PendingOperation;

constexpr int none = -1;

// Writes the graph, starting at the tensor and going backwards.
class Graph {
 public:
  explicit Graph(std::vector<PendingOperation> operations) : operations_(std::move(operations)) { find_sources(); }

  std::string str(const Tensor& tensor) {
    text_ = "digraph asyncgrad {\n  rankdir=LR;\n  node [shape=box];\n";
    text_ += fmt::format("  tensor [label=\"{} {}\", style=bold];\n", tensor.shape().str(), name(tensor.dtype()));
    const auto writer = writers_.find(tensor.impl()->storage);
    if (writer != writers_.end() && is_pending(writer->second)) {
      add(writer->second);
      text_ += fmt::format("  {} -> tensor;\n", id(writer->second));
    }
    return text_ + "}\n";
  }

 private:
  // Finds the last writer of a storage as the engine did, by going through the operations in their order.
  void find_sources() {
    sources_.resize(operations_.size());
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      for (const PendingOperand& operand : operations_[i].operands) {
        const auto writer = writers_.find(operand.storage);
        sources_[i].push_back(writer == writers_.end() ? none : writer->second);
      }
      for (const PendingOperand& operand : operations_[i].operands) {
        if (operand.access != Access::read) writers_[operand.storage] = static_cast<int>(i);
      }
    }
  }
  const PendingOperation& at(int index) const { return operations_[static_cast<std::size_t>(index)]; }
  const std::vector<int>& sources(int index) const { return sources_[static_cast<std::size_t>(index)]; }
  bool is_pending(int index) const { return index != none && !at(index).is_finished; }
  std::string id(int index) const { return fmt::format("operation{}", at(index).number); }

  // Works without recursion, because a chain may be as long as the queue.
  void add(int last) {
    std::vector<bool> is_needed(operations_.size());
    is_needed[static_cast<std::size_t>(last)] = true;
    for (int index = last; index >= 0; --index) {  // the sources of an operation are older than it
      if (!is_needed[static_cast<std::size_t>(index)]) continue;
      for (const int source : sources(index)) {
        if (is_pending(source)) is_needed[static_cast<std::size_t>(source)] = true;
      }
    }
    for (int index = 0; index <= last; ++index) {
      if (is_needed[static_cast<std::size_t>(index)]) add_operation(index);
    }
  }
  void add_operation(int index) {
    const PendingOperation& operation = at(index);
    std::string shapes;
    for (const PendingOperand& operand : operation.operands) {
      if (operand.access != Access::read) shapes += (shapes.empty() ? "" : ", ") + operand.shape.str();
    }
    text_ += fmt::format("  {} [label=\"{}\\n{}\\n#{}\"];\n", id(index),
                         op_name(operation.op, operation.attributes.data()), shapes, operation.number);
    for (std::size_t i = 0; i < operation.operands.size(); ++i) {
      const PendingOperand& operand = operation.operands[i];
      const int source = sources(index)[i];
      if (is_pending(source)) {
        const char* style = operand.access == Access::write ? " [style=dashed]" : "";
        text_ += fmt::format("  {} -> {}{};\n", id(source), id(index), style);
      } else if (operand.access != Access::write) {
        text_ += fmt::format("  value{} -> {};\n", add_value(operand), id(index));
      }
    }
    add_numbers(index);
  }
  std::size_t add_value(const PendingOperand& operand) {
    const auto [entry, is_new] = values_.try_emplace(operand.storage, values_.size());
    if (is_new) {
      text_ += fmt::format("  value{} [label=\"{} {}\", shape=ellipse];\n", entry->second, operand.shape.str(),
                           name(operand.dtype));
    }
    return entry->second;
  }
  // A number among the inputs, such as the 2 of `x * y + 2`.
  void add_numbers(int index) {
    const PendingOperation& operation = at(index);
    if (operation.op != detail::Op::elementwise) return;
    detail::ElementwiseAttributes attributes;
    std::memcpy(&attributes, operation.attributes.data(), sizeof(attributes));
    const bool is_integer = !is_floating(operation.operands.back().dtype);  // of the inputs
    for (std::size_t i = 0; i < attributes.scalars.size(); ++i) {
      if ((attributes.scalar_mask >> i & 1) == 0) continue;
      const detail::Number number = attributes.scalars[i];
      const std::string value = is_integer ? fmt::format("{}", number.integer) : fmt::format("{:g}", number.floating);
      text_ += fmt::format("  {0}number{1} [label=\"{2}\", shape=plaintext];\n  {0}number{1} -> {0};\n", id(index), i,
                           value);
    }
  }

  std::vector<PendingOperation> operations_;
  std::vector<std::vector<int>> sources_;  // of each operand; `none` if that operation was finished long ago
  std::unordered_map<const detail::Storage*, int> writers_;
  std::unordered_map<const detail::Storage*, std::size_t> values_;
  std::string text_;
};

}  // namespace

std::string to_dot(const Tensor& tensor) {
  detail::checked_impl(tensor, "to_dot");
  return Graph(detail::pending(detail::Engine::get().queue())).str(tensor);
}

}  // namespace asyncgrad
