// What has started a process, as its environment says.
#include "asyncgrad/dist/launch.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <map>
#include <string>

#include "tests/support/message_of.h"

namespace asyncgrad::tests {
namespace {

using testing::HasSubstr;

// The launch of a process with these variables, and none of the others.
dist::Launch launch_with(const std::map<std::string, std::string>& variables) {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_SIZE", "PMIX_RANK", "PMIX_NAMESPACE",
                           "SLURM_NTASKS", "SLURM_STEP_NUM_TASKS"}) {
    unsetenv(name);  // NOLINT(concurrency-mt-unsafe): here and below, no other thread reads the environment
  }
  for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  const dist::Launch launch = dist::launch_of_process();
  for (const auto& [name, value] : variables) unsetenv(name.c_str());  // NOLINT(concurrency-mt-unsafe)
  return launch;
}

TEST(Launch, IsTakenFromTheEnvironment) {
  EXPECT_EQ(launch_with({}).library, "");
  EXPECT_EQ(launch_with({{"SLURM_NTASKS", "4"}}).library, "") << "a program in an allocation";
  const dist::Launch mpich = launch_with({{"PMI_RANK", "0"}, {"PMI_SIZE", "3"}});
  EXPECT_EQ(mpich.library, "mpich");
  EXPECT_EQ(mpich.size, 3);
  const dist::Launch open_mpi = launch_with({{"OMPI_COMM_WORLD_SIZE", "2"}, {"PMIX_RANK", "1"}});
  EXPECT_EQ(open_mpi.library, "openmpi");
  EXPECT_EQ(open_mpi.size, 2);
}

// Each would be a world of its own, and all would write the same files.
TEST(Launch, ProcessesThatNothingConnectsAreAnError) {
  EXPECT_THAT(message_of([] {
                launch_with({{"SLURM_STEP_NUM_TASKS", "4"}});
              }),
              HasSubstr("srun has started 4 processes without MPI"));
  EXPECT_EQ(launch_with({{"SLURM_STEP_NUM_TASKS", "1"}}).library, "");
  EXPECT_EQ(launch_with({{"SLURM_STEP_NUM_TASKS", "4"}, {"PMI_RANK", "0"}, {"PMI_SIZE", "4"}}).library, "mpich");
}

// How many processes a launcher of PMIx has started is in no variable, unless it is Slurm.
TEST(Launch, KnowsTheSizeOfAStepAlone) {
  const dist::Launch step = launch_with({{"PMIX_RANK", "0"},
                                         {"PMIX_NAMESPACE", "slurm.pmix.12.0"},
                                         {"SLURM_NTASKS", "8"},
                                         {"SLURM_STEP_NUM_TASKS", "2"}});
  EXPECT_EQ(step.library, "openmpi");
  EXPECT_EQ(step.size, 2);
  const dist::Launch inside = launch_with({{"PMIX_RANK", "0"},
                                           {"PMIX_NAMESPACE", "prterun-node-1@1"},
                                           {"SLURM_NTASKS", "1"},
                                           {"SLURM_STEP_NUM_TASKS", "1"}});
  EXPECT_EQ(inside.size, 0);
}

}  // namespace
}  // namespace asyncgrad::tests
