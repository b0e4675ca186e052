#include "asyncgrad/nn/checkpoint.h"

#include <fmt/format.h>

#include <map>

#include "asyncgrad/nn/assignment.h"
#include "asyncgrad/nn/listed_members.h"
#include "asyncgrad/nn/safetensors/file.h"
#include "asyncgrad/nn/value_text.h"

namespace asyncgrad {

namespace {

// The values as texts.
nn::safetensors::Metadata metadata_of(const nn::ListedMembers& listed) {
  nn::safetensors::Metadata texts;
  for (const auto& [path, value] : listed.values) texts.emplace(path, nn::text_of(value));
  return texts;
}

// The file's values for the program's values.
class NewValues {
 public:
  // Adds what does not fit to the problems of `assignments`.
  NewValues(const nn::ListedMembers& listed, const nn::safetensors::Metadata& metadata, nn::Assignments& assignments) {
    std::map<std::string, std::string> left = metadata;
    for (const auto& [path, value] : listed.values) {
      const auto text = left.find(path);
      if (text == left.end()) {
        assignments.add_problem(fmt::format("{} is missing in the file", nn::safetensors::in_quotes(path)));
        continue;
      }
      const std::string in_file = fmt::format("{} is {} in the file", nn::safetensors::in_quotes(path),
                                              nn::safetensors::in_quotes(text->second));
      auto contents = nn::contents_of(text->second, value);
      if (!contents) {
        assignments.add_problem(
            fmt::format("{}, and here as {}", in_file, nn::safetensors::in_quotes(nn::text_of(value))));
      } else if (listed.not_negatives.contains(path) && !nn::is_not_negative(*contents)) {
        assignments.add_problem(fmt::format("{}, and must be finite and not negative", in_file));
      } else {
        values_.emplace_back(value, std::move(*contents));
      }
      left.erase(text);
    }
    for (const auto& [path, text] : left) {
      assignments.add_problem(
          fmt::format("{}, {}, is left over", nn::safetensors::in_quotes(path), nn::safetensors::in_quotes(text)));
    }
  }

  void assign() const {
    for (const auto& [value, contents] : values_) nn::assign(value, contents);
  }

 private:
  std::vector<std::pair<nn::Value, nn::Contents>> values_;
};

}  // namespace

void Checkpoint::members(nn::Members& m) {
  for (const auto& list : parts_) list(m);
}

void Checkpoint::check() {
  try {
    nn::ListedMembers{*this};
  } catch (...) {
    parts_.pop_back();
    throw;
  }
}

void Checkpoint::save(const std::string& path, Location where) {
  const CallSite site(where);
  const nn::ListedMembers listed(*this);
  nn::safetensors::write("Checkpoint", path, listed.tensors, metadata_of(listed));
}

Tensor Checkpoint::save_queued(const std::string& path, Location where) {
  const CallSite site(where);
  const nn::ListedMembers listed(*this);
  return nn::safetensors::write_queued("Checkpoint", path, listed.tensors, metadata_of(listed), where);
}

void Checkpoint::load(const std::string& path, Location where) {
  const CallSite site(where);
  const nn::ListedMembers listed(*this);
  const nn::safetensors::Reader file("Checkpoint", path);
  nn::Assignments assignments(file, listed.tensors, nullptr);
  const NewValues values(listed, file.header().metadata, assignments);
  assignments.throw_problems();
  assignments.read();
  assignments.assign();
  values.assign();
}

}  // namespace asyncgrad
