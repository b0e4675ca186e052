// The file that keeps the training of a run, so that another process goes on with the same bits.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "asyncgrad/experiment/main.h"
#include "asyncgrad/experiment/plan.h"
#include "asyncgrad/nn/checkpoint.h"

namespace asyncgrad::experiment {

// Throws BadInput unless the file that the run resumes is one of TrainingFile, was made with the settings of the run,
// and has some of its batches left. Reads the file's header alone. Does nothing for a run that resumes none.
void check_resumed(const Run& run);

// It has what the training lists, the place of the default generator, the number of batches so far, and the settings
// that decide on the training's bits. A file appears whole or not at all.
class TrainingFile {
 public:
  // Both live longer than this. Throws Error if the run has a file and the training has no list of members.
  TrainingFile(const Run& run, const main_detail::Training& training);
  TrainingFile(const TrainingFile&) = delete;
  TrainingFile& operator=(const TrainingFile&) = delete;

  // Gives the training what the file has that the run resumes, if it resumes one, and returns how many batches are
  // done. Blocks while it reads. Throws BadInput as check_resumed() does, and Error if the training does not fit.
  int load();
  // Queues that the file is written, if it is due after so many batches. What fails is thrown by a wait for all.
  void batch_done(int batches);
  // Writes the file after the last batch, if the run has one. Blocks. Throws Error if it cannot be written.
  void finish();

 private:
  struct Settings {
    std::map<std::string, std::string> texts;
    void members(nn::Members& m);
  };

  const Run& run_;
  main_detail::ListedTraining training_;
  Settings settings_;
  std::int64_t batches_ = 0;
  Checkpoint checkpoint_;
};

}  // namespace asyncgrad::experiment
