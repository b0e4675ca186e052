#include "asyncgrad/core/engine/admission/admission.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <thread>

namespace asyncgrad::detail {
namespace {

// The rule as admission.h states it, written plainly.
class AdmissionModel {
 public:
  explicit AdmissionModel(MemoryBudget budget) : budget_(budget) {}
  void queue(std::uint64_t number, std::int64_t serial) {
    serial_[number] = serial;
    largest_ = std::max(largest_, serial);
  }
  std::int64_t limit() const {
    if (budget_.is_automatic()) return largest_ + std::max(largest_ / 20, Admission::min_spare_bytes);
    return std::max(budget_.bytes(), largest_);
  }
  std::int64_t reserve() const { return std::min(limit() / 16, Admission::max_reserve_bytes); }
  std::int64_t early() const { return sum(early_) + sum(of_reserve_); }
  // What may be live while f runs.
  std::int64_t live_at(std::uint64_t f) const { return (serial_.contains(f) ? serial_.at(f) : 0) + early(); }
  bool admit(std::uint64_t number, std::int64_t bytes, std::uint64_t oldest, bool is_awaited) {
    if (bytes == 0 || number <= oldest) return true;
    std::int64_t serial = 0;
    for (std::uint64_t k = oldest; k < number; ++k) serial = std::max(serial, serial_[k]);
    const bool fits = serial + sum(early_) + bytes <= limit() - reserve();
    const bool fits_reserve = serial <= limit() - reserve() && sum(of_reserve_) + bytes <= reserve();
    if (!fits && !(is_awaited && fits_reserve)) return false;
    (fits ? early_ : of_reserve_)[number] += bytes;
    return true;
  }
  void give_back(std::uint64_t number, std::int64_t bytes) {
    for (std::map<std::uint64_t, std::int64_t>* part : {&of_reserve_, &early_}) {
      if (!part->contains(number)) continue;
      const std::int64_t of_part = std::min((*part)[number], bytes);
      (*part)[number] -= of_part;
      bytes -= of_part;
    }
  }
  void arrive(std::uint64_t number) {
    early_.erase(number);
    of_reserve_.erase(number);
  }

 private:
  static std::int64_t sum(const std::map<std::uint64_t, std::int64_t>& part) {
    std::int64_t sum = 0;
    for (const auto& [number, bytes] : part) sum += bytes;
    return sum;
  }

