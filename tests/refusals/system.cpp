#include "tests/refusals/system.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <string>

#include "tests/support/replaced_new.h"

namespace asyncgrad::refusals {
namespace {

std::atomic<unsigned> kinds{0};
std::atomic<std::int64_t> first{0}, past{0}, requests{0};
std::atomic<bool> has_first{false};
std::array<void*, 40> calls;
int call_count = 0;

bool is_refused(Kind kind) {
  if ((kinds.load(std::memory_order_acquire) & kind) == 0) return false;
  const std::int64_t number = requests.fetch_add(1);
  if (number < first.load() || number >= past.load()) return false;
  if (!has_first.exchange(true)) call_count = backtrace(calls.data(), static_cast<int>(calls.size()));
  return true;
}

constexpr std::int64_t step_bytes = 256 << 10, steps = 160;  // up to 40 MiB, of which all programs here need less

// A figure of this process, in bytes.
std::int64_t size_of(const std::string& name) {
  std::ifstream status("/proc/self/status");
  std::int64_t kibibytes = 0;
  for (std::string word; status >> word;) {
    if (word == name) status >> kibibytes;
  }
  return kibibytes << 10;
}

void set_limit(std::int64_t bytes) {
  const rlimit limit{static_cast<rlim_t>(bytes), RLIM_INFINITY};
  const unsigned wanted = kinds.load();
  if ((wanted & address_space) != 0) setrlimit(RLIMIT_AS, &limit);
  if ((wanted & data_space) != 0) setrlimit(RLIMIT_DATA, &limit);
}

}  // namespace

void refuse(const Refusal& refusal) {
  backtrace(calls.data(), 1);  // its own set-up takes memory
  requests = 0;
  first = refusal.first;
  past = refusal.count > INT64_MAX - refusal.first ? INT64_MAX : refusal.first + refusal.count;
  kinds.store(refusal.kinds, std::memory_order_release);
  if (!is_limit(refusal.kinds) || refusal.first == INT64_MAX) return;
  set_limit(size_of((refusal.kinds & address_space) != 0 ? "VmSize:" : "VmData:") + refusal.first * step_bytes);
}

std::int64_t give_again() {
  set_limit(static_cast<std::int64_t>(RLIM_INFINITY));
  return is_limit(kinds.exchange(0)) ? steps : requests.load();
}

void print_calls() {
  std::array<void*, 40> here;
  backtrace_symbols_fd(here.data(), backtrace(here.data(), static_cast<int>(here.size())), STDOUT_FILENO);
}

void print_first_refusal() { backtrace_symbols_fd(calls.data(), call_count, STDOUT_FILENO); }

}  // namespace asyncgrad::refusals

bool asyncgrad::tests::is_new_refused() noexcept {
  return asyncgrad::refusals::is_refused(asyncgrad::refusals::objects);
}

extern "C" {

void* mmap(void* address, std::size_t size, int protection, int flags, int file, off_t offset) noexcept {
  if (asyncgrad::refusals::is_refused(asyncgrad::refusals::memory)) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  // NOLINTNEXTLINE(performance-no-int-to-ptr): as the system's own does
  return reinterpret_cast<void*>(syscall(SYS_mmap, address, size, protection, flags, file, offset));
}

void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  return asyncgrad::refusals::is_refused(asyncgrad::refusals::memory) ? nullptr : memalign(alignment, size);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*function)(void*),
                   void* argument) noexcept {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  if (asyncgrad::refusals::is_refused(asyncgrad::refusals::threads)) return EAGAIN;
  return create(thread, attributes, function, argument);
}

}  // extern "C"
