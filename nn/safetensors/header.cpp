#include "asyncgrad/nn/safetensors/header.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_set>
#include <utility>

namespace asyncgrad::nn::safetensors {

namespace {

using Json = nlohmann::json;

constexpr std::string_view metadata_name = "__metadata__";

// The bits of an element; 0 for a type that the format does not have.
std::uint64_t bits_of(std::string_view type) {
  constexpr std::pair<std::string_view, std::uint64_t> types[] = {
      {"BOOL", 8},    {"U8", 8},   {"I8", 8},   {"F8_E4M3", 8}, {"F8_E5M2", 8}, {"F8_E8M0", 8}, {"F4", 4},
      {"F6_E2M3", 6}, {"I16", 16}, {"U16", 16}, {"F16", 16},    {"BF16", 16},   {"F6_E3M2", 6}, {"I32", 32},
      {"U32", 32},    {"F32", 32}, {"I64", 64}, {"U64", 64},    {"F64", 64},    {"C64", 64},
  };
  const auto* const found = std::ranges::find(types, type, [](const auto& entry) { return entry.first; });
  return found == std::end(types) ? 0 : found->second;
}

// A longer list is refused while it is read, so that a header of numbers cannot fill the memory. Tensors of this
// library have fewer axes. If a file's tensors have a few more, the error lists them.
constexpr std::size_t max_numbers = 64;

// Takes the events of the JSON parser, which itself needs one bit for each level of nesting. A header has three levels;
// a deeper one is refused as it begins.
class Parser final : public nlohmann::json_sax<Json> {
 public:
  explicit Parser(const detail::FileName& file) : file_(&file) {}

  Header take() { return std::move(header_); }

