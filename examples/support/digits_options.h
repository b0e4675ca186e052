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
  std::string help;  // not empty: the help was asked for, and this is its text
};

struct Epoch {
  double loss;      // mean over the epoch's samples, while it trained
  double accuracy;  // share of the held-out images that are recognised after the epoch
};

// Sets the default device and the math mode. Throws BadInput.
Options parse(int argc, const char* const* argv);

// Replaces the file options.json, if one is named, by {"format": 1, options, "train_images", "held_out_images",
// "epochs": [{"loss", "accuracy"}, ...]}. Throws Error.
void write_json(const Options& options, const Split& data, const std::vector<Epoch>& epochs);

// The whole of main(): reads the command line, calls `train` unless the help was asked for, and returns the exit
// status.
int run(int argc, char** argv, void (*train)(const Options&));

}  // namespace digits
