// Several processes as ranks, with every MPI that the build has found.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/wait.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace asyncgrad::tests {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

struct Output {
  int status = 0;
  double elapsed_s = 0;
  std::string text{};
  // What the ranks have said, in no order.
  std::vector<std::string> lines() const {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
      if (line.size() > 2 && line[1] == ':') lines.push_back(line.substr(3));
    }
    return lines;
  }
};

// The environment: more ranks than cores, as root, without a look at the network.
constexpr const char* environment =
    "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 "
    "OMPI_MCA_btl_base_warn_component_unused=0 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe ";

Output output_of(const std::string& command) {
  Output output;
  const auto start = std::chrono::steady_clock::now();
  std::FILE* const pipe = popen((environment + command + " 2>&1 </dev/null").c_str(), "r");
  if (pipe == nullptr) return {.status = -1};
  std::array<char, 4096> buffer{};
  while (const std::size_t bytes = std::fread(buffer.data(), 1, buffer.size(), pipe))
    output.text.append(buffer.data(), bytes);
  const int status = pclose(pipe);
  output.elapsed_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  output.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return output;
}

// The mpiexec of each family, as the build has found them.
std::vector<std::string> launchers() {
  std::vector<std::string> found;
#ifdef ASYNCGRAD_MPIEXECS
  std::istringstream names(ASYNCGRAD_MPIEXECS);
  for (std::string name; names >> name;) found.push_back(name);
#endif
  return found;
}

class Mpi : public testing::TestWithParam<std::string> {
 protected:
  static Output run(int ranks, const std::string& arguments) {
    return output_of(fmt::format("timeout -s KILL 60 {} -n {} {} {}", GetParam(), ranks, MPI_WORLD, arguments));
  }
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Mpi);
INSTANTIATE_TEST_SUITE_P(Families, Mpi, testing::ValuesIn(launchers()), [](const auto& info) {
  return std::string(info.param.find("mpich") != std::string::npos     ? "Mpich"
                     : info.param.find("openmpi") != std::string::npos ? "OpenMpi"
                                                                       : "Mpi");
});

TEST(AnyMpi, IsFound) {
  if (launchers().empty()) GTEST_SKIP() << "no MPI: -DASYNCGRAD_MPI=ON builds ag::dist with those that are installed";
}

// Every budget has the same bits, and all ranks have them.
TEST_P(Mpi, RanksKeepEqualParameters) {
  for (const int ranks : {1, 2, 4}) {
    std::set<std::string> hashes;
    for (const char* budget : {"", "0", "100000000"}) {
      const Output output = run(ranks, std::string("train ") + budget);
      ASSERT_EQ(output.status, 0) << output.text;
      EXPECT_THAT(output.lines(), SizeIs(ranks));
      EXPECT_THAT(output.lines(), Each(HasSubstr("bounded"))) << output.text;
      for (const std::string& line : output.lines()) hashes.insert(line);
    }
    EXPECT_THAT(hashes, SizeIs(1)) << ranks;
  }
  const Output output = run(8, "train");
  ASSERT_EQ(output.status, 0) << output.text;
  EXPECT_THAT(output.lines(), SizeIs(8));
  EXPECT_THAT(output.lines(), Each(output.lines()[0])) << output.text;
}

// In parts every number of ranks and every budget has the same bits.
TEST_P(Mpi, PartsHaveTheSameBitsOnAnyNumberOfRanks) {
  std::set<std::string> hashes;
  for (const int ranks : {1, 2, 4}) {
    for (const char* budget : {"", "0"}) {
      const Output output = run(ranks, std::string("train_parts ") + budget);
      ASSERT_EQ(output.status, 0) << output.text;
      EXPECT_THAT(output.lines(), SizeIs(ranks)) << output.text;
      for (const std::string& line : output.lines()) hashes.insert(line);
    }
  }
  EXPECT_THAT(hashes, SizeIs(1));
}

TEST_P(Mpi, FailureOfOneRankIsThatOfAll) {
  const Output output = run(3, "fail");
  ASSERT_EQ(output.status, 0) << output.text;
  std::map<std::string, int> counts;
  for (const std::string& line : output.lines()) {
    ++counts[line.starts_with("[average_gradients] rank 2: [reading] the disk is full") ? "of another"
             : line.starts_with("[reading] the disk is full")                           ? "own"
                                                                                        : line];
  }
  EXPECT_EQ(counts,
            (std::map<std::string, int>{{"of another", 2}, {"own", 1}, {"nothing was thrown", 3}, {"weight 0.5", 3}}))
      << output.text;
}

