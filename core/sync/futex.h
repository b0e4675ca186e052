// Sleeping on a word of memory. Internal.
#pragma once

#include <atomic>
#include <cstdint>

namespace asyncgrad::detail {

// Sleep until `word` is no longer `value`, or for no reason; wake whoever sleeps on it. `wait_on` compares in the
// kernel after a full barrier, so a store to `word` followed by `wake` is never missed.
void wait_on(const std::atomic<std::uint32_t>& word, std::uint32_t value);
void wake(const std::atomic<std::uint32_t>& word);

}  // namespace asyncgrad::detail
