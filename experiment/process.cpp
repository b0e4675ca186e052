#include "asyncgrad/experiment/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>

#include "asyncgrad/core/file/descriptor.h"

namespace asyncgrad::experiment {

namespace {

using detail::Descriptor;

volatile std::sig_atomic_t running_child = 0;

extern "C" void end_with_child(int signal) {
  if (running_child > 0) kill(running_child, SIGKILL);
  _exit(128 + signal);
}

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

// A file in memory with `text`, to be read from its start.
Descriptor file_of(const std::string& text) {
  Descriptor file(memfd_create("input", MFD_CLOEXEC));
  if (!file.is_open()) fail("memfd_create");
  if (!detail::write_all(file.number(), text.data(), text.size())) fail("write");
  lseek(file.number(), 0, SEEK_SET);
  return file;
}

std::string read_all(int file) {
  std::string text;
  std::array<char, 65536> buffer;
  for (;;) {
    const ssize_t count = read(file, buffer.data(), buffer.size());
    if (count > 0) text.append(buffer.data(), static_cast<std::size_t>(count));
    if (count == 0 || (count < 0 && errno != EINTR)) return text;
  }
}

// Blocks the signals that end us while a child is started, so that the handler always knows of it.
class SignalsHeld {
 public:
  SignalsHeld() {
    std::signal(SIGCHLD, SIG_DFL);  // a parent may hand down that it is ignored, and then every child's status is lost
    sigemptyset(&ending_);
    for (const int signal : {SIGINT, SIGTERM}) {
      sigaddset(&ending_, signal);
      // A job in the background may have been told to ignore it.
      if (std::signal(signal, end_with_child) == SIG_IGN) std::signal(signal, SIG_IGN);
    }
    pthread_sigmask(SIG_BLOCK, &ending_, &before_);
  }
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;
  ~SignalsHeld() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  const sigset_t& ending() const { return ending_; }
  const sigset_t& before() const { return before_; }

 private:
  sigset_t ending_{}, before_{};
};

// Starts the command with `output` as its captured file; returns its process id, or 0.
pid_t spawn(const Command& command, int input, int output) {
  std::vector<char*> arguments;
  for (const std::string& argument : command.arguments) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);

  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  if (input >= 0) posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, output, command.captured);

  const SignalsHeld held;
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &held.before());
  sigset_t usual = held.ending();
  for (const int signal : {SIGPIPE, SIGXFSZ}) sigaddset(&usual, signal);  // run_main() ignores them
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

  pid_t child = 0;
  const std::string& file = command.file.empty() ? command.arguments[0] : command.file;
  if (posix_spawnp(&child, file.c_str(), &files, &attributes, arguments.data(), environ) != 0) child = 0;
  running_child = child;
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return child;
}

int wait_for(pid_t child) {
  siginfo_t seen;
  // The child stays a zombie until the handler no longer knows it, so the handler never kills another process that got
  // the same number.
  while (waitid(P_PID, static_cast<id_t>(child), &seen, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
  }
  running_child = 0;
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

std::string Outcome::what() const {
  if (!started) return "could not be started";
  if (signal != 0) return fmt::format("was ended by signal {} ({})", signal, strsignal(signal));
  return fmt::format("ended with exit status {}", exit_status);
}

Outcome run_process(const Command& command) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) fail("pipe");
  const Descriptor from_child(ends[0]);
  Descriptor to_us(ends[1]);
  const Descriptor input = command.input ? file_of(*command.input) : Descriptor();
  const pid_t child = spawn(command, input.number(), to_us.number());
  to_us.close();
  if (child == 0) return {};
  Outcome outcome{.started = true, .output = read_all(from_child.number())};
  const int status = wait_for(child);
  if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
  if (WIFEXITED(status)) outcome.exit_status = WEXITSTATUS(status);
  return outcome;
}

}  // namespace asyncgrad::experiment
