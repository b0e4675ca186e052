// "cuda:0": in gpu_tests a real one, in cuda_tests an emulated one.
#pragma once

#include <gtest/gtest.h>

#include <memory>

namespace asyncgrad::tests {

// It is there while the object lives. There may be one such object at a time.
class FirstGpu {
 public:
  // `values_at_page_ends`: of an emulated one, see MemorySource; a real one has them there if gpu_check.sh says so.
  explicit FirstGpu(bool values_at_page_ends = false);

  // Why there is none; empty if there is one.
  const std::string& missing() const { return missing_; }

 private:
  std::string missing_;
  std::shared_ptr<void> gpus_;
};

// A test that is skipped where there is no GPU.
class OnFirstGpu : public testing::Test {
 protected:
  explicit OnFirstGpu(bool values_at_page_ends = false) : gpu_(values_at_page_ends) {}
  void SetUp() override {
    if (!gpu_.missing().empty()) GTEST_SKIP() << gpu_.missing();
  }

 private:
  FirstGpu gpu_;
};

}  // namespace asyncgrad::tests
