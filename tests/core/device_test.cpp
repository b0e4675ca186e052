#include "asyncgrad/core/device.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <type_traits>

#include "asyncgrad/autograd/creation.h"
#include "asyncgrad/core/backend/backend.h"
#include "asyncgrad/core/devices.h"
#include "asyncgrad/core/engine.h"
#include "tests/support/message_of.h"

namespace asyncgrad {
namespace {

using tests::message_of;

TEST(Device, IsReadFromItsName) {
  EXPECT_EQ(Device("cpu"), Device(DeviceType::cpu));
  EXPECT_EQ(Device("cpu:0"), Device());
  EXPECT_EQ(Device("cuda"), Device(DeviceType::cuda));
  EXPECT_EQ(Device("cuda:12"), Device(DeviceType::cuda, 12));
  EXPECT_EQ(Device("cpu:1").str(), "cpu:1");
  EXPECT_EQ(Device("cpu:0").str(), "cpu");
  EXPECT_EQ(Device("cuda").str(), "cuda:0");
}

TEST(Device, HasAnIndexThatADeviceCanHave) {
  EXPECT_EQ(message_of([] { Device(DeviceType::cpu, 256); }), "[device] no device has the index 256");
  EXPECT_EQ(message_of([] { Device(DeviceType::cuda, -1); }), "[device] no device has the index -1");
  static_assert(!std::is_convertible_v<std::nullptr_t, Device>);
}

class BadDeviceName : public testing::TestWithParam<const char*> {};
TEST_P(BadDeviceName, IsRefused) {
  EXPECT_EQ(message_of([] { Device{GetParam()}; }),
            std::string("[device] no device is called '") + GetParam() + "': cpu, cpu:0, cuda, cuda:1 …");
}
INSTANTIATE_TEST_SUITE_P(Names, BadDeviceName,
                         testing::Values("", "gpu", "CPU", "cpu:", "cpu:x", "cpu:-1", "cpu:1x", "cpu: 1", "cuda:128",
                                         "cuda:99999999999", ":0", "cpu:0:0"));

TEST(Device, ThatIsNotThereIsRefusedAtTheCall) {
  const bool has_cuda = detail::make_backend(DeviceType::cuda) != nullptr;
  EXPECT_EQ(message_of([] { set_default_device("cuda:99"); }),
            std::string("[device] there is no cuda:99 here, only cpu; ") +
                (has_cuda ? "there are not so many GPUs" : "this library was built without CUDA"));
  EXPECT_EQ(message_of([] { set_default_device("cpu:7"); }),
            "[device] there is no cpu:7 here, only cpu; EngineOptions::cpu_parts makes several of the CPU");
  EXPECT_EQ(message_of([] { set_default_device(static_cast<DeviceType>(7)); }),
            "[device] there is no type of devices with the number 7");
  EXPECT_EQ(default_device(), Device());
  EXPECT_EQ(message_of([] { static_cast<void>(zeros({2}, {.device = "cpu:7"})); }),
            "[device] there is no cpu:7 here, only cpu; EngineOptions::cpu_parts makes several of the CPU");
}

TEST(Devices, NameThePartsOfTheCpuAndTheGpus) {
  set_engine_options({.cpu_parts = 2});
  const std::vector<DeviceDescription> known = devices();
  set_engine_options({});
  ASSERT_GE(known.size(), 2U);
  for (int part = 0; part < 2; ++part) {
    const DeviceDescription& cpu = known[static_cast<std::size_t>(part)];
    EXPECT_EQ(cpu.device, Device(DeviceType::cpu, part));
    EXPECT_FALSE(cpu.name.empty());
    EXPECT_GT(cpu.memory_bytes, 0);
    EXPECT_EQ(cpu.capability, 0);
  }
  EXPECT_EQ(known.size() == 2, !why_no_gpu().empty());
  EXPECT_GT(free_bytes(DeviceType::cpu), 0);
  EXPECT_LE(free_bytes(DeviceType::cpu), known[0].memory_bytes);
  EXPECT_TRUE(message_of([] { free_bytes({DeviceType::cpu, 7}); }).starts_with("[device] there is no cpu:7 here"));
}

}  // namespace
}  // namespace asyncgrad
