// Parts of a data set.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "asyncgrad/core/call_site.h"
#include "asyncgrad/data/batches.h"

namespace asyncgrad::data {

// Items of a data set by their indices, in their order: a data set, too, for Batches. Its parts share the data. An item
// that is made anew in each epoch gets random numbers of its place in the subset. Several threads may read it at once,
// as far as they may read the data.
template <class Data>
class Subset {
 public:
  // Throws Error for an index that is not one of the data's.
  Subset(std::shared_ptr<const Data> data, std::vector<std::int64_t> indices, Location where = Location::current())
      : data_(std::move(data)), indices_(std::move(indices)) {
    const CallSite site(where);
    const auto count = static_cast<std::int64_t>(data_->size());
    for (const std::int64_t index : indices_) batches_detail::check_item("Subset", "there is no", index, count);
  }
  Subset(Data data, std::vector<std::int64_t> indices, Location where = Location::current())
      : Subset(std::make_shared<const Data>(std::move(data)), std::move(indices), where) {}

  std::int64_t size() const { return static_cast<std::int64_t>(indices_.size()); }
  decltype(auto) operator[](std::int64_t i) const requires Indexed<Data> { return (*data_)[index(i)]; }
  decltype(auto) item(std::int64_t i, Random& random) const requires Randomised<Data> {
    return data_->item(index(i), random);
  }

 private:
  std::int64_t index(std::int64_t i) const { return indices_.at(static_cast<std::size_t>(i)); }

  std::shared_ptr<const Data> data_;
  std::vector<std::int64_t> indices_;
};

// Parts of a data set that have the given shares of its items, as split_indices() does:
//
//   const auto parts = ag::data::split(digits, {0.8, 0.2}, {.seed = 1});
//   ag::data::Batches train(parts[0]), test(parts[1], {.shuffled = false});
template <class Data>
std::vector<Subset<Data>> split(Data data, const std::vector<double>& shares, SplitOptions options = {},
                                Location where = Location::current()) {
  const auto shared = std::make_shared<const Data>(std::move(data));
  std::vector<Subset<Data>> parts;
  for (std::vector<std::int64_t>& indices :
       split_indices(static_cast<std::int64_t>(shared->size()), shares, options, where)) {
    parts.emplace_back(shared, std::move(indices), where);
  }
  return parts;
}

}  // namespace asyncgrad::data
