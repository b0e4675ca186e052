// Layers in files: all tensors of a layer, under their paths, in the format safetensors
// (https://github.com/huggingface/safetensors), which other frameworks read and write, too.
//
//   ag::nn::save("net.safetensors", net);
//   ag::nn::load("net.safetensors", net);
//
// A file holds tensors only. A Checkpoint (checkpoint.h) also keeps the other values that a layer lists, and
// optimisers.
#pragma once

#include <string>
#include <vector>

#include "asyncgrad/nn/members.h"

namespace asyncgrad::nn {

// The tensor `from` of a file is the member `to` of a layer, transposed if the file has a matrix (out, in) where the
// layer has (in, out). One tensor of a file may have several such entries.
struct Rename {
  std::string from, to;
  bool transpose = false;
};

struct LoadOptions {
  // Whether file and layer must have the same tensors. Otherwise tensors that only one of them has are ignored.
  bool strict = true;
  // PyTorch's weights of a linear layer: {{"fc.weight", "0.weight", true}, {"fc.bias", "0.bias"}}
  std::vector<Rename> rename{};
};

namespace save_detail {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;
void save(const std::string& path, const NamedTensors& tensors);
Tensor save_queued(const std::string& path, const NamedTensors& tensors, Location where);
void load(const std::string& path, const NamedTensors& tensors, const LoadOptions& options);

}  // namespace save_detail

// Writes the tensors of state(layer). Blocks until their values are computed and on the disk. The file appears whole or
// not at all: if anything fails, the file that was there stays. Throws Error if the file cannot be written, with the
// system's reason; throws what made a value fail, and for lists of members as `state` does.
template <class Layer>
void save(const std::string& path, const Layer& layer, Location where = Location::current()) {
  const CallSite site(where);
  save_detail::save(path, state(layer));
}

// The same while the training goes on: the file has the values as they are after the operations queued so far. Queues a
// copy of each tensor, which takes memory until the file is there. Returns the number of bytes of the file (int64),
// which is computed when the file is on the disk: a wait for it, or for all, throws what save() throws. If several
// files have the same path, the one of the last call stays. A program that returns from main, or calls exit(), waits
// for the file: it computes what was queued up to this call. If it cannot, because an operation, or a handler that
// interrupted one, calls exit(), it says so on standard error. A process that is killed, or calls _exit() or
// quick_exit(), leaves the old file or the new one, whole. May wait for room, and the first call waits until everything
// is finished. Throws Error when the end of the process has begun.
template <class Layer>
Tensor save_queued(const std::string& path, const Layer& layer, Location where = Location::current()) {
  const CallSite site(where);
  return save_detail::save_queued(path, state(layer), where);
}

// Gives the tensors of state(layer) the values of the file's tensors with the same path, or with the name that `rename`
// says. Parameters keep their handles, so an optimiser goes on with them. For a shared tensor the file needs only one
// of its names. Blocks while it reads; the values are copied by queued operations.
//
// Throws Error if the file cannot be read, or is not in the format. Throws one Error that lists all of it if a tensor
// is missing or left over, if a shape or type differs, or if an entry of `rename` has no tensor. All types of tensors
// are read: F32, F64, I64, I32, U8, BF16 and BOOL, where any byte but 0 becomes true. Further types of the format are
// converted: F16 becomes float32, and I8, I16, U16 and U32 become int64. Nothing else is converted. A load that throws
// has changed nothing.
template <class Layer>
void load(const std::string& path, Layer& layer, const LoadOptions& options = {},
          Location where = Location::current()) {
  const CallSite site(where);
  save_detail::load(path, state(layer), options);
}

}  // namespace asyncgrad::nn
