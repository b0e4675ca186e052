// Keeps a training in a file, so that it goes on later as if it had never stopped.
//
//   ag::Checkpoint checkpoint;
//   checkpoint.add("net", net).add("optimizer", adam).add("random", ag::default_generator()).add("epoch", epoch);
//   if (std::filesystem::exists(path)) checkpoint.load(path);
//   for (; epoch < 100; checkpoint.save(path)) { train(net, adam); ++epoch; }
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "asyncgrad/nn/members.h"

namespace asyncgrad {

// Refers to what makes up a training: layers, optimisers, schedules and all else that lists its members (members.h), as
// well as everything that may be a member itself: tensors, generators, numbers, texts, and std::vectors of them. All of
// it must live longer than the Checkpoint. One thread at a time may use it.
//
// The file is in the format safetensors. Tensors have the paths of their parts, such as "net.0.weight"; other values
// are texts in the file's metadata. A training that goes on with the same bits needs every generator that it draws
// from.
class Checkpoint {
 public:
  // Throws Error if `name` is empty, has a dot in it, or is another part's, and for lists that Members refuses.
  template <class Part>
  Checkpoint& add(std::string name, Part& part, Location where = Location::current()) {
    const CallSite site(where);
    parts_.emplace_back([name = std::move(name), &part](nn::Members& m) { m(name, part); });
    check();
    return *this;
  }

  // Writes everything as it is after the operations queued so far; blocks until it is on the disk. The file appears
  // whole or not at all: if anything fails, the file that was there stays. Throws Error, with the system's reason, if
  // the file cannot be written, throws Error if a text is not UTF-8, and throws what made a value fail.
  void save(const std::string& path, Location where = Location::current());

  // Does the same while the training goes on, see nn::save_queued (save.h). Returns the number of bytes, which is
  // computed when the file is on the disk.
  Tensor save_queued(const std::string& path, Location where = Location::current());

  // Gives every part what the file has for it. Blocks while it reads; values of tensors are copied by queued
  // operations. Throws Error if the file cannot be read or is not in the format, and one Error that lists everything
  // that is missing or left over, has another shape or type than here, or is a count or rate that is negative or not
  // finite. A load that throws has changed nothing.
  void load(const std::string& path, Location where = Location::current());

  void members(nn::Members& m);

 private:
  void check();

  std::vector<std::function<void(nn::Members&)>> parts_;
};

}  // namespace asyncgrad
