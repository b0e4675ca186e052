// Tensors in pinned memory.
#include "asyncgrad/autograd/pin_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "asyncgrad/core/engine/submit.h"
#include "tests/backends/cuda/fake_gpus.h"
#include "tests/support/message_of.h"
#include "tests/support/sanitizer.h"

namespace asyncgrad::tests {
namespace {

using testing::HasSubstr;

constexpr std::int64_t large = (5 << 20) / 4 + 3;  // elements of more than two pages, and a part of one

// The engine's own copy: copy_() takes a tensor of the same device.
void copy_between_devices(const Tensor& to, const Tensor& from) {
  detail::submit(detail::Op::copy, {detail::writes(to), detail::reads(from)}, detail::NoAttributes{}, {});
}

class CudaPinned : public testing::Test {
 protected:
  ~CudaPinned() override {
    recover();
    trim_cache("cpu");
  }

  struct Copies {
    int direct, by_host;  // calls of CUDA for a copy, and copies that the host makes for it
    friend bool operator==(const Copies&, const Copies&) = default;
  };
  template <class Function>
  Copies copies_of(Function function) {
    wait_all();
    const auto before = gpus_.api().calls();
    const int host_functions = gpus_.api().host_functions();
    function().wait();
    wait_all();
    const auto count = [](const auto& calls) {
      const auto found = calls.find("copy_async");
      return found == calls.end() ? 0 : found->second;
    };
    return {count(gpus_.api().calls()) - count(before), gpus_.api().host_functions() - host_functions};
  }

