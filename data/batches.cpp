#include "asyncgrad/data/batches.h"

#include <fmt/format.h>

#include "asyncgrad/core/checks.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad::data::batches_detail {

void check(const BatchOptions& options) {
  constexpr const char* name = "Batches";
  check_at_least_one(name, "batch_size", options.batch_size);
  const Share share = options.share;
  if (share.count < 1 || share.index < 0 || share.index >= share.count) {
    throw_error(name, fmt::format("share must be one of count parts, numbered from 0, got index {} of {}", share.index,
                                  share.count));
  }
  if (share.length < 1 || share.length > share.count - share.index) {
    throw_error(name,
                fmt::format("share must have at least one part, and none beyond the last, got {} from index {} of {}",
                            share.length, share.index, share.count));
  }
  if (options.batch_size % share.count != 0) {
    throw_error(name, fmt::format("batch_size {} cannot be shared evenly by {}; it is that of all processes together",
                                  options.batch_size, share.count));
  }
  if (options.ahead < 0) throw_error(name, fmt::format("ahead must be at least 0, got {}", options.ahead));
}

void check_place(std::int64_t epoch, std::int64_t batch, std::int64_t batches) {
  if (batch <= batches) return;
  throw_error("Batches",
              fmt::format("the place is batch {} of epoch {}, which has {}; it was kept with another batch_size "
                          "or other data",
                          batch, epoch, batches));
}

void check_item(const char* operation, const char* beginning, std::int64_t index, std::int64_t count) {
  if (index >= 0 && index < count) return;
  throw_error(operation, fmt::format("{} item {} among {}, which are numbered from 0", beginning, index, count));
}

}  // namespace asyncgrad::data::batches_detail
