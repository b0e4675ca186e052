// How many threads compute at once. Internal.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace asyncgrad::detail {

// A thread computes on a seat. Beside the taken seats this counts threads that do something long, and holds two
// promises, which the next thread that ends its work has to keep:
//
//   denied   a thread found work and no seat: the next one that gives up its seat wakes another
//   left     a tiny operation became ready and no thread was woken for it: a thread computes something short and looks
//            for more when it is done. If that thread begins something long or gives up its seat, it wakes another
//
// Thread safety: any thread may call any function. All of it is one word, sequentially consistent: "make work visible,
// then leave it" and "give up the seat, then keep the promise" are store-then-load pairs.
class Seats {
 public:
  // Called while no thread computes.
  void reset(int seats) {
    seats_ = seats;
    word_.store(0, std::memory_order_seq_cst);
  }
  int count() const { return seats_; }
  int taken() const { return State::of(load()).taken; }
  // How many threads compute something short, or are about to look for more.
  int brief() const { return State::of(load()).brief(); }

  bool take() {
    return change([this](State& state) { return state.taken < seats(state) && ++state.taken > 0; });
  }
  // There is one seat more, for a thread that computes something brief. It takes no other thread's seat.
  bool take_extra() {
    return change([](State& state) { return !std::exchange(state.has_extra, true) && ++state.taken > 0; });
  }
  // Called when a thread without a seat has found work. True if there is a seat by now.
  bool take_or_be_denied() {
    bool has_taken = false;
    change([this, &has_taken](State& state) {
      has_taken = state.taken < seats(state);
      has_taken ? static_cast<void>(++state.taken) : static_cast<void>(state.is_denied = true);
      return true;
    });
    return has_taken;
  }
  // True if the caller has to wake another thread. `extra`: the caller's seat is the one of take_extra().
  bool give(bool extra = false) {
    bool wakes = false;
    change([&wakes, extra](State& state) {
      --state.taken;
      state.has_extra = state.has_extra && !extra;
      // Passes the work that was left to this thread on to another thread that computes something short, if there is
      // one.
      const bool leaves_on = state.is_left && state.brief() > 0;
      wakes = state.is_denied || (state.is_left && !leaves_on);
      state.is_denied = false;
      state.is_left = leaves_on;
      return true;
    });
    return wakes;
  }

  // Called around work that takes longer than waking a thread, by a thread that has a seat. True: as for give().
  bool begin_long() {
    bool wakes = false;
    change([&wakes](State& state) {
      ++state.in_long;
      const bool leaves_on = state.is_left && state.brief() > 0;
      wakes = state.is_left && !leaves_on;
      state.is_left = leaves_on;
      return true;
    });
    return wakes;
  }
  void end_long() {
    change([](State& state) { return --state.in_long, true; });
  }
  // Called when several tiny operations became ready and one thread is about to be woken: the others are left to it.
  void leave_rest() {
    change([](State& state) { return !std::exchange(state.is_left, true); });
  }
  // Called when a tiny operation became ready. True if no thread need be woken, because one computes something short.
  bool leave() {
    const State seen = State::of(load());
    if (seen.is_left && seen.brief() > 0) return true;
    return change([](State& state) {
      if (state.brief() == 0) return false;
      state.is_left = true;
      return true;
    });
  }

 private:
  struct State {
    std::uint16_t taken = 0, in_long = 0;
    bool is_denied = false, is_left = false, has_extra = false;

    int brief() const { return taken - in_long; }
    std::uint64_t word() const {
      return std::uint64_t{taken} | std::uint64_t{in_long} << 16 | std::uint64_t{is_denied} << 32 |
             std::uint64_t{is_left} << 33 | std::uint64_t{has_extra} << 34;
    }
    static State of(std::uint64_t word) {
      return {static_cast<std::uint16_t>(word), static_cast<std::uint16_t>(word >> 16), (word >> 32 & 1) != 0,
              (word >> 33 & 1) != 0, (word >> 34 & 1) != 0};
    }
  };

  int seats(const State& state) const { return seats_ + (state.has_extra ? 1 : 0); }
  std::uint64_t load() const { return word_.load(std::memory_order_seq_cst); }
  // Makes the change that `changed` describes, in one step.
  template <class Changed>
  bool change(const Changed& changed) {
    std::uint64_t word = load();
    for (;;) {
      State state = State::of(word);
      if (!changed(state)) return false;
      if (word_.compare_exchange_weak(word, state.word(), std::memory_order_seq_cst)) return true;
    }
  }

  int seats_ = 0;
  alignas(128) std::atomic<std::uint64_t> word_{0};
};

}  // namespace asyncgrad::detail
