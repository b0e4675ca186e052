// Tests in which everything that may be dropped is.
#pragma once

#include "asyncgrad/autograd/budget/plan.h"
#include "tests/autograd/support.h"

namespace asyncgrad::tests {

class Dropping : public ::testing::Test {
 protected:
  Dropping() {
    set_engine_options({.workers = 2, .memory_budget = MemoryBudget::bytes(1 << 30), .recompute_to_fit = true});
    detail::Plan::get().drop_all(true);
    reset_peaks();
  }
  ~Dropping() override {
    detail::Plan::get().drop_all(false);
    set_engine_options({});
    recover();
  }
  static std::int64_t recomputed() { return engine_figures().recomputed_operations; }
};

inline Tensor chain(const Tensor& x) { return tanh(sigmoid(tanh(x))); }

}  // namespace asyncgrad::tests
