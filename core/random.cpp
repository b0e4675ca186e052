#include "asyncgrad/core/random.h"

#include <thread>

#include "asyncgrad/core/error.h"

namespace asyncgrad {

Generator& default_generator() {
  static Generator generator;
  static const std::thread::id owner = std::this_thread::get_id();
  if (std::this_thread::get_id() != owner) {
    throw_error("random", "the default generator belongs to the first thread; pass a Generator of this thread's own");
  }
  return generator;
}

void manual_seed(std::uint64_t seed) { default_generator() = Generator(seed); }

}  // namespace asyncgrad