  MemoryBudget budget_;
  std::map<std::uint64_t, std::int64_t> serial_, early_, of_reserve_;
  std::int64_t largest_ = 0;
};

std::int64_t draw_bytes(std::mt19937_64& random) { return static_cast<std::int64_t>(random() % 20) * 64 * 1024; }

// Runs a queue of at most `slots` operations at random, side by side with the model.
void compare_with_model(MemoryBudget budget, std::uint64_t seed) {
  constexpr std::size_t slots = 64;
  Admission admission(slots);
  admission.start(budget, 0);
  AdmissionModel model(budget);
  std::mt19937_64 random(seed);
  std::atomic<std::uint64_t> oldest{1};
  std::uint64_t next = 1;
  std::vector<std::pair<std::uint64_t, std::int64_t>> taken;
  for (int step = 0; step < 5000; ++step) {
    const std::uint64_t f = oldest.load();
    switch (random() % 4) {
      case 0:
        if (next - f < slots) {
          const std::int64_t serial = 1280 + draw_bytes(random);
          admission.queue(next, serial);
          model.queue(next++, serial);
        }
        break;
      case 1:
        if (next > f) {
          const std::uint64_t number = f + random() % (next - f + 1);  // `next` is a result at the call
          const std::int64_t bytes = draw_bytes(random);
          const bool is_awaited = random() % 2 == 0;
          const bool may_fit = admission.may_fit(number, bytes, oldest);
          const bool admitted = admission.admit(number, bytes, oldest, 0, is_awaited);
          ASSERT_EQ(admitted, model.admit(number, bytes, f, is_awaited)) << "operation " << number << " after " << f;
          if (bytes > 0 && !is_awaited) {
            ASSERT_EQ(may_fit, admitted);
          }
          if (admitted) taken.emplace_back(number, bytes);
        }
        break;
      case 2:
        if (!taken.empty()) {
          const std::size_t i = random() % taken.size();
          admission.give_back(taken[i].first, taken[i].second);
          model.give_back(taken[i].first, taken[i].second);
          taken.erase(taken.begin() + static_cast<std::ptrdiff_t>(i));
        }
        break;
      default:
        if (next > f && random() % 2 == 0) {
          oldest.store(f + 1);
          admission.arrive(f + 1);
          model.arrive(f + 1);
        }
    }
    ASSERT_EQ(admission.early_bytes(), model.early());
    ASSERT_LE(model.live_at(oldest.load()), model.limit());
    ASSERT_EQ(admission.limit(), std::max<std::int64_t>(model.limit(), 0));
  }
}

TEST(Admission, FollowsTheRule) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    compare_with_model(MemoryBudget::automatic(), seed);
    compare_with_model(MemoryBudget::bytes(0), seed);
    compare_with_model(MemoryBudget::bytes(4'000'000), seed);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(Admission, LeavesTheReserveToWhatIsAwaited) {
  constexpr std::int64_t serial = 1 << 20, low = 1 << 10, reserve = Admission::max_reserve_bytes;
  Admission admission(64);
  const std::atomic<std::uint64_t> oldest{1};
  admission.queue(1, low);
  admission.queue(2, low);
  admission.queue(3, serial);
  admission.queue(4, serial);
  const std::int64_t before_the_peak = admission.limit() - reserve - low;
  EXPECT_TRUE(admission.admit(2, before_the_peak, oldest));  // which leaves no room for what comes after the peak
  EXPECT_FALSE(admission.admit(4, 64, oldest));
  EXPECT_FALSE(admission.admit(4, reserve + 64, oldest, 0, /*is_awaited=*/true));
  EXPECT_TRUE(admission.admit(4, reserve, oldest, 0, /*is_awaited=*/true));
  EXPECT_FALSE(admission.admit(4, 64, oldest, 0, /*is_awaited=*/true));
  EXPECT_EQ(admission.early_bytes(), before_the_peak + reserve);
  admission.give_back(4, reserve);
  EXPECT_TRUE(admission.admit(4, 64, oldest, 0, /*is_awaited=*/true));
}

TEST(Admission, UnboundedAdmitsAndCountsNothing) {
  Admission admission(64);
  admission.start(MemoryBudget::unbounded(), 0);
  const std::atomic<std::uint64_t> oldest{1};
  admission.queue(1, 64);
  admission.queue(2, std::int64_t{1} << 40);
  EXPECT_TRUE(admission.admit(2, std::int64_t{1} << 40, oldest));
  EXPECT_EQ(admission.early_bytes(), 0);
}

TEST(Admission, ALevelRaisedBesideTheQueueRaisesTheLimit) {
  Admission admission(64);
  EXPECT_TRUE(admission.raise_level(2000));
  EXPECT_EQ(admission.limit(), 2000 + Admission::min_spare_bytes);
  EXPECT_TRUE(admission.raise_level(20'000'000));
  EXPECT_FALSE(admission.raise_level(20'000'000));
  EXPECT_EQ(admission.limit(), 21'000'000);
  EXPECT_EQ(admission.serial_peak(), 20'000'000);
  admission.reset_serial_peak(100);
  EXPECT_EQ(admission.serial_peak(), 100);
  EXPECT_EQ(admission.limit(), 21'000'000);  // what was needed once may be needed again
}

// Sizes larger than a slot can count are refused ahead of their order, and corrupt nothing.
TEST(Admission, CountsTheLargestSizes) {
  constexpr std::int64_t huge = std::int64_t{1} << 40;
  Admission admission(64);
  std::atomic<std::uint64_t> oldest{1};
  admission.queue(1, 64);
  admission.queue(2, 3 * huge);
  EXPECT_FALSE(admission.admit(2, huge, oldest));
  EXPECT_TRUE(admission.admit(2, huge / 2, oldest));
  EXPECT_FALSE(admission.admit(2, huge / 2, oldest));
  oldest.store(2);
  admission.arrive(2);
  EXPECT_EQ(admission.early_bytes(), 0);
  EXPECT_TRUE(admission.admit(2, huge, oldest));
}

// Threads claim operations of a queue, take their memory, return it and finish them in any order, as workers do. `live`
// counts bytes as the allocator does.
TEST(Admission, HoldsItsLimitAmongThreads) {
  constexpr std::uint64_t count = 6000;
  constexpr std::int64_t bytes = 640, serial = 3 * bytes;  // of the limit, a reserve of two
  Admission admission(8192);
  admission.start(MemoryBudget::bytes(32 * bytes), 0);
  for (std::uint64_t number = 1; number <= count; ++number) admission.queue(number, serial);
  std::atomic<std::uint64_t> oldest{1};
  std::vector<std::atomic<int>> state(count + 2);  // 0: to be claimed, 1: claimed, 2: finished
  std::atomic<std::int64_t> live{0}, peak{0};

  const auto finish = [&](std::uint64_t number) {
    live -= bytes;
    admission.give_back(number, bytes);
    state[number] = 2;
    for (std::uint64_t f = oldest; f <= count && state[f] == 2; f = oldest) {
      if (oldest.compare_exchange_strong(f, f + 1)) admission.arrive(f + 1);
    }
  };
  const auto work = [&](unsigned seed) {
    std::mt19937 random(seed);
    while (oldest <= count) {
      const std::uint64_t number = std::min<std::uint64_t>(count, oldest + random() % 64);
      int unclaimed = 0;
      if (!state[number].compare_exchange_strong(unclaimed, 1)) continue;
      if (!admission.admit(number, bytes, oldest, 0, /*is_awaited=*/random() % 4 == 0)) {
        state[number] = 0;
        continue;
      }
      const std::int64_t now = live += bytes;
      for (std::int64_t before = peak; before < now && !peak.compare_exchange_weak(before, now);) {
      }
      if (random() % 4 == 0) std::this_thread::yield();
      finish(number);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 4; ++seed) threads.emplace_back(work, seed);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(admission.early_bytes(), 0);
  EXPECT_EQ(live.load(), 0);
  EXPECT_LE(peak.load(), admission.limit());
}

}  // namespace
}  // namespace asyncgrad::detail
