#include "asyncgrad/dist/launch.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <vector>

#include "asyncgrad/core/error.h"

namespace asyncgrad::dist {

namespace {

namespace fs = std::filesystem;

// Null if it is not set. Read while no thread of the library changes the environment.
const char* variable(const char* name) { return std::getenv(name); }  // NOLINT(concurrency-mt-unsafe)

int number_in(const char* name) {
  const char* const value = variable(name);
  return value == nullptr ? 0 : std::atoi(value);
}

// Where the libraries may lie: beside the file that this code is part of, in its folder asyncgrad, and where they were
// built.
std::vector<fs::path> folders() {
  std::vector<fs::path> folders;
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&launch_of_process), &info) != 0 && info.dli_fname != nullptr) {
    const fs::path here = fs::absolute(info.dli_fname).parent_path();
    folders.insert(folders.end(), {here, here / "asyncgrad", here.parent_path() / "lib" / "asyncgrad"});
  }
#ifdef ASYNCGRAD_MPI_FOLDERS
  for (const char* folder : {ASYNCGRAD_MPI_FOLDERS}) folders.emplace_back(folder);
#endif
  return folders;
}

std::string file_name(const std::string& library) { return "libasyncgrad_" + library + ".so"; }

[[noreturn]] void throw_absent(const Launch& launch) {
  std::vector<std::string> others;
  for (const fs::path& folder : folders()) {
    for (const char* library : {"mpich", "openmpi"}) {
      std::error_code error;
      if (fs::exists(folder / file_name(library), error)) others.emplace_back(library);
    }
  }
  throw_error(
      "world",
      fmt::format("this process was started by {} (the environment has {}), and {}; {}", launch.family, launch.evidence,
                  others.empty() ? "asyncgrad was built without MPI"
                                 : fmt::format("asyncgrad was built for {} alone", others.front()),
                  others.empty()
                      ? "the CMake option ASYNCGRAD_MPI=ON builds it for every MPI that is installed (Python: pip "
                        "install --config-settings=cmake.define.ASYNCGRAD_MPI=ON ./python), see docs/dist.md"
                      : "start the program by the mpiexec of that one, or build asyncgrad where both "
                        "are installed"));
}

}  // namespace

Launch launch_of_process() {
  struct Row {
    const char* evidence;
    const char* size;  // the variable that has the number of processes; null: none has
    const char* library;
    const char* family;
  };
  // Open MPI's mpiexec sets PMIX_RANK, too, and so does `srun --mpi=pmix`, whose number of processes is that of its step.
  // Another launcher of PMIx may run inside of such a step, with another number. MPICH's and `srun --mpi=pmi2` set
  // PMI_RANK.
  const char* const space = variable("PMIX_NAMESPACE");
  const bool is_step = space != nullptr && std::string_view(space).starts_with("slurm.");
  const std::array rows = {
      Row{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "openmpi", "Open MPI"},
      Row{"PMI_RANK", "PMI_SIZE", "mpich", "MPICH"},
      Row{"PMIX_RANK", is_step ? "SLURM_STEP_NUM_TASKS" : nullptr, "openmpi", "a launcher that speaks PMIx"}};
  for (const Row& row : rows) {
    if (variable(row.evidence) == nullptr) continue;
    return {.library = row.library,
            .family = row.family,
            .evidence = row.evidence,
            .size = row.size == nullptr ? 0 : number_in(row.size)};
  }
  return {};
}

std::unique_ptr<Transport> connect(const Launch& launch) {
  for (const fs::path& folder : folders()) {
    const fs::path file = folder / file_name(launch.library);
    std::error_code error;
    if (!fs::exists(file, error)) continue;
    // Global: Open MPI's own plug-ins look for its functions there.
    void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) {
      throw_error("world",
                  fmt::format("{} cannot be loaded: {}", launch.family, dlerror()));  // NOLINT(concurrency-mt-unsafe)
    }
    using Make = Transport* (*)(const char** error);
    const auto make = reinterpret_cast<Make>(dlsym(library, "asyncgrad_make_transport"));
    const char* refusal = "its library is another one";
    Transport* const made = make == nullptr ? nullptr : make(&refusal);
    if (made == nullptr) throw_error("world", fmt::format("{} cannot be used: {}", launch.family, refusal));
    return std::unique_ptr<Transport>(made);
  }
  throw_absent(launch);
}

}  // namespace asyncgrad::dist
