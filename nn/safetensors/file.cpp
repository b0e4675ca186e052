#include "asyncgrad/nn/safetensors/file.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <system_error>

#include "asyncgrad/autograd/own/sink.h"
#include "asyncgrad/core/file/whole_file.h"
#include "asyncgrad/core/sync/fork_locks.h"
#include "asyncgrad/core/sync/mutex.h"

namespace asyncgrad::nn::safetensors {

namespace {

static_assert(std::endian::native == std::endian::little, "the format's values are little endian");

// In the order of the format's own library: wide types first, so that every value is aligned.
std::vector<const NamedTensors::value_type*> in_order(const NamedTensors& tensors) {
  std::vector<const NamedTensors::value_type*> order;
  for (const auto& tensor : tensors) order.push_back(&tensor);
  std::ranges::stable_sort(order, std::greater<>(),
                           [](const auto* entry) { return size_bytes(entry->second.dtype()); });
  return order;
}

Header header_of(std::span<const NamedTensors::value_type* const> order, const Metadata& metadata) {
  Header header{.tensors = {}, .metadata = metadata};
  std::uint64_t end_byte = 0;
  for (const auto* entry : order) {
    const auto& [name, tensor] = *entry;
    const std::uint64_t begin_byte = end_byte;
    end_byte += static_cast<std::uint64_t>(tensor.numel()) * size_bytes(tensor.dtype());
    header.tensors.push_back({.name = name,
                              .type = type_name(tensor.dtype()),
                              .extents = {tensor.shape().begin(), tensor.shape().end()},
                              .begin_byte = begin_byte,
                              .end_byte = end_byte});
  }
  return header;
}

// A call that writes a file. Files of one path may be written at once; the one of the latest call stays.
class WriteCall {
 public:
  explicit WriteCall(const std::string& path) : path_(absolute(path)), key_(key_of(path_)) {
    const detail::MutexLock lock(mutex);
    Calls& calls = calls_of[key_];
    ++calls.under_way;
    number_ = ++calls.count;
  }
  WriteCall(const WriteCall&) = delete;
  WriteCall& operator=(const WriteCall&) = delete;
  ~WriteCall() {
    const detail::MutexLock lock(mutex);
    const auto calls = calls_of.find(key_);
    if (--calls->second.under_way == 0) calls_of.erase(calls);
  }

  // Absolute: the program may go to another folder before the file is written.
  std::string path() const { return path_.string(); }
  void commit(detail::WholeFile& file) const {
    file.finish();
    {
      const detail::MutexLock lock(mutex);  // which nobody holds while a disk is busy
      std::uint64_t& latest = calls_of[key_].latest;
      if (number_ < latest) return;
      file.put_in_place();
      latest = number_;
    }
    file.sync_folder();
  }

 private:
  struct Calls {
    std::uint64_t under_way = 0, count = 0, latest = 0;  // latest: the number of the last one that has committed
  };

  // A path that has no absolute form, such as "", stays: the system refuses it when the file is opened.
  static std::filesystem::path absolute(const std::filesystem::path& path) {
    std::error_code error;
    std::filesystem::path whole = std::filesystem::absolute(path, error);
    return error ? path : whole;
  }
  // The key of a path, which is the same for all of its spellings.
  static std::string key_of(const std::filesystem::path& path) {
    std::error_code error;
    const std::filesystem::path folder = std::filesystem::weakly_canonical(path.parent_path(), error);
    return error ? path.string() : (folder / path.filename()).string();
  }

  // Never destroyed, because files are written while the process ends.
  static detail::Mutex& made_mutex() {
    auto* const made = new detail::Mutex;
    detail::ForkLocks::add(*made, detail::ForkLocks::Kind::inner);
    return *made;
  }
  static inline detail::Mutex& mutex = made_mutex();
  static inline std::map<std::string, Calls>& calls_of ASYNCGRAD_GUARDED_BY(mutex) = *new std::map<std::string, Calls>;

