#include "asyncgrad/backends/cpu/products/onednn.h"

#include <fmt/format.h>
#include <oneapi/dnnl/dnnl.h>
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <chrono>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>

#include "asyncgrad/core/backend/exit_order.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/sync/malloc_room.h"
#include "asyncgrad/core/sync/signals.h"

// These are functions of the libgomp that oneDNN loads. The compiler's own omp.h would name another runtime under
// clang. Both act on the calling thread alone. No other file uses OpenMP.
extern "C" {
void omp_set_num_threads(int count);
int omp_get_max_threads(void);
}

namespace asyncgrad::detail {

namespace {

// libgomp keeps a thread's number of threads in memory that it allocates at the thread's first call.
void make_room_for_libgomp() {
  constinit thread_local bool has_room = false;
  if (has_room) return;
  if (!malloc_has_room()) throw std::bad_alloc();
  has_room = true;
}

// While it lives, oneDNN computes on the calling thread alone: the engine's threads are the only pool there is.
class OneOpenMPThread {
 public:
  OneOpenMPThread() {
    if (previous_ == 1) return;
    make_room_for_libgomp();
    omp_set_num_threads(1);
  }
  OneOpenMPThread(const OneOpenMPThread&) = delete;
  OneOpenMPThread& operator=(const OneOpenMPThread&) = delete;
  ~OneOpenMPThread() {
    if (previous_ != 1) omp_set_num_threads(previous_);
  }

 private:
  int previous_ = omp_get_max_threads();
};

// Signals wait, because some of oneDNN's kernels point the stack pointer to other memory, and a handler would overwrite
// what lies below it.
dnnl_status_t sgemm(std::int64_t m, std::int64_t n, std::int64_t k, const MatrixView& x, const MatrixView& w,
                    const MatrixOut& out) {
  const OneOpenMPThread one_thread;
  const BlockedSignals blocked;
  return dnnl_sgemm(x.transposed ? 'T' : 'N', w.transposed ? 'T' : 'N', m, n, k, 1.0F, x.data, x.row_stride, w.data,
                    w.row_stride, out.accumulate ? 1.0F : 0.0F, out.data, out.row_stride);
}

// Throws std::bad_alloc if the system would refuse so many bytes now.
void require_memory(std::size_t size_bytes) {
  void* const memory = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  munmap(memory, size_bytes);
}

// While it lives, an exit on any thread waits for what the calling thread is making: tens of milliseconds of code,
// which static objects own that oneDNN registers, at moments of its own, to be destroyed first. So the engine's end is
// registered after them again and again. An exit between such a moment and the next registration still meets half-made
// kernels.
class HeldExit {
 public:
  HeldExit() {
    const BlockedSignals blocked;  // for the new thread, too
    try {
      thread_ = std::thread([this] { hold(); });
    } catch (const std::system_error&) {  // without a thread there is nothing to be done
    }
  }
  HeldExit(const HeldExit&) = delete;
  HeldExit& operator=(const HeldExit&) = delete;
  ~HeldExit() {
    is_over_.store(true, std::memory_order_relaxed);  // a flag alone: join() orders the rest
    if (thread_.joinable()) thread_.join();
  }

 private:
  void hold() noexcept {
    constexpr auto pause = std::chrono::microseconds(100);
    try {
      for (; !is_over_.load(std::memory_order_relaxed); std::this_thread::sleep_for(pause)) end_work_before_statics();
    } catch (const std::bad_alloc&) {  // the maker meets the same want when it is done
    }
  }

  std::atomic<bool> is_over_{false};
  std::thread thread_;
};

// Kernels that oneDNN makes all at once, at the first product that needs one of them. If it lacks memory meanwhile, all
// products that need them fail from then on, or are computed by other kernels with other bits. So they are made before
// the first product, after a check that there is enough memory.
//
// Thread safety: any thread may ask at any time. One thread makes them while others wait. This wait ends, because that
// thread waits for nothing.
class KernelSet {
 public:
  // The kernels for products with this number of rows, and with a w that is transposed or not.
  constexpr KernelSet(std::int64_t rows, bool transposed_w) : rows_(rows), transposed_w_(transposed_w) {}

  bool is_there() {
    const State state = state_.load(std::memory_order_acquire);  // acquire: the kernels are seen whole
    return state == State::unknown ? make() : state == State::made;
  }

 private:
  enum class State : std::uint8_t { unknown, made, refused };

  bool make() {
    constexpr std::size_t min_free_bytes = std::size_t{24} << 20;  // twice what the larger set takes
    // Signals wait meanwhile: a handler that ends the process would wait for the workers, and these for the lock.
    const BlockedSignals blocked;
    const std::lock_guard lock(mutex_);
    if (const State state = state_.load(std::memory_order_relaxed); state != State::unknown) {
      return state == State::made;
    }
    require_memory(min_free_bytes);
    const dnnl_status_t status = compute_example();
    if (status == dnnl_out_of_memory) throw std::bad_alloc();  // for the example: nothing that stays
    end_work_before_statics();                                 // the kernels are static objects
    // Release: a thread that sees the state sees the kernels.
    state_.store(status == dnnl_success ? State::made : State::refused, std::memory_order_release);
    return status == dnnl_success;
  }

  dnnl_status_t compute_example() const {
    const HeldExit held;
    constexpr std::int64_t edge = 32;
    std::array<float, edge * edge> x{}, w{}, out{};
    return sgemm(rows_, edge, edge, {x.data(), edge, false}, {w.data(), edge, transposed_w_},
                 {out.data(), edge, false});
  }

  const std::int64_t rows_;
  const bool transposed_w_;
  std::mutex mutex_;  // held while the kernels are made
  std::atomic<State> state_{State::unknown};
};

}  // namespace

bool has_onednn_kernels(std::int64_t m, bool transposed_w) {
  constexpr std::int64_t few_rows = 16;  // fewer, of a product with a transposed w, oneDNN computes by other kernels
  static constinit KernelSet common(32, false), for_few_rows(4, true);
  return common.is_there() && (m >= few_rows || !transposed_w || for_few_rows.is_there());
}

void onednn_product(std::int64_t m, std::int64_t n, std::int64_t k, const MatrixView& x, const MatrixView& w,
                    const MatrixOut& out) {
  const dnnl_status_t status = sgemm(m, n, k, x, w, out);
  if (status == dnnl_out_of_memory) throw std::bad_alloc();
  if (status != dnnl_success) {
    throw_error("matmul", fmt::format("oneDNN failed with status {} on ({}, {}) x ({}, {})", static_cast<int>(status),
                                      m, k, k, n));
  }
}

// Newer sets have more bits, for other types.
OnednnSet onednn_set() {
  const auto all = static_cast<std::uint32_t>(dnnl_get_effective_cpu_isa());
  for (const OnednnSet set : {OnednnSet::avx512, OnednnSet::avx2, OnednnSet::avx}) {
    const auto bits = static_cast<std::uint32_t>(set);
    if ((all & bits) == bits) return set;
  }
  return OnednnSet::sse41;
}
bool limit_onednn(OnednnSet most) { return dnnl_set_max_cpu_isa(static_cast<dnnl_cpu_isa_t>(most)) == dnnl_success; }

}  // namespace asyncgrad::detail
