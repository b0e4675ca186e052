#include "asyncgrad/experiment/training_file.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "asyncgrad/core/error.h"
#include "asyncgrad/core/random.h"
#include "asyncgrad/experiment/parse.h"
#include "asyncgrad/experiment/print.h"
#include "asyncgrad/nn/safetensors/file.h"
#include "asyncgrad/nn/save.h"
#include "asyncgrad/nn/value_text.h"

namespace asyncgrad::experiment {

namespace {

constexpr const char* option = "--resume";
const std::string settings_prefix = "settings.";

// Returns what decides on the bits of a training, besides the number of batches, which may grow.
std::map<std::string, std::string> settings_of(const Run& run) {
  std::map<std::string, std::string> texts{{"seed", fmt::format("{}", run.seed)},
                                           {"math", std::string(name_of(run.math))},
                                           {"device", run.device.type == DeviceType::cpu ? "cpu" : "cuda"}};
  for (const auto& [name, value] : run.own) texts.emplace(name, text_of(value));
  return texts;
}

using Metadata = nn::safetensors::Metadata;

Metadata metadata_in(const std::string& file) {
  try {
    return nn::safetensors::Reader("experiment", file).header().metadata;
  } catch (const Error& error) {
    throw BadInput(fmt::format("{}: {}", option, error.parts().message));
  }
}

// A value of type T; nothing if there is none of that name and type.
template <class T>
std::optional<T> value_in(const Metadata& metadata, const std::string& name) {
  const auto text = metadata.find(name);
  if (text == metadata.end()) return std::nullopt;
  T value{};
  const std::optional<nn::Contents> contents = nn::contents_of(text->second, &value);
  return contents ? std::optional(std::get<T>(*contents)) : std::nullopt;
}

std::map<std::string, std::string> settings_in(const Metadata& metadata) {
  std::map<std::string, std::string> settings;
  for (const auto& [name, ignored] : metadata) {
    if (!name.starts_with(settings_prefix)) continue;
    settings.emplace(name.substr(settings_prefix.size()), value_in<std::string>(metadata, name).value_or(""));
  }
  return settings;
}

void check_settings(const std::string& file, const std::map<std::string, std::string>& kept,
                    const std::map<std::string, std::string>& now) {
  for (const auto& [name, value] : now) {
    const auto place = kept.find(name);
    if (place == kept.end() || kept.size() != now.size()) {
      throw BadInput(fmt::format("{}: '{}' is of a program with other options", option, file));
    }
    if (place->second == value) continue;
    throw BadInput(
        fmt::format("{}: '{}' was trained with the {} {}, and this run has {}; a training goes on with its own", option,
                    file, name, nn::safetensors::in_quotes(place->second), nn::safetensors::in_quotes(value)));
  }
}

}  // namespace

void check_resumed(const Run& run) {
  if (run.resume.empty()) return;
  const Metadata metadata = metadata_in(run.resume);
  const std::optional<std::int64_t> batches = value_in<std::int64_t>(metadata, "batches");
  if (!batches || *batches < 1) {
    throw BadInput(fmt::format("{}: '{}' is no checkpoint of a run", option, run.resume));
  }
  check_settings(run.resume, settings_in(metadata), settings_of(run));
  if (*batches < run.end()) return;
  throw BadInput(fmt::format("{}: '{}' has {} batches, and {}, which is {}, counts from the beginning of the training",
                             option, run.resume, *batches, run.stop_after > 0 ? "--stop-after" : "--batches",
                             run.end()));
}

void TrainingFile::Settings::members(nn::Members& m) {
  for (auto& [name, text] : texts) m(name, text);
}

TrainingFile::TrainingFile(const Run& run, const main_detail::Training& training)
    : run_(run), training_{training}, settings_{settings_of(run)} {
  if (run.checkpoint.empty() && run.resume.empty()) return;
  if (training.members == nullptr) {
    throw_error("experiment",
                "a checkpoint keeps what the training lists: give it `void members(ag::nn::Members& m)`, with all that "
                "a step changes");
  }
  checkpoint_.add("training", training_).add("random", default_generator());
  checkpoint_.add("batches", batches_).add("settings", settings_);
  // What no file can keep is an error now, and the first file that is queued waits until all is finished.
  if (!run.checkpoint.empty()) checkpoint_.save_queued("/dev/null");
}

int TrainingFile::load() {
  if (run_.resume.empty()) return 0;
  check_resumed(run_);
  checkpoint_.load(run_.resume);
  for (Tensor parameter : training_.training.parameters()) parameter.zero_grad();  // those of the step that warms up
  return static_cast<int>(batches_);
}

void TrainingFile::batch_done(int batches) {
  batches_ = batches;
  if (run_.checkpoint_every == 0 || batches % run_.checkpoint_every != 0 || batches == run_.end()) return;
  checkpoint_.save_queued(run_.checkpoint);
}

void TrainingFile::finish() {
  if (run_.checkpoint.empty()) return;
  checkpoint_.save(run_.checkpoint);
  print("checkpoint: {}\n", run_.checkpoint);
}

}  // namespace asyncgrad::experiment