TEST_P(Mpi, ExceptionInALoopOverPartsIsToldToAll) {
  constexpr const char* told = "[Parts.average] rank 1: [Parts.mine] an exception has left the loop at mpi_world.cc:";
  Output output = run(2, "leave_loop");
  EXPECT_EQ(output.status, 0) << output.text;
  EXPECT_THAT(output.lines(), testing::UnorderedElementsAre(StartsWith(told), "weight -0.5", "weight -0.5"));
  output = run(2, "leave_loop_and_end");
  EXPECT_EQ(output.status, 0) << output.text;
  EXPECT_THAT(output.lines(), testing::ElementsAre(StartsWith(told))) << output.text;
}

TEST_P(Mpi, ProgramsThatDifferAreNamed) {
  const Output output = run(2, "differ");
  EXPECT_THAT(output.lines(), SizeIs(4)) << output.text;
  EXPECT_THAT(output.lines(), Each(HasSubstr("the programs of the ranks differ: rank 0 calls "))) << output.text;
  EXPECT_THAT(output.text, HasSubstr("rank 0 calls sum of float32 (3), queued at mpi_world.cc:"));
  EXPECT_THAT(output.text, HasSubstr("rank 0 calls broadcast of float32 (2), queued at mpi_world.cc:"));
}

TEST_P(Mpi, RankThatEndsIsNamed) {
  const Output output = run(3, "end_early");
  EXPECT_THAT(output.lines(), SizeIs(2)) << output.text;
  EXPECT_THAT(output.lines(), Each(StartsWith("[sum] rank 0 has ended its program"))) << output.text;
}

TEST_P(Mpi, RankThatStopsIsNamed) {
  const Output output = run(3, "stop");
  EXPECT_NE(output.status, 0) << output.text;
  EXPECT_THAT(output.lines(), Not(SizeIs(0))) << output.text;
  EXPECT_THAT(output.lines(), Each(HasSubstr("[sum] no answer from rank 2 within 2 s"))) << output.text;
}

TEST_P(Mpi, AllRanksThatStopAreNamed) {
  const Output output = run(4, "stop_two");
  EXPECT_NE(output.status, 0) << output.text;
  EXPECT_THAT(output.lines(), Not(SizeIs(0))) << output.text;
  EXPECT_THAT(output.lines(), Each(HasSubstr("[sum] no answer from ranks 2, 3 within 2 s"))) << output.text;
}

TEST_P(Mpi, DeathOfARankEndsAll) {
  const Output output = run(3, "kill");
  EXPECT_NE(output.status, 0) << output.text;
  EXPECT_LT(output.elapsed_s, 30) << output.text;
}

TEST_P(Mpi, UnfinishedCollectivesEndAll) {
  const Output output = run(2, "leave_unfinished");
  EXPECT_NE(output.status, 0) << output.text;
  EXPECT_LT(output.elapsed_s, 30) << output.text;
  EXPECT_THAT(output.text, HasSubstr("ends all processes of its world")) << output.text;
}

TEST_P(Mpi, ChildOfAForkHasNoPart) {
  const Output output = run(2, "fork_child");
  EXPECT_EQ(output.status, 0) << output.text;
  EXPECT_THAT(output.lines(), SizeIs(8)) << output.text;
  EXPECT_THAT(output.text, HasSubstr("[Parts.mine] the child of a fork has no part in the world of its parent"));
  EXPECT_THAT(output.text, HasSubstr("[sum] the child of a fork has no part in the world of its parent"));
  EXPECT_THAT(output.text, HasSubstr("[world] the child of a fork has no part in the world of its parent"));
  EXPECT_THAT(output.text, HasSubstr("status 0, sum 2"));
}

TEST_P(Mpi, SlowRanksAreWaitedFor) {
  const Output output = run(4, "delay");
  EXPECT_EQ(output.status, 0) << output.text;
  EXPECT_EQ(output.lines(), std::vector<std::string>(4, "done")) << output.text;
}