  bool null() override { refuse("null"); }
  bool boolean(bool) override { refuse("a truth value"); }
  bool number_integer(number_integer_t value) override { refuse(fmt::format("the number {}", value)); }
  bool number_float(number_float_t, const string_t& text) override { refuse("the number " + text.substr(0, 40)); }
  bool binary(binary_t&) override { refuse("binary data"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (place_ != Place::shape && place_ != Place::offsets) refuse(fmt::format("the number {}", value));
    if (numbers_.size() == max_numbers) refuse(fmt::format("more than {} numbers", max_numbers));
    numbers_.push_back(value);
    return true;
  }

  bool string(string_t& text) override {
    if (place_ == Place::metadata) {
      if (!header_.metadata.emplace(key_, text).second) fail(fmt::format("the metadata has {} twice", in_quotes(key_)));
    } else if (place_ == Place::tensor && key_ == "dtype" && !type_) {
      type_ = text;
    } else {
      refuse(in_quotes(text));
    }
    return true;
  }

  bool start_object(std::size_t) override {
    if (place_ == Place::outside) {
      place_ = Place::names;
    } else if (place_ == Place::names) {
      place_ = key_ == metadata_name ? Place::metadata : Place::tensor;
      type_.reset();
      extents_.reset();
      offsets_.reset();
    } else {
      refuse("an object");
    }
    return true;
  }

  bool key(string_t& text) override {
    key_ = text;
    if (place_ == Place::names) {
      name_ = text;
      if (!names_.insert(text).second) fail(fmt::format("has {} twice", in_quotes(text)));
    }
    return true;
  }

  bool end_object() override {
    if (place_ == Place::tensor) end_tensor();
    place_ = place_ == Place::names ? Place::outside : Place::names;
    return true;
  }

  bool start_array(std::size_t) override {
    if (place_ == Place::tensor && key_ == "shape" && !extents_) {
      place_ = Place::shape;
    } else if (place_ == Place::tensor && key_ == "data_offsets" && !offsets_) {
      place_ = Place::offsets;
    } else {
      refuse("an array");
    }
    numbers_.clear();
    return true;
  }

  bool end_array() override {
    if (place_ == Place::offsets && numbers_.size() != 2) refuse(fmt::format("{} numbers", numbers_.size()));
    (place_ == Place::shape ? extents_ : offsets_) = numbers_;
    place_ = Place::tensor;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    fail(fmt::format("is not JSON at byte {}", position));
  }

 private:
  enum class Place { outside, names, metadata, tensor, shape, offsets };

  [[noreturn]] void fail(const std::string& what) const { file_->fail("has a bad safetensors header, which " + what); }

  // Called for an event that does not belong there.
  [[noreturn]] void refuse(const std::string& what) const {
    switch (place_) {
      case Place::outside:
        fail("is no object, but " + what);
      case Place::names:
        fail(fmt::format("has {} for {} instead of an object", what, in_quotes(key_)));
      case Place::metadata:
        fail(fmt::format("has {} in the metadata for {} instead of a text", what, in_quotes(key_)));
      default:
        fail(fmt::format("has {} in the field {} of tensor {}, or that field twice", what, in_quotes(key_),
                         in_quotes(name_)));
    }
  }

  void end_tensor() {
    const std::string name = in_quotes(name_);
    if (!type_ || !extents_ || !offsets_) {
      fail(fmt::format("lacks the field {} of tensor {}",
                       !type_      ? "dtype"
                       : !extents_ ? "shape"
                                   : "data_offsets",
                       name));
    }
    TensorEntry entry{.name = name_, .type = *type_, .extents = *extents_};
    entry.begin_byte = (*offsets_)[0];
    entry.end_byte = (*offsets_)[1];
    if (entry.end_byte < entry.begin_byte) {
      fail(fmt::format("has tensor {} end at byte {} before it begins at {}", name, entry.end_byte, entry.begin_byte));
    }
    if (size_bytes(entry) != entry.end_byte - entry.begin_byte) {
      fail(fmt::format("gives tensor {}, {} {}, {} bytes", name, entry.type, entry.shape(),
                       entry.end_byte - entry.begin_byte));
    }
    header_.tensors.push_back(std::move(entry));
  }

  // The bytes that the shape wants.
  std::uint64_t size_bytes(const TensorEntry& entry) const {
    std::uint64_t bits = bits_of(entry.type);
    if (bits == 0)
      fail(fmt::format("has tensor {} of the unknown type {}", in_quotes(entry.name), in_quotes(entry.type)));
    // An extent of 0 makes a product 0 that would be too large without it.
    if (std::ranges::find(entry.extents, 0U) != entry.extents.end()) return 0;
    for (const std::uint64_t extent : entry.extents) {
      if (__builtin_mul_overflow(bits, extent, &bits)) {
        fail(fmt::format("has tensor {} of {} elements, more than 2^64 bits", in_quotes(entry.name), entry.shape()));
      }
    }
    if (bits % 8 != 0) fail(fmt::format("has tensor {} end within a byte", in_quotes(entry.name)));
    return bits / 8;
  }

  const detail::FileName* file_;
  Header header_;
  Place place_ = Place::outside;
  std::string key_, name_;
  std::unordered_set<std::string> names_;
  std::vector<std::uint64_t> numbers_;
  std::optional<std::string> type_;
  std::optional<std::vector<std::uint64_t>> extents_, offsets_;
};

// The tensors lie one behind the other, from the first byte to the last.
void check_places(const std::vector<TensorEntry>& tensors, std::uint64_t data_bytes, const detail::FileName& file) {
  std::uint64_t end_byte = 0;
  for (const TensorEntry& tensor : tensors) {
    if (tensor.begin_byte != end_byte) {
      file.fail(fmt::format("has a bad safetensors header: tensor {} begins at byte {}, and the one before ends at {}",
                            in_quotes(tensor.name), tensor.begin_byte, end_byte));
    }
    end_byte = tensor.end_byte;
  }
  if (end_byte != data_bytes) {
    file.fail(fmt::format("has {} bytes of values; its safetensors header wants {}", data_bytes, end_byte));
  }
}

std::string json_text(std::string_view text, const detail::FileName& file) {
  try {
    return Json(text).dump();
  } catch (const Json::type_error&) {
    file.fail(fmt::format("cannot hold the text {}, which is not UTF-8", in_quotes(text)));
  }
}

// The names of a file that is to be written.
void check_names(const std::vector<TensorEntry>& tensors, const detail::FileName& file) {
  std::unordered_set<std::string_view> names;
  for (const TensorEntry& tensor : tensors) {
    if (tensor.name == metadata_name) {
      file.fail(
          fmt::format("cannot hold a tensor of the name {}, which the format uses itself", in_quotes(tensor.name)));
    }
    if (!names.insert(tensor.name).second) {
      file.fail(fmt::format("cannot hold two tensors of the name {}", in_quotes(tensor.name)));
    }
  }
}

}  // namespace

std::string TensorEntry::shape() const {
  constexpr std::size_t max_axes = 10;  // in a message
  const auto end = extents.begin() + static_cast<std::ptrdiff_t>(std::min(extents.size(), max_axes));
  return fmt::format("({}{})", fmt::join(extents.begin(), end, ", "), extents.size() > max_axes ? ", …" : "");
}

Header parse_header(std::string_view text, std::uint64_t data_bytes, const detail::FileName& file) {
  if (!text.starts_with('{')) file.fail("is no safetensors file: its header does not begin with '{'");
  // The JSON parser would take a NUL for the end of the text.
  const std::size_t zero = text.find('\0');
  if (zero != std::string_view::npos) {
    file.fail(fmt::format("has a bad safetensors header, which has a zero at byte {}", zero));
  }
  Parser parser(file);
  Json::sax_parse(text.begin(), text.end(), &parser);
  Header header = parser.take();
  std::ranges::stable_sort(header.tensors, {},
                           [](const TensorEntry& tensor) { return std::pair(tensor.begin_byte, tensor.end_byte); });
  check_places(header.tensors, data_bytes, file);
  return header;
}

std::string header_text(const Header& header, const detail::FileName& file) {
  check_names(header.tensors, file);
  std::string text = "{";
  const auto separate = [&] { text += text.size() > 1 ? "," : ""; };
  if (!header.metadata.empty()) {
    text += fmt::format("\"{}\":{{", metadata_name);
    bool is_first = true;
    for (const auto& [key, value] : header.metadata) {
      text += fmt::format("{}{}:{}", is_first ? "" : ",", json_text(key, file), json_text(value, file));
      is_first = false;
    }
    text += '}';
  }
  for (const TensorEntry& tensor : header.tensors) {
    separate();
    text += fmt::format(R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})", json_text(tensor.name, file),
                        tensor.type, fmt::join(tensor.extents, ","), tensor.begin_byte, tensor.end_byte);
  }
  text += '}';
  text.append((length_bytes - text.size() % length_bytes) % length_bytes, ' ');
  if (text.size() > max_header_bytes) {
    file.fail(fmt::format("would need a header of {} bytes, more than {}", text.size(), max_header_bytes));
  }
  static_assert(std::endian::native == std::endian::little);
  const std::uint64_t size = text.size();
  std::string length(length_bytes, '\0');
  std::memcpy(length.data(), &size, length_bytes);
  return length + text;
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t max_bytes = 200;
  const std::string part(text.substr(0, max_bytes));
  return Json(part).dump(-1, ' ', true, Json::error_handler_t::replace) + (text.size() > max_bytes ? "…" : "");
}

}  // namespace asyncgrad::nn::safetensors
