#include "asyncgrad/nn/checkpoint.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "asyncgrad/nn/assignment.h"
#include "asyncgrad/nn/safetensors/file.h"
#include "asyncgrad/nn/value_text.h"

namespace asyncgrad {

namespace {

class Parts final : public nn::Members::Visitor {
 public:
  void tensor(const std::string& path, Tensor& tensor) override { tensors.emplace_back(path, tensor); }
  void value(const std::string& path, nn::Value value) override { values.emplace_back(path, value); }
  void not_negative(const std::string& path, nn::Value value) override {
    values.emplace_back(path, value);
    not_negatives.insert(path);
  }
  // The values as texts.
  nn::safetensors::Metadata metadata() const {
    nn::safetensors::Metadata texts;
    for (const auto& [path, value] : values) texts.emplace(path, nn::text_of(value));
    return texts;
  }

  nn::safetensors::NamedTensors tensors;
  std::vector<std::pair<std::string, nn::Value>> values;
  std::set<std::string> not_negatives;  // the paths of values
};

// The file's values for the program's values.
class NewValues {
 public:
  // Adds what does not fit to the problems of `assignments`.
  NewValues(const Parts& parts, const nn::safetensors::Metadata& metadata, nn::Assignments& assignments) {
    std::map<std::string, std::string> left = metadata;
    for (const auto& [path, value] : parts.values) {
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
      } else if (parts.not_negatives.contains(path) && !nn::is_not_negative(*contents)) {
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
  Parts parts;
  try {
    nn::Members::visit(*this, parts);
  } catch (...) {
    parts_.pop_back();
    throw;
  }
}

void Checkpoint::save(const std::string& path, Location where) {
  const CallSite site(where);
  Parts parts;
  nn::Members::visit(*this, parts);
  nn::safetensors::write("Checkpoint", path, parts.tensors, parts.metadata());
}

Tensor Checkpoint::save_queued(const std::string& path, Location where) {
  const CallSite site(where);
  Parts parts;
  nn::Members::visit(*this, parts);
  return nn::safetensors::write_queued("Checkpoint", path, parts.tensors, parts.metadata(), where);
}

void Checkpoint::load(const std::string& path, Location where) {
  const CallSite site(where);
  Parts parts;
  nn::Members::visit(*this, parts);
  const nn::safetensors::Reader file("Checkpoint", path);
  nn::Assignments assignments(file, parts.tensors, nullptr);
  const NewValues values(parts, file.header().metadata, assignments);
  assignments.throw_problems();
  assignments.read();
  assignments.assign();
  values.assign();
}

}  // namespace asyncgrad
