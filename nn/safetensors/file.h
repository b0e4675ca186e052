// Files in the format safetensors. Internal.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "asyncgrad/core/file/input_file.h"
#include "asyncgrad/core/tensor.h"
#include "asyncgrad/nn/safetensors/header.h"

namespace asyncgrad::nn::safetensors {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

// The format's name of a type: "F32".
const char* type_name(DType dtype);

// The type of a tensor that holds elements of the file's `type` without loss: the same type, float32 for F16, and int64
// for I8, I16, U16 and U32. There is none for other types.
std::optional<DType> held_type(std::string_view type);

// The elements in row-major order. Waits until they are computed.
std::vector<std::byte> bytes_of(const Tensor& tensor);

// Writes the file, which appears whole or not at all. Waits until the values are computed. Throws Error in the name of
// `operation` if it cannot be written, and throws what made a value fail.
void write(const char* operation, const std::string& path, const NamedTensors& tensors, const Metadata& metadata);

// Queues the same: the file gets the values as they are after the operations queued so far. Queues a copy of each
// tensor, which is destroyed once the file is written, and returns the number of bytes, which is computed then. A wait
// for it throws what write() throws. May wait for room.
Tensor write_queued(const char* operation, const std::string& path, const NamedTensors& tensors,
                    const Metadata& metadata, Location where);

// A file that is read, whose header has been checked. Errors are thrown in the name of `operation`.
class Reader {
 public:
  // Throws Error if the file cannot be read, or is not in the format.
  Reader(const char* operation, const std::string& path);

  const detail::FileName& name() const { return file_.name(); }
  const Header& header() const { return header_; }

  // A new tensor with the values of `entry`, which is one of the header's, has a held_type(), and at most
  // Shape::max_rank axes. Blocks while it reads. Throws Error if the file cannot be read.
  Tensor read(const TensorEntry& entry, Device device) const;

 private:
  void check_format() const;

  detail::InputFile file_;
  std::uint64_t data_begin_byte_ = 0;
  Header header_;
};

// The shape of an entry that has at most Shape::max_rank axes.
Shape shape_of(const TensorEntry& entry);

}  // namespace asyncgrad::nn::safetensors
