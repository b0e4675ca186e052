// What a layer is made of, as text.
#pragma once

#include <memory>
#include <string>

#include "asyncgrad/core/call_site.h"
#include "asyncgrad/core/location.h"
#include "asyncgrad/core/tensor.h"
#include "asyncgrad/nn/members.h"

namespace asyncgrad::nn {

namespace members_detail {

// Collects the lines of a summary.
class SummaryVisitor final : public Members::Visitor {
 public:
  SummaryVisitor();
  SummaryVisitor(const SummaryVisitor&) = delete;
  SummaryVisitor& operator=(const SummaryVisitor&) = delete;
  ~SummaryVisitor() override;
  void layer(const std::string& path, const std::string& kind) override;
  void tensor(const std::string& path, Tensor& tensor) override;
  std::string str() const;

 private:
  struct Table;
  std::unique_ptr<Table> table_;
};

}  // namespace members_detail

// A table as text. Each layer has a line with its path, kind, the shapes of its tensors (buffers in brackets) and its
// number of parameters. The totals at the end count a shared tensor once. Does not block.
template <class Layer>
std::string summary(const Layer& layer, Location where = Location::current()) {
  const CallSite site(where);
  members_detail::SummaryVisitor visitor;
  members_detail::visit_copy(layer, visitor);
  return visitor.str();
}

}  // namespace asyncgrad::nn
