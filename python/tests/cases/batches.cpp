#include <cstdint>
#include <string>
#include <vector>

#include "python/tests/cases/case.h"

namespace cases {

namespace {

struct Numbers {
  std::int64_t size() const { return 10; }
  std::int64_t operator[](std::int64_t i) const { return i; }
};

}  // namespace

void batches() {
  const auto order = [](const std::string& options, ag::data::BatchOptions given) {
    value("order(" + options + ")", [&] {
      ag::data::Batches<Numbers> batches(Numbers(), given);
      std::string text;
      for (int epoch = 0; epoch < 3; ++epoch) {
        while (auto batch = batches.next()) {
          for (const auto i : (*batch)[0].to_vector<std::int64_t>()) text += std::to_string(i) + " ";
          text += "| ";
        }
      }
      return text;
    });
  };
  order("", {});
  order("batch_size=3, seed=5", {.batch_size = 3, .seed = 5});
  order("batch_size=4, shuffled=False, drop_last=True, ahead=0",
        {.batch_size = 4, .shuffled = false, .drop_last = true, .ahead = 0});
  const std::vector<double> weights{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  order("sampler=data.weighted(range(10))", {.sampler = ag::data::weighted(weights)});
  order("sampler=data.weighted(weights=range(10), replacement=False, samples=4, seed=3), batch_size=3",
        {.batch_size = 3, .sampler = ag::data::weighted(weights, {.replacement = false, .samples = 4, .seed = 3})});
  order("sampler=lambda count, epoch: range(epoch, count, 3)", {.sampler = [](std::int64_t count, std::int64_t epoch) {
          std::vector<std::int64_t> chosen;
          for (std::int64_t i = epoch; i < count; i += 3) chosen.push_back(i);
          return chosen;
        }});
  order("sampler=lambda *_: [3, 10]", {.sampler = [](std::int64_t, std::int64_t) {
          return std::vector<std::int64_t>{3, 10};
        }});
  order("sampler=data.weighted([1, 2])", {.sampler = ag::data::weighted({1, 2})});
  order("batch_size=0", {.batch_size = 0});
  order("ahead=-1", {.ahead = -1});
  const auto split = [](const std::string& python, const std::vector<double>& shares, ag::data::SplitOptions options) {
    value("' | '.join(str(part.indices) for part in data.split(range(10), " + python + "))", [&] {
      std::string text;
      for (const auto& part : ag::data::split_indices(10, shares, options)) {
        text += text.empty() ? "[" : " | [";
        for (const std::int64_t i : part) text += (text.back() == '[' ? "" : ", ") + std::to_string(i);
        text += "]";
      }
      return text;
    });
  };
  split("[0.8, 0.2]", {0.8, 0.2}, {});
  split("shares=[0.25, 0.25, 0.25], shuffled=False", {0.25, 0.25, 0.25}, {.shuffled = false});
  split("[0.5, 0.5], seed=3", {0.5, 0.5}, {.seed = 3});
  split("[0.5, 0.75]", {0.5, 0.75}, {});
  const ag::data::WeightedOptions weighted;
  defaults("data.weighted",
           {{"replacement", weighted.replacement}, {"samples", weighted.samples}, {"seed", weighted.seed}});
  refused("data.weighted([1, -1])", [] { return ag::data::weighted({1, -1}); });
  refused("data.weighted([0, 0])", [] { return ag::data::weighted({0, 0}); });
  refused("data.weighted([1, 0], replacement=False)", [] {
    return ag::data::weighted({1, 0}, {.replacement = false});
  });
  const ag::data::BatchOptions o;
  defaults("data.Batches", {{"batch_size", o.batch_size},
                            {"shuffled", o.shuffled},
                            {"seed", o.seed},
                            {"drop_last", o.drop_last},
                            {"ahead", o.ahead},
                            {"share", o.share}});
}

}  // namespace cases
