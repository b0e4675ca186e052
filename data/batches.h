// A data set in batches, read ahead of the training.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "asyncgrad/autograd/custom.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/data/items.h"
#include "asyncgrad/data/order.h"
#include "asyncgrad/nn/members.h"

namespace asyncgrad::data {

struct BatchOptions {
  std::int64_t batch_size = 32;
  bool shuffled = true;  // each epoch has another order, which depends on `seed` and the epoch's number alone
  std::uint64_t seed = 0;
  bool drop_last = false;  // leaves out the items at an epoch's end that do not fill a batch
  // How many batches are queued before the program asks for them. They are read while the training computes, and count
  // as memory that the program holds.
  std::int64_t ahead = 1;
};

// Goes through a data set in batches. `data` has size() and a const operator[](std::int64_t), which reads an item.
// Sources call the operator (see source()), on several threads at once. It may take long. If it throws, the exception
// is the error of the batch.
//
//   ag::data::Batches batches(images, {.batch_size = 128});  // images[i] is a std::pair of std::vector<float> and int
//   for (int epoch = 0; epoch < 10; ++epoch) {
//     while (auto batch = batches.next()) train((*batch)[0], (*batch)[1]);  // (128, 784) float32 and (128) int64
//   }
//
// It lists its place, so that a Checkpoint keeps it. One thread at a time may use it.
template <class Data>
class Batches {
 public:
  using Item = std::decay_t<decltype(std::declval<const Data&>()[std::int64_t{}])>;
  // Makes the tensors of a batch from its items. It must write every output of the call whole.
  using Collate = std::function<void(std::span<const Item> items, const CustomCall& call)>;

  // Items are numbers, ranges of numbers, or a pair or tuple of those; each becomes a tensor, with the batch as its
  // first axis. Integers become int64. Reads the first item here, for its shapes; all others have the same.
  explicit Batches(Data data, BatchOptions options = {}, Location where = Location::current()) requires Simple<Item>
      : Batches(std::move(data), {}, collate_simple, options, where) {
    if (data_->size() > 0) item_ = outputs_of((*data_)[0]);
  }
  // `item` has the type and the shape of each tensor of one item. The tensors of a batch have one more axis, which
  // comes first.
  Batches(Data data, std::vector<CustomOutput> item, Collate collate, BatchOptions options = {},
          Location where = Location::current())
      : data_(std::make_shared<const Data>(std::move(data))),
        item_(std::move(item)),
        collate_(std::make_shared<const Collate>(std::move(collate))),
        options_(options) {
    const CallSite site(where);
    if (options.batch_size < 1) throw_error("Batches", "a batch size of " + std::to_string(options.batch_size));
    if (options.ahead < 0) throw_error("Batches", std::to_string(options.ahead) + " batches ahead");
  }

  // The tensors of the next batch, whose values are read later. Returns nothing at the end of an epoch, and the call
  // after that begins the next one. Queues sources, and so may wait for room in the queue.
  std::optional<std::vector<Tensor>> next(Location where = Location::current()) {
    if (batch_ >= size()) {
      ++epoch_;
      batch_ = 0;
      return std::nullopt;
    }
    const CallSite site(where);
    if (first_queued_ != batch_ || epoch_queued_ != epoch_) begin_at_place();
    while (static_cast<std::int64_t>(queued_.size()) <= options_.ahead && next_to_queue() < size()) {
      queued_.push_back(read(next_to_queue(), where));
    }
    std::vector<Tensor> batch = std::move(queued_.front());
    queued_.pop_front();
    ++first_queued_;
    ++batch_;
    return batch;
  }

  // The batches of an epoch.
  std::int64_t size() const {
    const std::int64_t count = items();
    return count / options_.batch_size + (!options_.drop_last && count % options_.batch_size != 0 ? 1 : 0);
  }
  std::int64_t epoch() const { return epoch_; }  // from 0 on
  std::int64_t batch() const { return batch_; }  // which of the epoch comes next

  void members(nn::Members& m) {
    m("epoch", epoch_);
    m("batch", batch_);
  }

 private:
  static void collate_simple(std::span<const Item> items, const CustomCall& call) {
    for (std::size_t i = 0; i < items.size(); ++i) write_item(call, i, items[i]);
  }

  std::int64_t items() const { return static_cast<std::int64_t>(data_->size()); }
  std::int64_t next_to_queue() const { return first_queued_ + static_cast<std::int64_t>(queued_.size()); }

  // Drops what was queued for another place, as at the first call, after an epoch, or when a place was loaded.
  void begin_at_place() {
    if (epoch_ < 0 || batch_ < 0) {
      throw_error("Batches", "there is no batch " + std::to_string(batch_) + " of epoch " + std::to_string(epoch_));
    }
    queued_.clear();
    first_queued_ = batch_;
    if (epoch_queued_ == epoch_) return;
    epoch_queued_ = epoch_;
    if (!options_.shuffled) return;
    order_ = std::make_shared<const std::vector<std::int64_t>>(data::shuffled(items(), options_.seed, epoch_));
  }

  std::vector<Tensor> read(std::int64_t batch, Location where) const {
    const std::int64_t first = batch * options_.batch_size;
    const std::int64_t count = std::min(options_.batch_size, items() - first);
    std::vector<CustomOutput> outputs;
    for (const CustomOutput& part : item_) {
      Shape shape{count};
      for (const std::int64_t extent : part.shape) shape.append(extent);
      outputs.push_back({.shape = shape, .dtype = part.dtype});
    }
    return source_many(
        "batch", outputs,
        [data = data_, collate = collate_, order = order_, first, count](const CustomCall& call) {
          std::vector<Item> items;
          items.reserve(static_cast<std::size_t>(count));
          for (std::int64_t i = first; i < first + count; ++i) {
            items.push_back((*data)[order == nullptr ? i : (*order)[static_cast<std::size_t>(i)]]);
          }
          (*collate)(items, call);
        },
        Device(), where);
  }

  std::shared_ptr<const Data> data_;
  std::vector<CustomOutput> item_;
  std::shared_ptr<const Collate> collate_;
  BatchOptions options_;
  std::int64_t epoch_ = 0, batch_ = 0;                 // of the batch that comes next
  std::int64_t epoch_queued_ = -1, first_queued_ = 0;  // of the first that is queued
  std::deque<std::vector<Tensor>> queued_;
  std::shared_ptr<const std::vector<std::int64_t>> order_;  // of the epoch; null: that of the data
};

}  // namespace asyncgrad::data
