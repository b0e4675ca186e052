// The header of a file in the format safetensors: which tensors the file has, and where. Internal.
//
// The format (https://github.com/huggingface/safetensors, "Format"): the header's length as 8 bytes, little endian; the
// header, which is JSON; then the values of all tensors without a gap, little endian, row major:
//   {"__metadata__": {"format": "pt"}, "0.weight": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "asyncgrad/core/file/file_name.h"

namespace asyncgrad::nn::safetensors {

using Metadata = std::map<std::string, std::string>;

struct TensorEntry {
  std::string name;
  std::string type;                            // "F32"; one of the format's, for which this library may have no DType
  std::vector<std::uint64_t> extents;          // their product fits
  std::uint64_t begin_byte = 0, end_byte = 0;  // counted from the end of the header

  std::string shape() const;  // "(2, 3)"
};

struct Header {
  std::vector<TensorEntry> tensors;  // in the order of their values
  Metadata metadata;
};

constexpr std::size_t length_bytes = 8;
constexpr std::uint64_t max_header_bytes = 100'000'000;  // of the format's own library, too

// The header that stands in `text`, in a file with `data_bytes` of values. Trusts nothing: throws Error, in the name of
// `file`, unless the header is valid and describes each of these bytes once.
Header parse_header(std::string_view text, std::uint64_t data_bytes, const detail::FileName& file);

// The length and the header, as they stand in a file, padded so that the values begin at a multiple of 8 bytes. Throws
// Error, in the name of `file`, for a text that is not UTF-8, two tensors of one name, the name "__metadata__", and for
// a header that would be too long.
std::string header_text(const Header& header, const detail::FileName& file);

// An untrusted text for messages: in quotes, cut if it is long, and with control characters escaped.
std::string in_quotes(std::string_view text);

}  // namespace asyncgrad::nn::safetensors
