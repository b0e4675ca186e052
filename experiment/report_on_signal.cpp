#include "asyncgrad/experiment/report_on_signal.h"

#include <pthread.h>

#include <csignal>
#include <exception>
#include <system_error>
#include <utility>

#include "asyncgrad/experiment/print.h"

namespace asyncgrad::experiment {

namespace {

sigset_t only_usr1() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGUSR1);
  return signals;
}

void print_reports(const std::stop_token& stop, const std::function<std::string()>& report) {
  const sigset_t signals = only_usr1();
  for (;;) {
    int signal = 0;
    sigwait(&signals, &signal);  // ends at the latest when the destructor sends the signal to this thread
    if (stop.stop_requested()) return;
    try {
      print_error("{}\n", report());
    } catch (const std::exception& error) {
      print_error("no report: {}\n", error.what());
    }
  }
}

}  // namespace

ReportOnSignal::ReportOnSignal(std::function<std::string()> report) {
  // The thread gets no signals but those it waits for: what ends the process must not end it here while another thread
  // holds that back.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::jthread([report = std::move(report)](const std::stop_token& stop) { print_reports(stop, report); });
  } catch (const std::system_error& error) {
    print_error("SIGUSR1 will print no report: {}\n", error.what());
  }
  sigaddset(&before, SIGUSR1);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

ReportOnSignal::~ReportOnSignal() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  pthread_kill(thread_.native_handle(), SIGUSR1);
  thread_.join();
}

}  // namespace asyncgrad::experiment
