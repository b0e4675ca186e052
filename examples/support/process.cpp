#include "examples/support/process.h"

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
#include <utility>

namespace support {

namespace {

volatile std::sig_atomic_t running_child = 0;

extern "C" void end_with_child(int signal) {
  if (running_child > 0) kill(running_child, SIGKILL);
  _exit(128 + signal);
}

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

class File {
 public:
  explicit File(int number = -1) : number_(number) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { close(); }
  void close() {
    if (number_ >= 0) ::close(std::exchange(number_, -1));
  }
  int number() const { return number_; }

 private:
  int number_;
};

int file_of(const std::string& text) {
  const int file = memfd_create("input", MFD_CLOEXEC);
  if (file < 0) fail("memfd_create");
  write_all(file, text);
  lseek(file, 0, SEEK_SET);
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
    sigemptyset(&ending_);
    for (const int signal : {SIGINT, SIGTERM}) {
      sigaddset(&ending_, signal);
      std::signal(signal, end_with_child);
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
  posix_spawnattr_setsigdefault(&attributes, &held.ending());
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

  pid_t child = 0;
  if (posix_spawnp(&child, arguments[0], &files, &attributes, arguments.data(), environ) != 0) child = 0;
  running_child = child;
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return child;
}

int wait_for(pid_t child) {
  siginfo_t seen;
  // It stays a zombie until it is no longer known to the handler, which so never kills a stranger with the same number.
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
  const File from_child(ends[0]);
  File to_us(ends[1]);
  const File input(command.input ? file_of(*command.input) : -1);
  const pid_t child = spawn(command, input.number(), to_us.number());
  to_us.close();
  if (child == 0) return {};
  Outcome outcome{.started = true, .output = read_all(from_child.number())};
  const int status = wait_for(child);
  if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
  if (WIFEXITED(status)) outcome.exit_status = WEXITSTATUS(status);
  return outcome;
}

void write_all(int file, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = write(file, text.data() + done, text.size() - done);
    if (count < 0 && errno != EINTR) fail("write");
    if (count > 0) done += static_cast<std::size_t>(count);
  }
}

}  // namespace support
