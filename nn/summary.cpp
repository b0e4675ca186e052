#include "asyncgrad/nn/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "asyncgrad/autograd/leaves.h"

namespace asyncgrad::nn::members_detail {

struct SummaryVisitor::Table {
  struct Row {
    std::string path, kind, shapes;
    std::int64_t parameters = 0;
  };
  void count(const Tensor& tensor);

  std::vector<Row> rows;
  std::unordered_map<std::string, std::size_t> row_of;
  std::unordered_set<const detail::TensorImpl*> seen;
  std::int64_t parameters = 0, buffers = 0, size_bytes = 0;
};

SummaryVisitor::SummaryVisitor() : table_(std::make_unique<Table>()) {}
SummaryVisitor::~SummaryVisitor() = default;

void SummaryVisitor::layer(const std::string& path, const std::string& kind) {
  table_->row_of.emplace(path, table_->rows.size());
  table_->rows.push_back({.path = path, .kind = kind, .shapes = ""});
}

void SummaryVisitor::tensor(const std::string& path, Tensor& tensor) {
  // A tensor may be listed after inner layers, so its row is not always the last one.
  const std::size_t dot = path.rfind('.');
  Table::Row& row = table_->rows[table_->row_of.at(dot == std::string::npos ? "" : path.substr(0, dot))];
  const std::string text = fmt::format("{} {}", path.substr(dot + 1), tensor.shape().str());
  if (!row.shapes.empty()) row.shapes += ", ";
  const bool counts = is_parameter(tensor);
  row.shapes += counts ? text : fmt::format("[{}]", text);
  if (counts) row.parameters += tensor.numel();
  table_->count(tensor);
}

void SummaryVisitor::Table::count(const Tensor& tensor) {
  if (!seen.insert(tensor.impl()).second) return;
  (is_parameter(tensor) ? parameters : buffers) += tensor.numel();
  size_bytes += tensor.numel() * static_cast<std::int64_t>(asyncgrad::size_bytes(tensor.dtype()));
}

std::string SummaryVisitor::str() const {
  std::size_t path_width = 5, kind_width = 4, shapes_width = 7;  // the widths of the headings
  for (const Table::Row& row : table_->rows) {
    path_width = std::max(path_width, row.path.size());
    kind_width = std::max(kind_width, row.kind.size());
    shapes_width = std::max(shapes_width, row.shapes.size());
  }
  const auto line = [&](std::string_view path, std::string_view kind, std::string_view shapes, const auto& count) {
    return fmt::format("{:{}}  {:{}}  {:{}}  {:>10}\n", path, path_width, kind, kind_width, shapes, shapes_width,
                       count);
  };
  std::string text = line("layer", "kind", "tensors", "parameters");
  for (const Table::Row& row : table_->rows) text += line(row.path, row.kind, row.shapes, row.parameters);
  text += fmt::format("total: {} parameters", table_->parameters);
  if (table_->buffers > 0) text += fmt::format(", {} elements in buffers", table_->buffers);
  return text + fmt::format(", {} bytes\n", table_->size_bytes);
}

}  // namespace asyncgrad::nn::members_detail
