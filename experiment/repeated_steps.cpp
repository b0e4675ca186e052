#include "asyncgrad/experiment/repeated_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "asyncgrad/core/error.h"
#include "asyncgrad/core/random.h"
#include "asyncgrad/experiment/recorder.h"
#include "asyncgrad/nn/listed_members.h"
#include "asyncgrad/nn/value_text.h"

namespace asyncgrad::experiment {

namespace {

nn::ListedMembers members_of(const main_detail::Training& training) {
  main_detail::ListedTraining listed{training};
  return nn::ListedMembers(listed);
}

// Copies of members, which later steps do not change.
struct Copy {
  std::vector<std::pair<std::string, Tensor>> tensors;
  std::vector<std::pair<std::string, std::string>> values;
};

Copy copy_of(const nn::ListedMembers& members) {
  Copy copy;
  for (const auto& [path, tensor] : members.tensors) copy.tensors.emplace_back(path, tensor.detach().clone());
  for (const auto& [path, value] : members.values) copy.values.emplace_back(path, nn::text_of(value));
  return copy;
}

template <class Now, class Then>
void check_names(const Now& now, const Then& then) {
  const auto is_same_name = [](const auto& a, const auto& b) { return a.first == b.first; };
  if (std::equal(now.begin(), now.end(), then.begin(), then.end(), is_same_name)) return;
  throw_error("experiment",
              fmt::format("a checkpoint of the training could not be resumed: it lists {} members of a kind after a "
                          "step, and {} others after two more",
                          then.size(), now.size()));
}

// Throws Error if other members are listed than those of the copy.
void assign(const nn::ListedMembers& members, const Copy& copy) {
  check_names(members.tensors, copy.tensors);
  check_names(members.values, copy.values);
  for (std::size_t i = 0; i < copy.tensors.size(); ++i) {
    members.tensors[i].second.detach().copy_(copy.tensors[i].second);
  }
  for (std::size_t i = 0; i < copy.values.size(); ++i) {
    const nn::Value& value = members.values[i].second;
    nn::assign(value, *nn::contents_of(copy.values[i].second, value));
  }
}

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
  const Copy copy = copy_of(members_of(training));
  const Generator random = default_generator();
  const Steps before(training);
  assign(members_of(training), copy);
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
