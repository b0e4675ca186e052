#include "asyncgrad/core/engine/threads/status.h"

#include <unistd.h>

#include "asyncgrad/core/sync/malloc_room.h"
#include "asyncgrad/core/sync/mutex.h"

namespace asyncgrad::detail {

// A thread's place in the list: part of the thread, so that adding one takes no memory.
struct ThreadStatus::Entry {
  const char* name = nullptr;
  int system_id = 0;
  const std::atomic<std::uint64_t>* word = nullptr;
  Entry* next = nullptr;

  ~Entry();
};

class ThreadStatus::List {
 public:
  // It needs no destruction, because threads may outlive main, and no memory.
  static List& get() {
    static constinit List list;
    return list;
  }
  static Entry& own_entry() {
    thread_local Entry entry;
    return entry;
  }

  void add(Entry& entry) {
    const MutexLock lock(mutex_);
    entry.next = first_;
    first_ = &entry;
  }
  void remove(const Entry& entry) {
    const MutexLock lock(mutex_);
    for (Entry** place = &first_; *place != nullptr; place = &(*place)->next) {
      if (*place != &entry) continue;
      *place = entry.next;
      return;
    }
  }
  std::vector<Line> lines() {
    const MutexLock lock(mutex_);
    std::vector<Line> lines;
    for (const Entry* entry = first_; entry != nullptr; entry = entry->next) {
      const std::uint64_t word = entry->word->load(std::memory_order_relaxed);
      // A copy: a worker's name goes soon after it has left the list.
      lines.push_back({entry->name == nullptr ? "" : entry->name, entry->system_id,
                       static_cast<Doing>(word >> doing_shift), word & ((std::uint64_t{1} << doing_shift) - 1)});
    }
    return lines;
  }
  // The lock may belong to a thread that does not exist here.
  void forget_others(Entry& own) ASYNCGRAD_NO_THREAD_SAFETY_ANALYSIS {
    new (&mutex_) Mutex;
    own.next = nullptr;
    own.system_id = gettid();
    first_ = is_listed ? &own : nullptr;
  }

 private:
  Mutex mutex_;
  Entry* first_ ASYNCGRAD_GUARDED_BY(mutex_) = nullptr;
};

ThreadStatus::Entry::~Entry() {
  if (is_listed) List::get().remove(*this);
}

void ThreadStatus::add(const char* name) {
  if (!malloc_has_room()) return;  // for the end of its entry
  Entry& entry = List::own_entry();
  entry.name = name;
  entry.system_id = gettid();
  entry.word = &word;
  is_listed = true;
  List::get().add(entry);
}

std::vector<ThreadStatus::Line> ThreadStatus::all() { return List::get().lines(); }

void ThreadStatus::forget_other_threads() { List::get().forget_others(List::own_entry()); }

}  // namespace asyncgrad::detail
