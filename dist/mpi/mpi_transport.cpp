// The transport on MPI, compiled once for each family of MPI: see cmake/Mpi.cmake. A library of its own, which is loaded
// when it is needed, so that programs need no MPI. It knows nothing of asyncgrad but the interface.
#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <vector>

#include "asyncgrad/dist/transport.h"

namespace asyncgrad::dist {

namespace {

// The values of a rank are at most a few MiB.
int as_int(std::int64_t value) { return static_cast<int>(value); }

// MPI's own handler of errors ends all processes with a message, so that no call returns one.
class MpiTransport final : public Transport {
 public:
  explicit MpiTransport(bool ends_mpi) : ends_mpi_(ends_mpi) {
    MPI_Comm_dup(MPI_COMM_WORLD, &world_);
    MPI_Comm_set_errhandler(world_, MPI_ERRORS_ARE_FATAL);  // the program may have set another for MPI_COMM_WORLD
    MPI_Comm_rank(world_, &rank_);
    MPI_Comm_size(world_, &size_);
    const auto ranks = static_cast<std::size_t>(size_);
    requests_.reserve(2 * ranks);
    for (std::vector<int>* numbers : {&counts_, &places_, &own_counts_, &own_places_}) numbers->resize(ranks);
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  // A message to each other rank, rather than a collective of MPI, so that it is known who has not answered.
  void exchange(std::span<const std::byte> mine, std::span<std::byte> all) override {
    const std::size_t bytes = mine.size();
    is_exchange_ = true;
    requests_.clear();
    for (int other = 0; other < size_; ++other) {
      std::byte* const place = &all[static_cast<std::size_t>(other) * bytes];
      if (other == rank_) {
        for (std::size_t i = 0; i < bytes; ++i) place[i] = mine[i];
        requests_.push_back(MPI_REQUEST_NULL);
      } else {
        MPI_Irecv(place, as_int(static_cast<std::int64_t>(bytes)), MPI_BYTE, other, tag, world_,
                  &requests_.emplace_back());
      }
    }
    // What is sent lies in `all`, too, which stays until the call is over.
    const std::byte* const own = &all[static_cast<std::size_t>(rank_) * bytes];
    for (int other = 0; other < size_; ++other) {
      if (other == rank_) continue;
      MPI_Isend(own, as_int(static_cast<std::int64_t>(bytes)), MPI_BYTE, other, tag, world_, &requests_.emplace_back());
    }
  }

  void all_to_all(const std::byte* values, std::byte* received, const Slices& slices) override {
    set_slices(slices);
    const auto own = static_cast<std::size_t>(rank_);
    const int own_count = counts_[own];
    for (std::size_t other = 0; other < own_counts_.size(); ++other) {
      own_counts_[other] = other == own ? 0 : own_count;
      own_places_[other] = own_count * static_cast<int>(other < own ? other : other - 1);
    }
    own_places_[own] = counts_[own] = 0;
    is_exchange_ = false;
    requests_.clear();
    MPI_Ialltoallv(values, counts_.data(), places_.data(), MPI_BYTE, received, own_counts_.data(), own_places_.data(),
                   MPI_BYTE, world_, &requests_.emplace_back());
  }

  void all_gather(std::byte* values, const Slices& slices) override {
    set_slices(slices);
    is_exchange_ = false;
    requests_.clear();
    MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, values, counts_.data(), places_.data(), MPI_BYTE, world_,
                    &requests_.emplace_back());
  }

  bool done() override {
    int is_done = 0;
    MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &is_done, MPI_STATUSES_IGNORE);
    return is_done != 0;
  }

  std::vector<int> silent() override {
    std::vector<int> ranks;
    for (int other = 0; other < size_; ++other) {
      int has_answered = 0;
      if (other == rank_) continue;
      if (is_exchange_) MPI_Test(&requests_[static_cast<std::size_t>(other)], &has_answered, MPI_STATUS_IGNORE);
      if (has_answered == 0) ranks.push_back(other);
    }
    return ranks;
  }

  bool has_ended() override {
    int is_finalised = 0;
    MPI_Finalized(&is_finalised);
    return is_finalised != 0;
  }
  void end() override {
    MPI_Comm_free(&world_);
    if (ends_mpi_) MPI_Finalize();
  }
  void abort() noexcept override { MPI_Abort(MPI_COMM_WORLD, 1); }

 private:
  static constexpr int tag = 1;

  void set_slices(const Slices& slices) {
    for (std::size_t rank = 0; rank < counts_.size(); ++rank) {
      counts_[rank] = as_int(slices[rank + 1] - slices[rank]);
      places_[rank] = as_int(slices[rank]);
    }
  }

  const bool ends_mpi_;
  MPI_Comm world_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  bool is_exchange_ = false;  // the call under way: its first requests are what is received, by rank
  std::vector<MPI_Request> requests_;
  std::vector<int> counts_, places_, own_counts_, own_places_;
};

}  // namespace

// Called by the thread that will use the transport. Null: `refusal` says why.
extern "C" Transport* asyncgrad_make_transport(const char** refusal) {
  int is_initialised = 0, provided = MPI_THREAD_SINGLE;
  MPI_Initialized(&is_initialised);
  if (is_initialised != 0) {
    MPI_Query_thread(&provided);
    if (provided < MPI_THREAD_MULTIPLE) {  // a thread of its own calls MPI here at any time
      *refusal =
          "the program has initialised MPI without MPI_THREAD_MULTIPLE; call world() first, or ask for that level: "
          "mpi4py.rc.thread_level = \"multiple\"";
      return nullptr;
    }
  } else {
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    if (provided < MPI_THREAD_FUNNELED) {
      *refusal = "it has no MPI_THREAD_FUNNELED";
      return nullptr;
    }
  }
  return new (std::nothrow) MpiTransport(is_initialised == 0);
}

}  // namespace asyncgrad::dist
