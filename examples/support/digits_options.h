// The command line of examples/digits, and its results as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "examples/support/digits_data.h"

namespace digits {

struct Options {
  int epochs = 30;
  std::int64_t batch_size = 32;
  double lr = 0.05;
  std::uint64_t seed = 0;
  std::string data = default_path();
  std::string device = "cpu";
  std::string math = "float32";
  std::string json;  // empty: none
  std::string help;  // not empty: the text that was asked for; nothing else holds
};

struct Epoch {
  double loss;      // mean over the epoch's samples, while it trained
  double accuracy;  // share of the held-out images that are recognised after it
};

// Sets the default device and the math mode. Throws support::BadInput.
Options parse(int argc, const char* const* argv);

// {"format": 1, options, "train_images", "held_out_images", "epochs": [{"loss", "accuracy"}, ...]} into options.json,
// if wanted. Throws support::BadInput if the file cannot be written.
void write_json(const Options& options, const Split& data, const std::vector<Epoch>& epochs);

}  // namespace digits
