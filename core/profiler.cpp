#include "asyncgrad/core/profiler.h"

#include <fmt/format.h>

#include "asyncgrad/core/engine.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/file/whole_file.h"
#include "asyncgrad/core/profile/summary.h"
#include "asyncgrad/core/profile/timeline.h"
#include "asyncgrad/core/profile/trace.h"
#include "asyncgrad/core/sync/mutex.h"

namespace asyncgrad::profiler {

namespace {

namespace profile = detail::profile;

detail::Mutex state_mutex;  // over starting and stopping, too; held during their waits, by no hook
std::int64_t start_ns ASYNCGRAD_GUARDED_BY(state_mutex) = 0;

void check_started() {
  if (!profile::is_on()) throw_error("profiler", "there is no recording to stop: call start() first");
}

profile::Recorded take() ASYNCGRAD_REQUIRES(state_mutex) {
  mark().wait();
  const std::int64_t end_ns = profile::now_ns();
  return {.start_ns = start_ns, .end_ns = end_ns, .workers = engine_options().workers, .threads = profile::stop()};
}

// The lines of the table.
std::string line(const std::string& name, const std::string& count, double time_s, double total_s) {
  return fmt::format("{:<26}{:>9}{:>12.2f}{:>8.2f} %", name, count, time_s * 1e3,
                     total_s > 0 ? 100 * time_s / total_s : 0);
}
std::string line_of(const OperationTimes& times, double total_s) {
  std::string text = line("  " + times.name, fmt::format("{}", times.count), times.total_s, total_s);
  if (times.total_s <= 0) return text;
  text += times.flops > 0 ? fmt::format("{:>10.1f}", times.flops / times.total_s * 1e-9) : fmt::format("{:>10}", "");
  return text + fmt::format("{:>8.2f}", times.operand_bytes / times.total_s * 1e-9);
}

}  // namespace

void start() {
  const detail::MutexLock lock(state_mutex);
  if (profile::is_on()) throw_error("profiler", "a recording is under way: stop() comes before another start()");
  mark().wait();
  start_ns = profile::now_ns();
  profile::start();
}

Summary stop() {
  const detail::MutexLock lock(state_mutex);
  check_started();
  const profile::Recorded recorded = take();
  return summarize(recorded, timelines(recorded));
}

Summary stop(const std::string& path) {
  const detail::MutexLock lock(state_mutex);
  check_started();
  detail::WholeFile file("profiler", path);
  const profile::Recorded recorded = take();
  const std::vector<profile::OperationTimeline> operations = timelines(recorded);
  const std::string text = trace_text(recorded, operations);
  file.write(text.data(), text.size());
  file.commit();
  return summarize(recorded, operations);
}

double Summary::total_s() const {
  double sum_s = held_back_s + idle_s + front_end_s;
  for (const OperationTimes& times : operations) sum_s += times.total_s;
  return sum_s;
}

std::string Summary::str() const {
  const double all_s = total_s();
  std::string text =
      fmt::format("{:<26}{:>9}{:>12}{:>10}{:>10}{:>8}\n", "", "count", "total ms", "share", "GFLOP/s", "GB/s");
  for (auto times = operations.begin(); times != operations.end();) {
    double kind_s = 0;
    std::string lines;
    const std::string& kind = times->kind;
    for (; times != operations.end() && times->kind == kind; ++times) {
      kind_s += times->total_s;
      lines += line_of(*times, all_s) + "\n";
    }
    text += line(kind, "", kind_s, all_s) + "\n" + lines;
  }
  text += line("held back by admission", "", held_back_s, all_s) + "\n";
  text += line("idle", "", idle_s, all_s) + "\n";
  text += line("front end", "", front_end_s, all_s) + "\n";
  text +=
      line(fmt::format("{} threads{} and front end", workers, devices_s > 0 ? ", GPUs" : ""), "", all_s, all_s) + "\n";
  return text +
         fmt::format("{:.2f} ms from start to stop; the front end waited, or computed meanwhile, for {:.2f} ms\n",
                     elapsed_s * 1e3, front_end_wait_s * 1e3);
}

}  // namespace asyncgrad::profiler
