// A data set in batches, read ahead of the training.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "asyncgrad/autograd/custom.h"
#include "asyncgrad/autograd/source.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/data/items.h"
#include "asyncgrad/data/order.h"
#include "asyncgrad/data/random.h"
#include "asyncgrad/data/share.h"
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
  // Chooses the items of each epoch, such as weighted(); `shuffled` has then no effect. An item that comes several times
  // in an epoch has the same random numbers each time.
  Sampler sampler{};
  // Which rows of each batch this process takes, for a training on several: ag::dist::World::share() or
  // ag::dist::Parts::share(). `batch_size` is that of all of them together, and a multiple of share.count. A batch at an
  // epoch's end whose rows cannot be shared evenly is left out, see left_out().
  Share share{};
};

// A data set: it has size(), and an item for each index below that, by a const function that sources call (see
// source()), on several threads at once. The function may take long. If it throws, the exception is the error of the
// batch.
template <class Data>
concept Indexed = requires(const Data& data, std::int64_t i) {
  data[i];
};
// A data set whose items are made anew in each epoch, with random numbers of their own: random crops, for example. If a
// data set has both functions, `item` is called.
template <class Data>
concept Randomised = requires(const Data& data, std::int64_t i, Random& random) {
  data.item(i, random);
};

namespace batches_detail {

// Throws Error for what Batches refuses.
void check(const BatchOptions& options);
// Throws Error if `batch` is beyond the end of an epoch of `batches` batches: the place was kept with another batch_size
// or other data.
void check_place(std::int64_t epoch, std::int64_t batch, std::int64_t batches);
// Throws Error unless `index` is that of one of `count` items. Its text starts with `beginning`, "there is no" or "the
// sampler chose", and goes on with "item 7 among 5, which are numbered from 0".
void check_item(const char* operation, const char* beginning, std::int64_t index, std::int64_t count);

template <class Data>
decltype(auto) item_of(const Data& data, std::int64_t i, Random random) {
  if constexpr (Randomised<Data>) {
    return data.item(i, random);
  } else {
    return data[i];
  }
}

}  // namespace batches_detail

