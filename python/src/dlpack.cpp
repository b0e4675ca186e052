// Memory shared with other libraries by DLPack, version 0: https://dmlc.github.io/dlpack/latest/c_api.html

#include <array>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "array_checks.h"
#include "arrays.h"
#include "asyncgrad/autograd/pin_memory.h"
#include "asyncgrad/core/device_memory.h"
#include "asyncgrad/core/host_memory.h"
#include "call.h"
#include "conversion.h"
#include "errors.h"
#include "exports.h"
#include "module.h"
#include "python_object.h"
#include "tensor.h"

namespace asyncgrad::python {

namespace {

struct DLDevice {
  std::int32_t type, index;
};
struct DLDataType {
  std::uint8_t code, bits;
  std::uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  std::int32_t ndim;
  DLDataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;
  std::uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor tensor;
  void* context;
  void (*deleter)(DLManagedTensor*);
};
// The last is pinned memory of the CPU. Pinned tensors are given away as the CPU's, which every library takes.
constexpr std::int32_t dl_cpu = 1, dl_cuda = 2, dl_cuda_host = 3;

DLDevice dl_device(Device device) {
  return device.type == DeviceType::cpu ? DLDevice{dl_cpu, 0} : DLDevice{dl_cuda, device.index};
}

DLDataType dl_type(DType dtype) {
  const auto bits = static_cast<std::uint8_t>(8 * size_bytes(dtype));
  const std::uint8_t code = dtype == bfloat16    ? 4
                            : dtype == boolean   ? 6
                            : dtype == uint8     ? 1
                            : is_floating(dtype) ? 2
                                                 : 0;
  return {code, bits, 1};
}

nb::tuple dl_device_tuple(Device device) {
  const auto [type, index] = dl_device(device);
  return nb::make_tuple(type, index);
}

std::optional<DType> type_of(DLDataType type) {
  for (int i = 0; i < dtype_count; ++i) {
    const DLDataType row = dl_type(static_cast<DType>(i));
    if (row.code == type.code && row.bits == type.bits && type.lanes == 1) return static_cast<DType>(i);
  }
  return std::nullopt;
}

// "int8", "complex64", "code 10 with 8 bits".
std::string text_of(DLDataType type) {
  constexpr std::array<const char*, 7> kinds{"int", "uint", "float", "opaque", "bfloat", "complex", "bool"};
  const std::string bits = std::to_string(type.bits);
  const std::string element = type.code < kinds.size()
                                  ? kinds.at(type.code) + bits
                                  : "code " + std::to_string(type.code) + " with " + bits + " bits";
  return element + (type.lanes == 1 ? "" : " in " + std::to_string(type.lanes) + " lanes");
}

struct Exported {
  explicit Exported(Tensor tensor) : memory(tensor, address_in(tensor, device_data)) {}

  DLManagedTensor managed{};
  Export memory;
  std::vector<std::int64_t> shape, strides;

  // Called by whoever has the memory, who may have queued work on a GPU that still uses it, also where it is pinned. A
  // thread of its own waits for that: this one may hold the interpreter's lock, for which a callback of the GPU's work may
  // wait.
  static void end(DLManagedTensor* managed) {
    auto* const exported = static_cast<Exported*>(managed->context);
    const Tensor& tensor = exported->memory.tensor();
    if (tensor.device().type == DeviceType::cpu && !is_pinned(tensor)) return delete exported;
    try {
      std::thread([exported] { end_unused(exported); }).detach();
    } catch (const std::system_error&) {
      end_unused(exported);
    }
  }
  static void end_unused(Exported* exported) noexcept {
    const Device device = exported->memory.tensor().device();
    try {
      device.type == DeviceType::cpu ? detail::synchronize_gpus() : synchronize(device);
    } catch (const std::exception&) {  // the GPU has failed, and its memory is not used again
    }
    delete exported;
  }
};

nb::object exported(const Tensor& tensor) {
  auto kept = std::make_unique<Exported>(tensor);
  kept->strides = row_major_strides(tensor.shape(), 1);
  kept->shape.assign(tensor.shape().begin(), tensor.shape().end());
  kept->managed = {.tensor = {.data = kept->memory.data(),
                              .device = dl_device(tensor.device()),
                              .ndim = tensor.rank(),
                              .dtype = dl_type(tensor.dtype()),
                              .shape = kept->shape.data(),
                              .strides = kept->strides.data(),
                              .byte_offset = 0},
                   .context = kept.get(),
                   .deleter = Exported::end};
  // A capsule that no library has taken keeps its name, and owns its tensor.
  const auto destroy = [](PyObject* capsule) {
    if (PyCapsule_IsValid(capsule, "dltensor") == 0) return;
    auto* const managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
    managed->deleter(managed);
  };
  PyObject* const capsule = PyCapsule_New(&kept->managed, "dltensor", destroy);
  if (capsule == nullptr) throw nb::python_error();
  static_cast<void>(kept.release());
  return nb::steal(capsule);
}

bool is_row_major(const DLTensor& tensor, const Shape& shape) {
  if (tensor.strides == nullptr || shape.numel() == 0) return true;
  const std::vector<std::int64_t> strides = row_major_strides(shape, 1);
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] != 1 && tensor.strides[axis] != strides[static_cast<std::size_t>(axis)]) return false;
  }
  return true;
}

