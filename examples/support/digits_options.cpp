#include "examples/support/digits_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <limits>

#include "examples/support/checks.h"
#include "examples/support/command_line.h"
#include "examples/support/json.h"
#include "examples/support/output_file.h"
#include "examples/support/parse.h"
#include "examples/support/print.h"
#include "examples/support/run_main.h"

namespace digits {

namespace {

constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();

}  // namespace

Options parse(int argc, const char* const* argv) {
  Options options;
  std::string epochs = std::to_string(options.epochs), batch_size = std::to_string(options.batch_size),
              lr = fmt::format("{}", options.lr), seed = std::to_string(options.seed);
  CLI::App app("Trains a small network on handwritten digits.", "digits");
  app.option_defaults()->always_capture_default();
  app.add_option("--epochs", epochs, "Go through the training images N times")->type_name("N");
  app.add_option("--batch-size", batch_size, "Number of images in a batch")->type_name("N");
  app.add_option("--lr", lr, "Learning rate")->type_name("X");
  app.add_option("--seed", seed, "Seed of the weights and of the order of images")->type_name("N");
  app.add_option("--data", options.data,
                 "Read the images from this file: a line has 64 pixels from 0 to 16 and a digit")
      ->type_name("FILE");
  app.add_option("--device", options.device, "The device that computes")->type_name("DEVICE");
  app.add_option("--math", options.math, "Products read their operands as float32 or rounded to bf16")
      ->type_name("MODE");
  app.add_option("--json", options.json, "Write the results to this file, as JSON")->type_name("FILE");
  options.help = support::parse_command_line(app, argc, argv);
  if (!options.help.empty()) return options;
  options.epochs = static_cast<int>(support::parse_whole("--epochs", epochs, 1, most));
  options.batch_size = support::parse_whole("--batch-size", batch_size, 1, most);
  options.lr = support::parse_rate("--lr", lr);
  options.seed = support::parse_seed("--seed", seed);
  support::use_device(options.device);
  support::use_math_mode(options.math);
  support::check_distinct({{"--data", options.data}, {"--json", options.json}});
  if (!options.json.empty()) support::check_writable({"--json", options.json});
  return options;
}

void write_json(const Options& options, const Split& data, const std::vector<Epoch>& epochs) {
  if (options.json.empty()) return;
  support::Json json = {{"format", 1},
                        {"device", options.device},
                        {"math", options.math},
                        {"batch_size", options.batch_size},
                        {"lr", options.lr},
                        {"seed", options.seed},
                        {"train_images", data.train.size()},
                        {"held_out_images", data.held_out.size()},
                        {"epochs", support::Json::array()}};
  for (const Epoch& epoch : epochs) json["epochs"].push_back({{"loss", epoch.loss}, {"accuracy", epoch.accuracy}});
  support::replace_file(options.json, support::text_of(json, 2) + "\n");
}

int run(int argc, char** argv, void (*train)(const Options&)) {
  return support::run_main(argc, argv, [&](const std::string&) {
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
