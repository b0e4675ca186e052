// Devices: which there are, and which is the default one.
#include "conversion.h"
#include "module.h"

namespace asyncgrad::python {

namespace {

nb::list device_dicts() {
  nb::list dicts;
  for (const DeviceDescription& device : devices()) {
    nb::dict dict;
    dict["device"] = device.device.str();
    dict["name"] = device.name;
    dict["memory_bytes"] = device.memory_bytes;
    dict["capability"] = device.capability;
    dicts.append(dict);
  }
  return dicts;
}

}  // namespace

void bind_devices(nb::module_& m) {
  m.def(
      "devices", &device_dicts,
      "What tensors may be on, a dict for each part of the CPU and each GPU: device (\"cuda:0\"), name, memory_bytes, "
      "capability (90 for CUDA's 9.0).");
  m.def("why_no_gpu", &why_no_gpu, "The reason why devices() names no GPU, or \"\".");
  m.def(
      "free_bytes", [](nb::handle device) { return free_bytes(device_or_default(device)); },
      nb::arg("device") = nb::none(),
      "The memory that the driver, or for a CPU the system, could still give. It brings a GPU into use.");
  m.def(
      "set_default_device", [](nb::handle device) { set_default_device(device_from(device)); }, nb::arg("device"),
      "Where new tensors are made unless a call names a device.");
  m.def(
      "default_device", [] { return default_device().str(); }, "Where new tensors are made: \"cpu\".");
}

}  // namespace asyncgrad::python
