// Data sets of Python in the library's batches.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "asyncgrad/asyncgrad.h"
#include "python_object.h"

namespace asyncgrad::python {

// The parts of an item that Python needs: its number, and its random numbers in the epoch.
struct PythonItem {
  std::int64_t index;
  data::Random random;
};

// A data set as the library sees it: numbers, for which a function of Python fills the arrays of a batch.
struct PythonData {
  // The length that Python's data set had when the program last asked for a batch. Other threads read it, and need no
  // more than some length that it had: relaxed.
  std::shared_ptr<std::atomic<std::int64_t>> length;

  std::int64_t size() const { return length->load(std::memory_order_relaxed); }
  PythonItem item(std::int64_t i, const data::Random& random) const { return {i, random}; }
};

class PythonBatches {
 public:
  // `item` has the shape and type of each part of one item, or is None until there is an item. fill(indices, outputs)
  // writes a batch; with `draws` it gets a list of the items' random numbers, too. The options' sampler may refer to
  // `sampler`.
  PythonBatches(nb::handle item, nb::object fill, bool draws, std::int64_t length, const data::BatchOptions& options,
                nb::object sampler);

  bool has_item() const { return has_item_; }
  void set_item(nb::handle item);
  void set_length(std::int64_t length) { length_->store(length, std::memory_order_relaxed); }
  std::optional<std::vector<Tensor>> next(Location where) { return batches_->next(where); }
  std::int64_t size() const { return batches_->size(); }
  std::int64_t left_out() const { return batches_->left_out(); }
  std::int64_t epoch() const { return batches_->epoch(); }
  std::int64_t batch() const { return batches_->batch(); }
  void members(nn::Members& m) { batches_->members(m); }
  // For the garbage collector, the function that ends with this. One that a batch needs which is yet to be read does
  // not.
  nb::handle own_function() const { return batches_ && !batches_->is_reading() ? fill_.get() : nb::handle(); }
  nb::handle sampler() const { return sampler_; }

 private:
  void make(nb::handle item);

  std::shared_ptr<std::atomic<std::int64_t>> length_ = std::make_shared<std::atomic<std::int64_t>>();
  HeldObject fill_;
  nb::object sampler_;
  bool draws_;
  data::BatchOptions options_;
  bool has_item_;
  std::optional<data::Batches<PythonData>> batches_;
};

}  // namespace asyncgrad::python