  FakeGpus gpus_;
};

TEST_F(CudaPinned, IsCopiedWithoutTheHost) {
  const Tensor x = arange(0, 1000), pinned = pin_memory(x), on_gpu = x.to("cuda:0");
  EXPECT_EQ(copies_of([&] { return x.to("cuda:0"); }), (Copies{1, 1}));
  EXPECT_EQ(copies_of([&] { return pinned.to("cuda:0"); }), (Copies{1, 0}));
  EXPECT_EQ(copies_of([&] { return pinned.slice(3, 17).to("cuda:1"); }), (Copies{1, 0}));
  EXPECT_EQ(copies_of([&] { return pin_memory(on_gpu); }), (Copies{1, 0}));
  EXPECT_EQ(pinned.to("cuda:1").to_vector<float>(), x.to_vector<float>());
  EXPECT_EQ(pin_memory(on_gpu).to_vector<float>(), x.to_vector<float>());
  EXPECT_EQ(pinned.slice(3, 17).to("cuda:0").to_vector<float>(), x.slice(3, 17).to_vector<float>());
}

// A piece for each page that the copy touches.
TEST_F(CudaPinned, IsCopiedByPages) {
  const Tensor x = arange(0, large), pinned = pin_memory(x);
  Tensor on_gpu;
  EXPECT_EQ(copies_of([&] { return on_gpu = pinned.slice(1, large - 1).to("cuda:0"); }), (Copies{3, 0}));
  EXPECT_EQ(pin_memory(on_gpu).to_vector<float>(), x.slice(1, large - 1).to_vector<float>());
}

TEST_F(CudaPinned, SaysSo) {
  const Tensor x = ones({4, 3}), pinned = pin_memory(x);
  EXPECT_TRUE(is_pinned(pinned));
  EXPECT_TRUE(is_pinned(pinned.slice(1, 3)));
  EXPECT_TRUE(is_pinned(pinned.reshape({12})));
  EXPECT_EQ(pin_memory(pinned).impl(), pinned.impl());
  EXPECT_FALSE(is_pinned(x));
  EXPECT_FALSE(is_pinned(pinned + 1));
  EXPECT_FALSE(is_pinned(pinned.clone()));
  EXPECT_FALSE(is_pinned(pinned.to("cuda:0")));
  EXPECT_EQ(pinned.device(), Device());
  EXPECT_EQ(pin_memory(zeros({0, 3})).to("cuda:0").shape(), Shape({0, 3}));
  EXPECT_THAT(message_of([] { is_pinned(Tensor()); }), HasSubstr("[is_pinned] a tensor that holds nothing"));
}

// All operations take it, also in place, and the program writes it by itself.
TEST_F(CudaPinned, IsATensorOfTheCpu) {
  Tensor pinned = pin_memory(full({300}, 2));
  pinned += 1;
  EXPECT_EQ(sum(pinned * pinned).item(), 2700);
  host_values<float>(pinned)[0] = 5;
  EXPECT_EQ(pinned.to("cuda:0").to_vector<float>()[0], 5);
  pinned.copy_(full({300}, 7));
  EXPECT_EQ(pinned.to("cuda:0").to_vector<float>()[299], 7);
  const Tensor x = parameter(full({3}, 2));
  sum(square(pin_memory(x)).to("cuda:0")).backward();
  EXPECT_EQ(x.grad().to_vector<float>(), std::vector<float>(3, 4));
  const Tensor w = parameter(full({3}, 2, {.device = "cuda:1"}));
  sum(square(pin_memory(w))).backward();
  EXPECT_EQ(w.grad().to_vector<float>(), std::vector<float>(3, 4));
}

TEST_F(CudaPinned, IsCountedWithTheCpusMemory) {
  wait_all();
  trim_cache("cpu");
  const MemoryFigures before = memory_figures("cpu");
  std::optional<Tensor> pinned = pin_memory(full({large}, 1));
  pinned->wait();
  wait_all();
  const std::int64_t bytes = (4 * large + 63) / 64 * 64;
  EXPECT_EQ(memory_figures("cpu").live_bytes, before.live_bytes + bytes);
  EXPECT_EQ(memory_figures("cpu").serial_live_bytes, before.serial_live_bytes + bytes);
  EXPECT_GE(memory_figures("cpu").peak_live_bytes, before.live_bytes + bytes);
  EXPECT_EQ(gpus_.api().registered_bytes(), std::size_t{6} << 20);
  pinned.reset();
  EXPECT_EQ(memory_figures("cpu").live_bytes, before.live_bytes);
  EXPECT_GE(memory_figures("cpu").cached_bytes, std::int64_t{6} << 20);
  const auto calls = gpus_.api().calls()["register_host"];
  pin_memory(full({large}, 1)).wait();  // takes what is cached
  EXPECT_EQ(gpus_.api().calls()["register_host"], calls);
  trim_cache("cpu");
  EXPECT_EQ(gpus_.api().registered_bytes(), 0U);
  EXPECT_EQ(memory_figures("cpu").live_bytes, before.live_bytes);
}

// A block is written, or used again, when the copy that reads it has ended.
TEST_F(CudaPinned, OutlivesTheCopiesThatReadIt) {
  Tensor on_gpu = zeros({10}, {.device = "cuda:0"}), x = pin_memory(full({1000}, 1));
  x.wait();
  on_gpu.wait();
  gpus_.api().hold_kernels(true);
  on_gpu += 1;  // held, and the copy's memory is to be untouched before it
  const Tensor copied = x.to("cuda:0");
  Tensor written = pin_memory(full({1000}, 3));
  const Tensor copied_before = written.to("cuda:0");
  written.fill_(4);
  x = Tensor();
  const Tensor other = pin_memory(full({1000}, 2));
  other.wait();
  gpus_.api().hold_kernels(false);
  EXPECT_EQ(copied.to_vector<float>(), std::vector<float>(1000, 1));
  EXPECT_EQ(other.to_vector<float>(), std::vector<float>(1000, 2));
  EXPECT_EQ(copied_before.to_vector<float>(), std::vector<float>(1000, 3));
  EXPECT_EQ(written.to("cuda:0").to_vector<float>(), std::vector<float>(1000, 4));
}

TEST_F(CudaPinned, IsRefused) {
  gpus_.api().fail("register_host", 0, cudaErrorNotSupported);
  EXPECT_THAT(whole_message_of([] { pin_memory(full({1000}, 1)).wait(); }),
              testing::AllOf(HasSubstr("cuda:0: status 801"), testing::ContainsRegex("pinned_test\\.cpp:[0-9]+")));
  recover();
  EXPECT_EQ(sum(pin_memory(full({1000}, 1))).item(), 1000);
  gpus_.api().limit_registered(std::size_t{6} << 20);
  EXPECT_THAT(whole_message_of([] { pin_memory(full({large}, 1)).wait(); }),
              testing::AllOf(HasSubstr("out of memory: 5242944 bytes of pinned memory were asked for"),
                             testing::ContainsRegex("pinned_test\\.cpp:[0-9]+")));
  recover();
  EXPECT_EQ(gpus_.api().registered_bytes(), std::size_t{2} << 20);
  // What is cached is given back for other sizes.
  const std::int64_t page = (2 << 20) / 4;
  pin_memory(full({page}, 1)).wait();
  EXPECT_EQ(sum(pin_memory(full({2 * page}, 1))).item(), 2 * page);
}

// The system, or the state of the memory, and not the GPU: it goes on.
TEST_F(CudaPinned, IsRefusedByTheSystem) {
  for (const cudaError_t status :
       {cudaErrorOperatingSystem, cudaErrorHostMemoryAlreadyRegistered, cudaErrorHostMemoryNotRegistered}) {
    SCOPED_TRACE(status);
    const std::string told = "cuda:0: status " + std::to_string(status);
    gpus_.api().fail("register_host", 0, status);
    EXPECT_THAT(whole_message_of([] { pin_memory(full({large}, 1)).wait(); }), HasSubstr(told));
    recover();
    EXPECT_EQ(ones({3}, {.device = "cuda:0"}).to_vector<float>(), std::vector<float>(3, 1));
    pin_memory(full({large}, 1)).wait();
    wait_all();
    gpus_.api().fail("unregister_host", 0, status);
    trim_cache("cpu");
    EXPECT_EQ(ones({3}, {.device = "cuda:0"}).to_vector<float>(), std::vector<float>(3, 1));
    EXPECT_EQ(pin_memory(full({large}, 2)).to("cuda:0").to_vector<float>(),
              std::vector<float>(static_cast<std::size_t>(large), 2));
    wait_all();
    trim_cache("cpu");
  }
}

// Pages that stay pinned are there for the next tensor.
TEST_F(CudaPinned, MayStayPinned) {
  pin_memory(full({large}, 1)).wait();
  wait_all();
  gpus_.api().fail("unregister_host", 1, cudaErrorNotSupported);
  trim_cache("cpu");
  EXPECT_EQ(gpus_.api().registered_bytes(), std::size_t{2} << 20);
  const std::vector<float> twos(static_cast<std::size_t>(large), 2);
  EXPECT_EQ(pin_memory(full({large}, 2)).to("cuda:0").to_vector<float>(), twos);
  wait_all();
  trim_cache("cpu");
  EXPECT_EQ(gpus_.api().registered_bytes(), 0U);

  gpus_.api().limit_registered(std::size_t{4} << 20);
  gpus_.api().fail("unregister_host", 0, cudaErrorNotSupported);
  EXPECT_THAT(whole_message_of([] { pin_memory(full({large}, 1)).wait(); }), HasSubstr("out of memory"));
  recover();
  EXPECT_EQ(gpus_.api().registered_bytes(), 0U);  // the next try found the page that stayed pinned
  gpus_.api().limit_registered(SIZE_MAX);
  EXPECT_EQ(pin_memory(full({large}, 2)).to("cuda:0").to_vector<float>(), twos);
}

// What a lost GPU may still write to is not used again.
TEST_F(CudaPinned, IsLeftToALostGpu) {
  const Tensor on_gpu = ones({1000}, {.device = "cuda:0"}), before = pin_memory(full({10}, 3));
  on_gpu.wait();
  before.wait();
  wait_all();
  const std::int64_t live = memory_figures("cpu").live_bytes;
  gpus_.api().fail("copy_async", 0, cudaErrorIllegalAddress, true);
  EXPECT_THAT(message_of([&] { pin_memory(on_gpu).wait(); }), HasSubstr("the device has failed"));
  recover();
  EXPECT_GE(memory_figures("cpu").live_bytes, live + 4000);
  EXPECT_EQ(before.to_vector<float>(), std::vector<float>(10, 3));
}

// But what it was never given to write is.
TEST_F(CudaPinned, IsFreeOfCopiesThatALostGpuDidNotBegin) {
  const Tensor on_gpu = ones({1000}, {.device = "cuda:0"});
  std::optional<Tensor> written = pin_memory(full({1000}, 3));
  on_gpu.wait();
  written->wait();
  gpus_.api().fail("copy_async", 0, cudaErrorIllegalAddress, true);
  EXPECT_THAT(message_of([&] { pin_memory(on_gpu).wait(); }), HasSubstr("the device has failed"));
  recover();
  wait_all();
  const std::int64_t live = memory_figures("cpu").live_bytes;
  copy_between_devices(*written, on_gpu);
  EXPECT_THAT(message_of([&] { written->wait(); }), HasSubstr("the device has failed"));
  recover();
  wait_all();
  written.reset();
  EXPECT_EQ(memory_figures("cpu").live_bytes, live - 4032);
}

// Nor is a tensor whose memory another one shares.
TEST_F(CudaPinned, IsLeftToALostGpuThatWritesItAsMemoryOfTheProgram) {
  const Tensor on_gpu = ones({1000}, {.device = "cuda:0"});
  const auto pinned = std::make_shared<Tensor>(pin_memory(full({1000}, 3)));
  on_gpu.wait();
  Tensor shared = from_host_memory(static_cast<float*>(host_data(*pinned)), {1000}, pinned);
  const std::weak_ptr<const Tensor> owner = pinned;
  gpus_.api().fail("copy_async", 0, cudaErrorIllegalAddress, true);
  copy_between_devices(shared, on_gpu);
  EXPECT_THAT(message_of([&] { shared.wait(); }), HasSubstr("the device has failed"));
  recover();
  const auto owners = owner.use_count();
  shared = Tensor();
  EXPECT_EQ(owner.use_count(), owners);
}

TEST_F(CudaPinned, IsPinnedByAGpuThatGoesOn) {
  const Tensor first = ones({1000}, {.device = "cuda:0"}), second = ones({1000}, {.device = "cuda:1"});
  first.wait();
  second.wait();
  gpus_.api().fail("copy_async", 0, cudaErrorIllegalAddress);
  EXPECT_THAT(message_of([&] { first.to("cpu").wait(); }), HasSubstr("the device has failed"));
  recover();
  EXPECT_EQ(pin_memory(full({large}, 2)).to("cuda:1").to_vector<float>(),
            std::vector<float>(static_cast<std::size_t>(large), 2));
  wait_all();
  trim_cache("cpu");
  EXPECT_EQ(gpus_.api().registered_bytes(), 0U);  // a GPU that has failed would keep it
}

TEST_F(CudaPinned, IsThereInTheChildOfAFork) {
  if (looks_for_races) GTEST_SKIP() << "the thread sanitizer allows no new threads in the child";
  if (hangs_in_child != nullptr) GTEST_SKIP() << hangs_in_child;
  Tensor x = pin_memory(full({large}, 3));
  x.wait();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(60);  // ends a child that hangs
    _exit(sum(x.slice(0, 100)).item() == 300 ? 0 : 1);
  }
  x += 1;
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(x.to("cuda:0").to_vector<float>(), std::vector<float>(static_cast<std::size_t>(large), 4));
}

}  // namespace
}  // namespace asyncgrad::tests
