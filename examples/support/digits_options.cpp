#include "examples/support/digits_options.h"

#include <fmt/format.h>

#include <limits>
#include <optional>

#include "asyncgrad/core/file/whole_file.h"
#include "asyncgrad/core/math_mode.h"
#include "asyncgrad/experiment/checks.h"
#include "asyncgrad/experiment/command_line.h"
#include "asyncgrad/experiment/json.h"
#include "asyncgrad/experiment/parse.h"
#include "asyncgrad/experiment/run_main.h"
#include "examples/support/print.h"

namespace digits {

namespace experiment = asyncgrad::experiment;

Options parse(int argc, const char* const* argv) {
  constexpr std::int64_t max_whole = std::numeric_limits<std::int32_t>::max();
  Options options;
  std::optional<std::string> epochs, batch_size, lr, seed, data, device, math, json;
  experiment::CommandLine line("digits", "Trains a small network on handwritten digits.");
  const auto option = [&](const char* name, const char* type, auto& value, const char* what, const auto& otherwise) {
    line.option(name, type, value, fmt::format("{}. Default: {}", what, otherwise));
  };
  option("--epochs", "N", epochs, "Go through the training images N times", options.epochs);
  option("--batch-size", "N", batch_size, "Number of images in a batch", options.batch_size);
  option("--lr", "X", lr, "Learning rate", options.lr);
  option("--seed", "N", seed, "Seed of the weights and of the order of images", options.seed);
  option("--data", "FILE", data, "Read the images from this file: a line has 64 pixels from 0 to 16 and a digit",
         options.data);
  option("--device", "DEVICE", device, "The device that computes", options.device);
  option("--math", "MODE", math, "Products read their operands as float32, or rounded to bf16, or on a GPU to tf32",
         options.math);
  line.option("--json", "FILE", json, "Write the results to this file, as JSON");
  options.help = line.parse(argc, argv);
  if (!options.help.empty()) return options;
  if (epochs) options.epochs = static_cast<int>(experiment::parse_whole("--epochs", *epochs, 1, max_whole));
  if (batch_size) options.batch_size = experiment::parse_whole("--batch-size", *batch_size, 1, max_whole);
  if (lr) options.lr = experiment::parse_rate("--lr", *lr);
  if (seed) options.seed = experiment::parse_seed("--seed", *seed);
  options.data = data.value_or(options.data);
  options.device = device.value_or(options.device);
  options.math = math.value_or(options.math);
  options.json = json.value_or("");
  experiment::use_device(options.device);
  asyncgrad::set_math_mode(experiment::parse_math_mode(options.math));
  experiment::check_distinct({{"--data", options.data}, {"--json", options.json}});
  if (!options.json.empty()) experiment::check_writable({"--json", options.json});
  return options;
}

void write_json(const Options& options, const Split& data, const std::vector<Epoch>& epochs) {
  if (options.json.empty()) return;
  experiment::Json json = {{"format", 1},
                           {"device", options.device},
                           {"math", options.math},
                           {"batch_size", options.batch_size},
                           {"lr", options.lr},
                           {"seed", options.seed},
                           {"train_images", data.train.size()},
                           {"held_out_images", data.held_out.size()},
                           {"epochs", experiment::Json::array()}};
  for (const Epoch& epoch : epochs) json["epochs"].push_back({{"loss", epoch.loss}, {"accuracy", epoch.accuracy}});
  asyncgrad::detail::replace_file("digits", options.json, experiment::text_of(json, 2) + "\n");
}

int run(int argc, char** argv, void (*train)(const Options&)) {
  return experiment::run_main(argc, argv, [&](const std::string&) {
    const Options options = parse(argc, argv);
    if (options.help.empty()) {
      train(options);
    } else {
      support::print("{}", options.help);
    }
    return 0;
  });
}

}  // namespace digits
