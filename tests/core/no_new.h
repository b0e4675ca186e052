// Refuses memory to one thread.
#pragma once

namespace asyncgrad::tests {

// While it lives, operator new throws std::bad_alloc in the calling thread. If a noexcept function asks for memory
// then, the process ends.
class NoNew {
 public:
  NoNew();
  NoNew(const NoNew&) = delete;
  NoNew& operator=(const NoNew&) = delete;
  ~NoNew();
};

}  // namespace asyncgrad::tests
