// What a saved tensor has where values may be computed again. Internal.
#pragma once

#include "asyncgrad/autograd/budget/plan.h"

namespace asyncgrad::detail {

class SavedContents {
 public:
  explicit SavedContents(const Tensor& tensor) : part_(part_of(*tensor.impl())), contents_(*Plan::get().save(tensor)) {}
  SavedContents(const SavedContents&) = delete;
  SavedContents& operator=(const SavedContents&) = delete;
  ~SavedContents() { Plan::get().forget(contents_); }

  // The tensor. Tensor{} if it was written in place since.
  Tensor read() const { return Plan::get().read(contents_, part_); }
  const Part& part() const { return part_; }

 private:
  Part part_;
  Contents& contents_;
};

}  // namespace asyncgrad::detail
