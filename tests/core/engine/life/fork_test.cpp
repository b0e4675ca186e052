// A fork while other threads of the program use the library.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "tests/support/forked.h"
#include "tests/support/sanitizer.h"
#include "tests/support/temporary_folder.h"

namespace asyncgrad::tests {
namespace {

void take_and_drop(std::int64_t size, int count) {
  std::vector<Tensor> tensors;
  for (int i = 0; i < count; ++i)
    tensors.push_back(Tensor::from(std::vector<float>(static_cast<std::size_t>(size)), {size}));
}
void enter_layers() {
  for (int i = 0; i < 1000; ++i) const LayerScope scope("layer " + std::to_string(i % 50));
}
void fail() {
  const Tensor bad = take(ones({1000, 3}), Tensor::from<std::int64_t>({1000}, {1}));
  try {
    bad.wait();
  } catch (const Error&) {
  }
}
void save_layer(const std::string& path) {
  Generator generator(1);
  nn::save(path, nn::Dense(2, 2, {.generator = &generator}));
}

// The child has none of the other threads, whatever they were doing: what they held must be free.
TEST(Fork, LeavesNoLockBehindThatAnotherThreadHeld) {
  if (no_threads_in_child != nullptr) GTEST_SKIP() << no_threads_in_child;
  if (hangs_in_child != nullptr) GTEST_SKIP() << hangs_in_child;
  const TemporaryFolder folder;
  const std::array<std::function<void()>, 5> uses = {[] { take_and_drop(4000, 50); }, [] { take_and_drop(1, 300); },
                                                     enter_layers, fail, [&] { save_layer(folder.file("saved")); }};
  for (const auto& use : uses) {
    std::atomic<bool> is_over{false};
    std::thread other([&] {
      while (!is_over) use();
    });
    for (int i = 0; i < 40; ++i) {
      const int status = status_of(fork_child([&] {
        for (const auto& each : uses) each();
        return true;
      }));
      EXPECT_EQ(status, 0) << "use " << &use - uses.data() << ", fork " << i;
      if (status != 0) break;
    }
    is_over = true;
    other.join();
  }
  recover();
}

}  // namespace
}  // namespace asyncgrad::tests
