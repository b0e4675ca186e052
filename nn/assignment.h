// The assignment of a file's tensors to a program's tensors. Internal.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "asyncgrad/core/tensor.h"
#include "asyncgrad/nn/safetensors/file.h"
#include "asyncgrad/nn/save.h"

namespace asyncgrad::nn {

// Call it in this order: the constructor, throw_problems, read, assign. Nothing is changed before assign().
class Assignments {
 public:
  // Finds the tensor of the file for each of `targets`. All live longer than this. Without `options`, as in a
  // checkpoint, both have the same names.
  Assignments(const safetensors::Reader& file, const safetensors::NamedTensors& targets, const LoadOptions* options);

  void add_problem(std::string problem) { problems_.push_back(std::move(problem)); }
  // Throws one Error that lists all problems, if there are any.
  void throw_problems() const;
  // Reads the values. Throws Error if the file cannot be read, or has several values for one tensor.
  void read();
  // Queues the copies.
  void assign();

 private:
  struct Assignment {
    const safetensors::TensorEntry* source;
    std::string name;
    Tensor target;
    bool transpose;
    Tensor values{};
  };

  void rename(const std::vector<Rename>& renames);
  void keep_names();
  void add(const safetensors::TensorEntry& source, const std::string& name, bool transpose);
  void check_fit(const Assignment& assignment);
  void check_complete();
  void add_left_over(const safetensors::TensorEntry& source);
  std::string renaming(const safetensors::TensorEntry& source, const std::string& name, bool transpose) const;

  const safetensors::Reader* file_;
  const safetensors::NamedTensors* targets_;
  const LoadOptions* options_;
  std::unordered_map<std::string, Tensor> target_of_;
  std::map<std::string, const safetensors::TensorEntry*> sources_;
  std::map<std::string, bool> is_used_;  // of the sources
  std::map<std::string, Assignment> by_name_;
  std::vector<const safetensors::NamedTensors::value_type*> missing_;  // targets
  bool is_incomplete_ = false;                                         // something is missing in the file, or left over
  std::vector<std::string> problems_;
};

}  // namespace asyncgrad::nn