  std::filesystem::path path_;
  std::string key_;
  std::uint64_t number_ = 0;
};

// The number that the 16 bits of IEEE's half precision stand for.
float float_of_half(std::uint16_t bits) {
  constexpr std::uint32_t max_exponent = 31;
  const std::uint32_t sign = std::uint32_t{bits} >> 15 << 31, exponent = bits >> 10 & 31U, fraction = bits & 1023U;
  if (exponent == max_exponent) return std::bit_cast<float>(sign | 0x7F800000U | fraction << 13);  // infinite, or NaN
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
  const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
  return sign == 0 ? magnitude : -magnitude;
}

// Converts elements that are stored as `From` by convert().
template <class From, auto convert>
std::vector<std::byte> widened(std::span<const std::byte> values) {
  using To = decltype(convert(From{}));
  const std::size_t count = values.size() / sizeof(From);
  std::vector<std::byte> wide(count * sizeof(To));
  for (std::size_t i = 0; i < count; ++i) {
    From element;
    std::memcpy(&element, values.data() + i * sizeof(From), sizeof(From));
    const To number = convert(element);
    std::memcpy(wide.data() + i * sizeof(To), &number, sizeof(To));
  }
  return wide;
}
std::int64_t integer(std::int64_t number) { return number; }

// An element type of files that tensors lack, and the tensors' type that has all of its values.
struct Widening {
  std::string_view type;
  DType held;
  std::vector<std::byte> (*widen)(std::span<const std::byte> values);
};
constexpr Widening widenings[] = {{"F16", float32, widened<std::uint16_t, float_of_half>},
                                  {"I8", int64, widened<std::int8_t, integer>},
                                  {"I16", int64, widened<std::int16_t, integer>},
                                  {"U16", int64, widened<std::uint16_t, integer>},
                                  {"U32", int64, widened<std::uint32_t, integer>}};

const Widening* widening_of(std::string_view type) {
  const auto* const found = std::ranges::find(widenings, type, &Widening::type);
  return found == std::end(widenings) ? nullptr : found;
}

}  // namespace

namespace {

// Files that are taken for ours, and how Python writes ours from what they hold.
struct OtherFormat {
  std::string_view begin, what, conversion;
};
constexpr OtherFormat other_formats[] = {
    {"PK\x03\x04", "a zip archive, such as a torch.save file",
     "safetensors.torch.save_file(torch.load(path), \"net.safetensors\")"},
    {"\x80\x02", "a pickle, such as an old torch.save file",
     "safetensors.torch.save_file(torch.load(path), \"net.safetensors\")"},
    {"\x80\x04", "a pickle", "safetensors.numpy.save_file(arrays, \"net.safetensors\")"},
    {"\x80\x05", "a pickle", "safetensors.numpy.save_file(arrays, \"net.safetensors\")"},
    {"\x93NUMPY", "an array of numpy.save",
     "safetensors.numpy.save_file({\"x\": numpy.load(path)}, \"net.safetensors\")"},
    {"\x89HDF", "an HDF5 file, such as one of Keras",
     "safetensors.numpy.save_file(arrays, \"net.safetensors\") with arrays of h5py"},
    {std::string_view("\x12\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16), "a file of MXNet's parameters",
     "safetensors.numpy.save_file({k: v.asnumpy() for k, v in mx.nd.load(path).items()}, \"net.safetensors\")"}};

}  // namespace

const char* type_name(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return "F32";
    case DType::float64:
      return "F64";
    case DType::int32:
      return "I32";
    case DType::uint8:
      return "U8";
    case DType::bfloat16:
      return "BF16";
    case DType::boolean:
      return "BOOL";
    case DType::int64:
      break;
  }
  return "I64";
}

std::optional<DType> held_type(std::string_view type) {
  for (int i = 0; i < dtype_count; ++i) {
    if (type == type_name(static_cast<DType>(i))) return static_cast<DType>(i);
  }
  const Widening* const widening = widening_of(type);
  return widening == nullptr ? std::nullopt : std::optional(widening->held);
}

std::vector<std::byte> bytes_of(const Tensor& tensor) {
  std::vector<std::byte> values(static_cast<std::size_t>(tensor.numel()) * size_bytes(tensor.dtype()));
  tensor.copy_to_host(values.data(), tensor.numel(), tensor.dtype(), "to_vector");
  return values;
}

Shape shape_of(const TensorEntry& entry) {
  Shape shape;
  for (const std::uint64_t extent : entry.extents) shape.append(static_cast<std::int64_t>(extent));
  return shape;
}

void write(const char* operation, const std::string& path, const NamedTensors& tensors, const Metadata& metadata) {
  const auto order = in_order(tensors);
  const WriteCall write_call(path);
  detail::WholeFile file(operation, path);
  const std::string text = header_text(header_of(order, metadata), file.name());
  file.write(text.data(), text.size());
  for (const auto* entry : order) {
    const std::vector<std::byte> values = bytes_of(entry->second);
    file.write(values.data(), values.size());
  }
  write_call.commit(file);
}

Tensor write_queued(const char* operation, const std::string& path, const NamedTensors& tensors,
                    const Metadata& metadata, Location where) {
  const auto order = in_order(tensors);
  const std::string text = header_text(header_of(order, metadata), detail::FileName{operation, path});
  std::vector<Tensor> values;
  for (const auto* entry : order) {
    const Tensor value = entry->second.detach();
    values.push_back(value.device() == Device() ? value.clone(where) : value.to(Device(), where));
  }
  const auto write_call = std::make_shared<WriteCall>(path);
  const auto save = [=, count = static_cast<int>(order.size())](const CustomCall& call) {
    detail::WholeFile file(operation, write_call->path());
    file.write(text.data(), text.size());
    std::size_t size_bytes = text.size();
    for (int i = 0; i < count; ++i) {
      detail::visit_dtype(call.input_dtype(i), [&]<class T>(T) {
        const std::span<const T> elements = call.input<T>(i);
        file.write(elements.data(), elements.size_bytes());
        size_bytes += elements.size_bytes();
      });
    }
    write_call->commit(file);
    call.output<std::int64_t>()[0] = static_cast<std::int64_t>(size_bytes);
  };
  return detail::sink(operation, values, save, where);
}

Reader::Reader(const char* operation, const std::string& path) : file_(operation, path) {
  check_format();
  if (file_.size_bytes() < length_bytes) {
    name().fail(fmt::format("is no safetensors file: it has {} bytes", file_.size_bytes()));
  }
  std::uint64_t size = 0;
  file_.read(0, &size, length_bytes);
  const std::uint64_t rest_bytes = file_.size_bytes() - length_bytes;
  if (size > rest_bytes || size > max_header_bytes) {
    name().fail(
        fmt::format("is no safetensors file: its header would have {} bytes, where {} are left, and the format "
                    "allows {}; nn::save and safetensors.save_file write such files",
                    size, rest_bytes, max_header_bytes));
  }
  std::string text(size, '\0');
  file_.read(length_bytes, text.data(), text.size());
  data_begin_byte_ = length_bytes + size;
  header_ = parse_header(text, rest_bytes - size, name());
}

// A file of another format is recognised by its first bytes, which might be the length of our header, too.
void Reader::check_format() const {
  char begin[2 * length_bytes] = {};
  file_.read(0, begin, static_cast<std::size_t>(std::min<std::uint64_t>(file_.size_bytes(), sizeof begin)));
  const std::string_view bytes(begin, sizeof begin);
  if (bytes[length_bytes] == '{') return;
  for (const OtherFormat& other : other_formats) {
    if (!bytes.starts_with(other.begin)) continue;
    name().fail(fmt::format("is {}, no safetensors file; in Python: {}", other.what, other.conversion));
  }
}

Tensor Reader::read(const TensorEntry& entry, Device device) const {
  const DType dtype = *held_type(entry.type);
  std::vector<std::byte> values(entry.end_byte - entry.begin_byte);
  file_.read(data_begin_byte_ + entry.begin_byte, values.data(), values.size());
  if (dtype == DType::boolean) {
    // A file may have any byte; a bool is 0 or 1.
    for (std::byte& value : values) value = std::byte{static_cast<unsigned char>(value == std::byte{0} ? 0 : 1)};
  }
  if (const Widening* const widening = widening_of(entry.type)) values = widening->widen(values);
  return Tensor::from_bytes(values.data(), values.size() / size_bytes(dtype), dtype, shape_of(entry), device,
                            Location::current());
}

}  // namespace asyncgrad::nn::safetensors