Tensor imported(nb::handle object) {
  if (is_tensor(object.ptr())) return tensor_in(object.ptr());
  if (!nb::hasattr(object, "__dlpack__")) throw_type_error("the object has no __dlpack__(): " + repr_of(object.type()));
  // A GPU's memory is handed over on the default stream, 1, which the copy follows.
  const bool is_on_gpu =
      nb::hasattr(object, "__dlpack_device__") && nb::cast<int>(object.attr("__dlpack_device__")()[0]) == dl_cuda;
  const nb::object capsule = is_on_gpu ? object.attr("__dlpack__")(nb::arg("stream") = 1) : object.attr("__dlpack__")();
  auto* const managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
  if (managed == nullptr) throw nb::python_error();
  const DLTensor& tensor = managed->tensor;
  const auto dtype = type_of(tensor.dtype);
  if (tensor.device.type != dl_cpu && tensor.device.type != dl_cuda && tensor.device.type != dl_cuda_host)
    throw_type_error("only memory of the CPU or of CUDA's GPUs is taken; copy the values to the CPU first");
  if (!dtype) {
    throw_type_error("a tensor cannot share elements of type " + text_of(tensor.dtype) +
                     "; convert them in the other library first");
  }
  const Shape shape(std::span<const std::int64_t>(tensor.shape, static_cast<std::size_t>(tensor.ndim)));
  if (!is_row_major(tensor, shape))
    throw_value_error("only arrays whose elements lie row by row can be shared; make a contiguous copy first");
  auto* const data = static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
  if (tensor.device.type == dl_cuda) {
    const Tensor copy = zeros(shape, {*dtype, Device(DeviceType::cuda, tensor.device.index)});
    address_in(copy, device_data);  // waits, and lets other threads of Python run
    const nb::gil_scoped_release released;
    copy_from_device_memory(copy, data);
    return copy;  // and the capsule ends the other's share
  }
  check_aligned(data, *dtype);
  if (const auto own = exported_tensor(data, *dtype, shape)) return *own;  // and the capsule ends the other's share
  check_truths(data, *dtype, shape);
  // Held as a Python object, whose end calls the other library on a thread of Python.
  const auto destroy = [](PyObject* kept) {
    auto* const taken = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(kept, "asyncgrad_dltensor"));
    if (taken != nullptr && taken->deleter != nullptr) taken->deleter(taken);
  };
  nb::object owner = nb::steal(PyCapsule_New(managed, "asyncgrad_dltensor", destroy));
  if (!owner.is_valid()) throw nb::python_error();
  PyCapsule_SetName(capsule.ptr(), "used_dltensor");  // from here on it has one owner, whatever fails
  const HeldObject held(nb::make_tuple(owner, kept_memory(object)));
  return from_host_memory(data, *dtype, shape, [held] {});
}

}  // namespace

void bind_dlpack(nb::module_& m, TensorClass& c) {
  m.def(
      "from_dlpack",
      [](nb::handle object) -> TensorObject { return nb::steal(new_object(imported(object), tensor_type)); },
      nb::arg("object"),
      "A tensor that shares the memory of an object with __dlpack__(); where it is on a GPU, a tensor of a copy "
      "there. Of memory that another tensor has given it shares that tensor's values, as from_numpy() does.");
  c.def(
      "__dlpack__",
      [](nb::handle self, const nb::kwargs& options) {
        const Tensor& tensor = tensor_in(self.ptr());
        const auto option = [&](const char* name) {
          return options.contains(name) ? nb::object(options[name]) : nb::none();
        };
        const Location where = here();
        const nb::object device = option("dl_device");
        if (!device.is_none() && !device.equal(dl_device_tuple(tensor.device()))) {
          if (!device.equal(dl_device_tuple(Device())) || option("copy").is(Py_False))
            throw nb::buffer_error("memory is shared where it is, or copied to the CPU");
          return exported(to(Arg(tensor, where), Device()));
        }
        if (!option("copy").is(Py_True)) return exported(tensor);
        return exported(clone(Arg(tensor, where)));
      },
      "Shares the memory with another library, or gives it a copy with copy=True. Waits for the values.");
  c.def("__dlpack_device__", [](nb::handle self) { return dl_device_tuple(tensor_in(self.ptr()).device()); });
}

}  // namespace asyncgrad::python
