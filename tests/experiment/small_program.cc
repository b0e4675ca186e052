// A program of a few lines around run_main(): it ends as its first argument says.
#include <unistd.h>

#include <csignal>
#include <iostream>
#include <semaphore>
#include <stdexcept>
#include <string>

#include "asyncgrad/core/file/whole_file.h"
#include "asyncgrad/experiment/parse.h"
#include "asyncgrad/experiment/print.h"
#include "asyncgrad/experiment/report_on_signal.h"
#include "asyncgrad/experiment/run_main.h"

namespace experiment = asyncgrad::experiment;

namespace {

// Asks for two reports in turn and waits for each.
void report_twice() {
  std::counting_semaphore<> reported(0);
  int number = 0;
  const experiment::ReportOnSignal reports([&]() -> std::string {
    reported.release();
    if (++number == 2) throw std::runtime_error("the second is missing");
    return "report " + std::to_string(number);
  });
  for (int i = 0; i < 2; ++i) {
    kill(getpid(), SIGUSR1);
    reported.acquire();
  }
}

int run(const std::string& how, const std::string& file) {
  if (how == "bad input") throw experiment::BadInput("--way: 'bad' is not good");
  if (how == "error") throw std::runtime_error("nothing works");
  if (how == "something else") throw 7;
  if (how == "print") experiment::print("{}\n", std::string(10'000, 'x'));
  if (how == "cout") std::cout << "printed\n";
  if (how == "signal") kill(getpid(), SIGUSR1);
  if (how == "save") {
    experiment::print("printed\n");
    asyncgrad::detail::replace_file("test", file, "saved\n");
  }
  return how == "three" ? 3 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "report") {  // run_main() would take the signals itself
    report_twice();
    return 0;
  }
  return experiment::run_main(
      argc, argv, [&](const std::string&) { return run(argc > 1 ? argv[1] : "", argc > 2 ? argv[2] : ""); });
}