// Goes through a data set in batches. `data` has size(), and either a const operator[](std::int64_t) or a const
// item(std::int64_t, Random&), which reads an item. An epoch has the items that the data set has when the epoch's first
// batch is asked for: items that are added later come in the next epoch, and a batch of removed items is an error. A
// training that goes on within an epoch needs a data set with as many items as before.
//
//   ag::data::Batches batches(images, {.batch_size = 128});  // images[i] is a std::pair of std::vector<float> and int
//   for (int epoch = 0; epoch < 10; ++epoch) {
//     while (auto batch = batches.next()) train((*batch)[0], (*batch)[1]);  // (128, 784) float32 and (128) int64
//   }
//
// Its place is among its members, so that a Checkpoint keeps it. It is a number of batches, so the program that goes on
// must have the same batch_size, seed and data. One thread at a time may use it.
template <class Data>
requires(Indexed<Data> || Randomised<Data>) class Batches {
 public:
  using Item = std::decay_t<decltype(batches_detail::item_of(std::declval<const Data&>(), 0, Random(0, 0, 0)))>;
  // Makes the tensors of a batch from its items. It must write every output of the call whole.
  using Collate = std::function<void(std::span<const Item> items, const CustomCall& call)>;

  // Items are numbers, ranges of numbers, or a pair or tuple of those; each becomes a tensor, with the batch as its
  // first axis. Ranges of std::uint8_t, such as pixels, stay uint8; all other integers become int64. Reads the first
  // item here, for its shapes; all other items have the same shapes. If the data set is empty, the item is read later,
  // when there is one.
  explicit Batches(Data data, BatchOptions options = {}, Location where = Location::current()) requires Simple<Item>
      : Batches(std::move(data), {}, collate_simple, options, where) {
    first_item_ = [](const Data& set, std::uint64_t seed) {
      return outputs_of(batches_detail::item_of(set, 0, Random(seed, 0, 0)));
    };
    if (items() > 0) item_ = first_item_(*data_, options.seed);
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
    batches_detail::check(options);
  }

  // The tensors of the next batch, whose values are read later. Returns nothing at the end of an epoch, and the call
  // after that begins the next one. Queues sources, and so may wait for room in the queue.
  std::optional<std::vector<Tensor>> next(Location where = Location::current()) {
    const CallSite site(where);
    if (first_queued_ != batch_ || epoch_queued_ != epoch_) begin_at_place();
    batches_detail::check_place(epoch_, batch_, size());
    if (batch_ >= size()) {
      ++epoch_;
      batch_ = 0;
      return std::nullopt;
    }
    while (static_cast<std::int64_t>(queued_.size()) <= options_.ahead && next_to_queue() < size()) {
      queued_.push_back(read(next_to_queue(), where));
    }
    std::vector<Tensor> batch = std::move(queued_.front());
    queued_.erase(queued_.begin());
    ++first_queued_;
    ++batch_;
    return batch;
  }

  // The number of batches of the epoch. Before its first batch was asked for, it is computed from the items that are
  // there now.
  std::int64_t size() const {
    const std::int64_t rest = items_now() % options_.batch_size;
    const bool has_smaller = !options_.drop_last && rest != 0 && rest % options_.share.count == 0;
    return items_now() / options_.batch_size + (has_smaller ? 1 : 0);
  }
  // How many items of the epoch are in none of its batches, in no process: because of drop_last, or of `share`.
  std::int64_t left_out() const {
    const std::int64_t left = items_now() - size() * options_.batch_size;
    return left > 0 ? left : 0;
  }
  std::int64_t epoch() const { return epoch_; }  // from 0 on
  std::int64_t batch() const { return batch_; }  // which of the epoch comes next
  // Whether a batch that was queued has still to be read, so that others than this refer to the data. For the garbage
  // collector of another language.
  bool is_reading() const { return collate_.use_count() > 1; }

  void members(nn::Members& m) {
    m.not_negative("epoch", epoch_);
    m.not_negative("batch", batch_);
  }

 private:
  static void collate_simple(std::span<const Item> items, const CustomCall& call) {
    for (std::size_t i = 0; i < items.size(); ++i) write_item(call, i, items[i]);
  }

  std::int64_t items() const {
    const auto count = static_cast<std::int64_t>(data_->size());
    if (count < 0) {
      throw_error("Batches", "size() of the data set must be at least 0, got " + std::to_string(count));
    }
    return count;
  }
  std::int64_t items_now() const { return epoch_queued_ == epoch_ ? items_ : items_of_epoch(); }
  std::int64_t items_of_epoch() const {
    const std::int64_t count = items();
    return options_.sampler ? static_cast<std::int64_t>(sampled(count).size()) : count;
  }
  std::vector<std::int64_t> sampled(std::int64_t count) const {
    std::vector<std::int64_t> order = options_.sampler(count, epoch_);
    for (const std::int64_t index : order) batches_detail::check_item("Batches", "the sampler chose", index, count);
    return order;
  }
  std::int64_t next_to_queue() const { return first_queued_ + static_cast<std::int64_t>(queued_.size()); }

  // Drops the batches that were queued for another place. This happens at the first call, after an epoch, and after a
  // place was loaded.
  void begin_at_place() {
    queued_.clear();
    first_queued_ = batch_;
    if (epoch_queued_ == epoch_) return;
    const std::int64_t count = items();
    if (count > 0 && item_.empty()) {
      if (first_item_ == nullptr) throw_error("Batches", "an item has no tensor: the list of outputs is empty");
      item_ = first_item_(*data_, options_.seed);
    }
    if (options_.sampler) {
      order_ = std::make_shared<const std::vector<std::int64_t>>(sampled(count));
    } else if (options_.shuffled) {
      order_ = std::make_shared<const std::vector<std::int64_t>>(data::shuffled(count, options_.seed, epoch_));
    }
    items_ = order_ == nullptr ? count : static_cast<std::int64_t>(order_->size());
    epoch_queued_ = epoch_;
  }

  std::vector<Tensor> read(std::int64_t batch, Location where) const {
    const std::int64_t begin = batch * options_.batch_size, left = items_ - begin;
    const Share share = options_.share;
    const std::int64_t rows = (options_.batch_size < left ? options_.batch_size : left) / share.count;  // of a part
    const std::int64_t count = share.length * rows, first = begin + share.index * rows;
    std::vector<CustomOutput> outputs;
    for (const CustomOutput& part : item_) {
      Shape shape{count};
      for (const std::int64_t extent : part.shape) shape.append(extent);
      outputs.push_back({.shape = shape, .dtype = part.dtype});
    }
    return source_many(
        "batch", outputs,
        [data = data_, collate = collate_, order = order_, first, count, seed = options_.seed,
         epoch = epoch_](const CustomCall& call) {
          std::vector<Item> items;
          items.reserve(static_cast<std::size_t>(count));
          for (std::int64_t i = first; i < first + count; ++i) {
            const std::int64_t index = order == nullptr ? i : (*order)[static_cast<std::size_t>(i)];
            const auto size = static_cast<std::int64_t>(data->size());
            if (index >= size) {
              throw std::out_of_range("item " + std::to_string(index) + " of the epoch is gone: the data set has " +
                                      std::to_string(size) + " items now");
            }
            items.push_back(batches_detail::item_of(*data, index, Random(seed, epoch, index)));
          }
          (*collate)(items, call);
        },
        Device(), where);
  }

  std::shared_ptr<const Data> data_;
  std::vector<CustomOutput> (*first_item_)(const Data& data, std::uint64_t seed) = nullptr;
  std::vector<CustomOutput> item_;  // empty until there is an item
  std::shared_ptr<const Collate> collate_;
  BatchOptions options_;
  std::int64_t epoch_ = 0, batch_ = 0;                      // of the batch that comes next
  std::int64_t epoch_queued_ = -1, first_queued_ = 0;       // of the first that is queued
  std::int64_t items_ = 0;                                  // of the epoch `epoch_queued_`, when it began
  std::vector<std::vector<Tensor>> queued_;                 // few, so no std::deque, which would be dear to compile
  std::shared_ptr<const std::vector<std::int64_t>> order_;  // of the epoch; null: that of the data
};

}  // namespace asyncgrad::data
