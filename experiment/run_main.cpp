#include "asyncgrad/experiment/run_main.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <exception>
#include <filesystem>

#include "asyncgrad/core/engine.h"
#include "asyncgrad/experiment/parse.h"
#include "asyncgrad/experiment/print.h"
#include "asyncgrad/experiment/report_on_signal.h"

namespace asyncgrad::experiment {

namespace {

// The first file that a program opens takes the number of a standard stream that is closed, and would receive the
// messages. Here /dev/null takes it instead, opened so that the stream still fails like a closed one.
void occupy_closed_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) == -1) open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

int status_of(const std::string& program, const std::function<int(const std::string&)>& body) {
  try {
    return body(program);
  } catch (const BadInput& error) {
    print_error("{}: {}\nSee {} --help.\n", program, error.what(), program);
    return 2;
  } catch (const std::exception& error) {
    print_error("{}: {}\n", program, error.what());
  } catch (...) {
    print_error("{}: an unknown error occurred\n", program);
  }
  return 1;
}

}  // namespace

int run_main(int argc, char** argv, const std::function<int(const std::string& program)>& body) {
  occupy_closed_streams();
  const ReportOnSignal reports([] { return engine_report(); });
  // A write to a closed pipe and one beyond the limit for files fail, and the program goes on and saves its results.
  for (const int signal : {SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_IGN);
  const std::string program = argc > 0 ? std::filesystem::path(argv[0]).filename().string() : "example";
  const int status = status_of(program, body);
  const std::string failure = output_failure();
  if (failure.empty()) return status;
  print_error("{}: standard output could not be written: {}\n", program, failure);
  return status == 0 ? 1 : status;
}

}  // namespace asyncgrad::experiment
