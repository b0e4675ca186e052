#include "examples/support/digits_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "examples/support/checks.h"
#include "examples/support/command_line.h"
#include "examples/support/parse.h"

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
  app.add_option("--epochs", epochs, "Times through the training images")->type_name("N");
  app.add_option("--batch-size", batch_size, "Images in a batch")->type_name("N");
  app.add_option("--lr", lr, "Learning rate")->type_name("X");
  app.add_option("--seed", seed, "Seed of the weights and of the order of images")->type_name("N");
  app.add_option("--data", options.data, "Lines of 64 pixels from 0 to 16 and a digit")->type_name("FILE");
  app.add_option("--device", options.device, "Where to compute")->type_name("DEVICE");
  app.add_option("--math", options.math, "How products read float32: as it is, or rounded to bf16")->type_name("MODE");
  app.add_option("--json", options.json, "Where the results go as data")->type_name("FILE");
  options.help = support::parse_command_line(app, argc, argv);
  if (!options.help.empty()) return options;
  options.epochs = static_cast<int>(support::parse_whole("--epochs", epochs, 1, most));
  options.batch_size = support::parse_whole("--batch-size", batch_size, 1, most);
  options.lr = support::parse_rate("--lr", lr);
  options.seed = support::parse_seed("--seed", seed);
  support::use_device(options.device);
  support::use_math_mode(options.math);
  if (!options.json.empty()) support::check_writable("--json", options.json);
  return options;
}

void write_json(const Options& options, const Split& data, const std::vector<Epoch>& epochs) {
  if (options.json.empty()) return;
  nlohmann::ordered_json json = {{"format", 1},
                                 {"device", options.device},
                                 {"math", options.math},
                                 {"batch_size", options.batch_size},
                                 {"lr", options.lr},
                                 {"seed", options.seed},
                                 {"train_images", data.train.size()},
                                 {"held_out_images", data.held_out.size()},
                                 {"epochs", nlohmann::ordered_json::array()}};
  for (const Epoch& epoch : epochs) json["epochs"].push_back({{"loss", epoch.loss}, {"accuracy", epoch.accuracy}});
  std::ofstream file(options.json);
  file << json.dump(2) << '\n';
  file.close();
  if (!file) throw support::BadInput(fmt::format("--json: cannot write '{}'", options.json));
}

}  // namespace digits
