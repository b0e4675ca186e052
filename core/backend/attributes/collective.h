// The attributes of operations in which several processes take part. Internal.
#pragma once

#include <string_view>

namespace asyncgrad::detail {

struct KernelCall;

// What one process does in such an operation. The others wait for its part, so that it always takes part: either by
// run() or by miss(). Both may take long, and are called once, on one thread.
class Collective {
 public:
  Collective() = default;
  Collective(const Collective&) = delete;
  Collective& operator=(const Collective&) = delete;
  virtual ~Collective() = default;

  // Reads and writes the operands. What it throws is the operation's failure.
  virtual void run(const KernelCall& call) = 0;
  // Called in place of run() if the operation cannot run, for example because a value could not be computed: tells the
  // other processes why. The operands may have no memory.
  virtual void miss(std::string_view why) noexcept = 0;
};

struct CollectiveAttributes {
  Collective* part;
  const char* name;  // never freed
};

}  // namespace asyncgrad::detail