TEST_P(Mpi, AnyThreadMayEndTheProcess) {
  const Output output = run(2, "exit_elsewhere");
  EXPECT_EQ(output.status, 0) << output.text;
}

// Each rank has numbers of its own from the default generator, whatever its seed; rank 0 those of a process alone.
TEST_P(Mpi, RanksDrawOtherNumbers) {
  const Output output = run(3, "draw");
  EXPECT_EQ(output.status, 0) << output.text;
  std::set<std::string> of_own, of_default;
  for (const std::string& line : output.lines()) {
    of_own.insert(line.substr(0, line.find(' ')));
    of_default.insert(line.substr(line.find(' ') + 1));
  }
  EXPECT_THAT(of_own, SizeIs(1)) << output.text;
  EXPECT_THAT(of_default, SizeIs(3)) << output.text;
  EXPECT_TRUE(of_default.contains(*of_own.begin())) << output.text;
}

TEST_P(Mpi, OtherInstructionSetsAreAnError) {
  const Output output = run(3, "instruction_sets 3");
  if (output.status == 77) GTEST_SKIP() << "the kernels are compiled for one instruction set";
  EXPECT_NE(output.status, 0) << output.text;
  EXPECT_THAT(output.text, HasSubstr("[world] the processors of the ranks have different instruction sets"));
  EXPECT_THAT(output.text, HasSubstr(" on ranks 0, 1")) << output.text;
  EXPECT_THAT(output.text, HasSubstr(" on rank 2")) << output.text;
  EXPECT_THAT(output.text, HasSubstr("WorldOptions::lowest_common lets all use the lowest"));
}

TEST_P(Mpi, AllMayUseTheLowestInstructionSet) {
  const Output output = run(3, "instruction_sets 3 lowest");
  if (output.status == 77) GTEST_SKIP() << "the kernels are compiled for one instruction set";
  EXPECT_EQ(output.status, 0) << output.text;
  ASSERT_THAT(output.lines(), SizeIs(3)) << output.text;
  EXPECT_THAT(output.lines(), Each(output.lines()[0]));
  EXPECT_THAT(run(3, "instruction_sets 3 lowest late").text, HasSubstr("has computed already")) << "too late";
}

// Delays, signals, refused memory, other calls and shapes on one rank: the others go on, or all end, soon. The variable
// TROUBLES is for scripts/nightly.sh.
TEST_P(Mpi, TroubleOfOneRankEndsSoon) {
  const char* const wanted = std::getenv("TROUBLES");  // NOLINT(concurrency-mt-unsafe): no other thread
  const int first = wanted == nullptr ? 1 : 1000, count = wanted == nullptr ? 10 : std::atoi(wanted);
  for (int seed = first; seed < first + count; ++seed) {
    const int ranks = 2 + seed % 3;
    const Output output = run(ranks, fmt::format("trouble {}", seed));
    ASSERT_NE(output.status, 127) << output.text;  // there is no such program
    EXPECT_LT(output.elapsed_s, 30) << "trouble " << seed << " with " << ranks << " ranks\n" << output.text;
    const std::vector<std::string> lines = output.lines();
    EXPECT_THAT(std::set<std::string>(lines.begin(), lines.end()), SizeIs(testing::Le(1))) << "trouble " << seed;
    if (output.status == 0) {
      EXPECT_TRUE(lines.size() == static_cast<std::size_t>(ranks)) << "trouble " << seed << '\n' << output.text;
    }
  }
}

// It takes half a minute, so usual runs leave it out.
TEST_P(Mpi, AProcessThatEndsBeforeItsWorldEndsTheOthers) {
  if (std::getenv("TROUBLES") == nullptr) GTEST_SKIP() << "TROUBLES is not set";  // NOLINT(concurrency-mt-unsafe)
  const Output output = run(2, "absent");
  EXPECT_NE(output.status, 0);
  EXPECT_LT(output.elapsed_s, 50) << output.text;
}

// What has started the process needs a library.
TEST(Launch, WithoutItsLibraryIsAnError) {
  const Output output = output_of(std::string("env PMIX_RANK=0 PMI_RANK= ") + MPI_WORLD + " train");
  if (launchers().empty()) {
    EXPECT_EQ(output.status, 1);
    EXPECT_THAT(output.text, HasSubstr("and asyncgrad was built without MPI"));
  }
}

}  // namespace
}  // namespace asyncgrad::tests
