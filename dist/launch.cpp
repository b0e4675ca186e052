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
    fs::path file = info.dli_fname;
    std::error_code error;  // none: a program is known by the word that started it, which need not be its path
    if (!file.is_absolute()) file = fs::read_symlink("/proc/self/exe", error);
    const fs::path here = file.parent_path();
    folders.insert(folders.end(), {here, here / "asyncgrad", here.parent_path() / "lib" / "asyncgrad"});
  }
#ifdef ASYNCGRAD_MPI_FOLDERS
  for (const char* folder : {ASYNCGRAD_MPI_FOLDERS}) folders.emplace_back(folder);
#endif
  return folders;
}

std::string file_name(const std::string& library) { return "libasyncgrad_" + library + ".so"; }

// Null if there is none.
void* load(const Launch& launch) {
  // Global: Open MPI's own plug-ins look for its functions there.
  constexpr int flags = RTLD_NOW | RTLD_GLOBAL;
  for (const fs::path& folder : folders()) {
    const fs::path file = folder / file_name(launch.library);
    std::error_code error;
    if (!fs::exists(file, error)) continue;
    if (void* const library = dlopen(file.c_str(), flags)) return library;
    throw_error("world",
                fmt::format("{} cannot be loaded: {}", launch.family, dlerror()));  // NOLINT(concurrency-mt-unsafe)
  }
  return dlopen(file_name(launch.library).c_str(), flags);  // a program may have a path to where asyncgrad is installed
}

[[noreturn]] void throw_absent(const Launch& launch) {
  std::vector<std::string> others, places;
  for (const fs::path& folder : folders()) {
    places.push_back(folder.string());
    for (const char* library : {"mpich", "openmpi"}) {
      std::error_code error;
      if (fs::exists(folder / file_name(library), error)) others.emplace_back(library);
    }
  }
  std::string what = "asyncgrad was built without MPI";
  std::string advice =
      "the CMake option ASYNCGRAD_MPI=ON builds it for every MPI that is installed (Python: pip install "
      "--config-settings=cmake.define.ASYNCGRAD_MPI=ON ./python), see docs/dist.md";
  if (!others.empty()) {
    what = fmt::format("asyncgrad was built for {} alone", others.front());
    advice = "start the program by the mpiexec of that one, or build asyncgrad where both are installed";
#ifdef ASYNCGRAD_MPI_FOLDERS
  } else {
    what = fmt::format("its library, {}, was not found", file_name(launch.library));
    advice = fmt::format("LD_LIBRARY_PATH may name its folder; it was looked for in {}", fmt::join(places, ", "));
#endif
  }
  throw_error("world", fmt::format("this process was started by {} (the environment has {}), and {}; {}", launch.family,
                                   launch.evidence, what, advice));
}

// `srun` without --mpi starts processes that know nothing of each other.
void check_step() {
  const int tasks = number_in("SLURM_STEP_NUM_TASKS");
  if (tasks < 2) return;
  throw_error(
      "world",
      fmt::format("srun has started {} processes without MPI (the environment has SLURM_STEP_NUM_TASKS), each of "
                  "which would train alone; give srun --mpi=pmi2 or --mpi=pmix, or unset that variable",
                  tasks));
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
  check_step();
  return {};
}

std::unique_ptr<Transport> connect(const Launch& launch) {
  void* const library = load(launch);
  if (library == nullptr) throw_absent(launch);
  using Make = Transport* (*)(const char** error);
  const auto make = reinterpret_cast<Make>(dlsym(library, "asyncgrad_make_transport"));
  const char* refusal = "its library is another one";
  Transport* const made = make == nullptr ? nullptr : make(&refusal);
  if (made == nullptr) throw_error("world", fmt::format("{} cannot be used: {}", launch.family, refusal));
  return std::unique_ptr<Transport>(made);
}

}  // namespace asyncgrad::dist
