#include "asyncgrad/experiment/repeated_steps.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "asyncgrad/core/error.h"
#include "asyncgrad/core/random.h"
#include "asyncgrad/experiment/recorder.h"
#include "asyncgrad/nn/value_text.h"

namespace asyncgrad::experiment {

namespace {

// The members as they are now.
class Members final : public nn::Members::Visitor {
 public:
  explicit Members(const main_detail::Training& training) {
    main_detail::ListedTraining listed{training};
    nn::Members::visit(listed, *this);
  }

  void tensor(const std::string& path, Tensor& tensor) override { tensors_.emplace_back(path, tensor.detach()); }
  void value(const std::string& path, nn::Value value) override { values_.emplace_back(path, value); }

  // Their values, which later steps do not change.
  struct Copy {
    std::vector<std::pair<std::string, Tensor>> tensors;
    std::vector<std::pair<std::string, std::string>> values;
  };
  Copy copy() const {
    Copy copy;
    for (const auto& [path, tensor] : tensors_) copy.tensors.emplace_back(path, tensor.clone());
    for (const auto& [path, value] : values_) copy.values.emplace_back(path, nn::text_of(value));
    return copy;
  }
  // Throws Error if other members are listed than those of the copy.
  void assign(const Copy& copy) {
    check_names(tensors_, copy.tensors);
    check_names(values_, copy.values);
    for (std::size_t i = 0; i < tensors_.size(); ++i) tensors_[i].second.copy_(copy.tensors[i].second);
    for (std::size_t i = 0; i < values_.size(); ++i) {
      nn::assign(values_[i].second, *nn::contents_of(copy.values[i].second, values_[i].second));
    }
  }

 private:
  template <class Now, class Then>
  static void check_names(const Now& now, const Then& then) {
    bool are_same = now.size() == then.size();
    for (std::size_t i = 0; are_same && i < now.size(); ++i) are_same = now[i].first == then[i].first;
    if (are_same) return;
    throw_error("experiment",
                fmt::format("a checkpoint of the training could not be resumed: it lists {} members of a kind after a "
                            "step, and {} others after two more",
                            then.size(), now.size()));
  }

  std::vector<std::pair<std::string, Tensor>> tensors_;
  std::vector<std::pair<std::string, nn::Value>> values_;
};

// Makes two steps, and holds what they give.
struct Steps {
  explicit Steps(const main_detail::Training& training) {
    const Tensor first = training.step(), second = training.step();
    first_loss = parameters_hash({first});
    std::vector<Tensor> results = training.parameters();
    results.push_back(second);
    rest = parameters_hash(results);
  }
  std::string first_loss, rest;
};

}  // namespace

void check_repeated_steps(const main_detail::Training& training) {
  const Members::Copy copy = Members(training).copy();
  const Generator random = default_generator();
  const Steps before(training);
  Members(training).assign(copy);
  default_generator() = random;
  const Steps again(training);
  if (before.first_loss == again.first_loss && before.rest == again.rest) return;
  throw_error("experiment",
              fmt::format("a training that goes on from a checkpoint would have other bits: `members` of the training "
                          "lacks {}",
                          before.first_loss == again.first_loss
                              ? "what the updates depend on, such as an optimiser or a schedule; gradients of earlier "
                                "steps cannot be kept"
                              : "what the loss depends on besides the parameters, such as ag::data::Batches, a place "
                                "in the data, or the states of a recurrent network"));
}

}  // namespace asyncgrad::experiment
