#include "examples/support/demo.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>
#include <vector>

#include "asyncgrad/core/file/whole_file.h"
#include "asyncgrad/experiment/checks.h"
#include "asyncgrad/experiment/command_line.h"
#include "asyncgrad/experiment/parse.h"
#include "asyncgrad/experiment/plot.h"
#include "asyncgrad/experiment/run_main.h"
#include "examples/support/print.h"

namespace support {

namespace ag = asyncgrad;
namespace experiment = asyncgrad::experiment;

namespace {

DemoOptions parse(const std::string& name, int argc, const char* const* argv) {
  DemoOptions options;
  std::optional<std::string> device, repeat, json, trace, plot;
  experiment::CommandLine line(
      name,
      fmt::format("Demonstrates a part of the book's chapters; the first line of examples/{}.cpp says which.", name));
  line.option("--device", "DEVICE", device, fmt::format("The device that computes. Default: {}", options.device));
  line.flag("--book", options.book, "Use the book's sizes");
  line.flag("--small", options.small, "Use small sizes, for a first look that takes a moment");
  line.option("--repeat", "N", repeat,
              fmt::format("Run each benchmark N times and take the shortest time. Default: {}", options.repeat));
  line.option("--json", "FILE", json, "Write the results to this file, as JSON");
  line.option("--trace", "FILE", trace, "Record every operation of a run in this file, for https://ui.perfetto.dev");
  line.option("--plot", "FILE", plot, "Draw the picture in this file, svg or png");
  options.help = line.parse(argc, argv);
  if (!options.help.empty()) return options;
  if (options.book && options.small) throw experiment::BadInput("--small excludes --book");
  if (repeat) options.repeat = static_cast<int>(experiment::parse_whole("--repeat", *repeat, 1, 1000));
  options.device = device.value_or(options.device);
  options.json = json.value_or("");
  options.trace = trace.value_or("");
  options.plot = plot.value_or("");
  experiment::use_device(options.device);
  if (!options.plot.empty()) experiment::check_picture("--plot", options.plot);
  const std::vector<experiment::NamedFile> files{
      {"--json", options.json}, {"--trace", options.trace}, {"--plot", options.plot}};
  experiment::check_distinct(files);
  for (const experiment::NamedFile& named : files) {
    if (!named.file.empty()) experiment::check_writable(named);
  }
  return options;
}

// A new empty file in the system's folder for temporary files, under an unpredictable name. It is removed at the end.
class TemporaryFile {
 public:
  TemporaryFile() : path_(std::filesystem::temp_directory_path() / "asyncgrad-XXXXXX") {
    const int file = mkstemp(path_.data());
    if (file < 0) throw std::system_error(errno, std::generic_category(), path_);
    close(file);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { unlink(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Draws the picture, if there is a program for it, and says where it is or why there is none.
void draw_or_say_why(const std::string& program, const std::string& file) {
  experiment::report_picture(program.empty() ? "nothing was recorded" : experiment::draw(program, file), file);
}

// The text of the recording of `work`.
std::string recorded(const std::function<void()>& work) {
  const TemporaryFile file;
  ag::profiler::start();
  work();
  ag::profiler::stop(file.path());
  std::stringstream text;
  text << std::ifstream(file.path()).rdbuf();
  return text.str();
}

}  // namespace

Demo::Demo(std::string name, DemoOptions options) : name_(std::move(name)), options_(std::move(options)) {}

std::int64_t Demo::size(const Sizes& sizes) const {
  return options_.book ? sizes.book : options_.small ? sizes.small : sizes.usual;
}

double Demo::shortest_s(const std::function<void()>& work) const {
  ag::experiment::Timer timer;
  for (int i = 0; i < options_.repeat; ++i) {
    ag::wait_all();
    timer.start();
    work();
    timer.stop();
  }
  return *std::ranges::min_element(timer.times());
}

double Demo::benchmark(const std::string& name, const std::function<void()>& work) {
  const double seconds = shortest_s(work);
  note(name, seconds);
  return seconds;
}

void Demo::note(const std::string& name, double seconds) {
  support::print("{}: {}\n", name, seconds_text(seconds));
  benchmarks_.push_back({{"name", name}, {"seconds", seconds}});
}

void Demo::print(std::string_view text) const { support::print("{}\n", text); }

void Demo::claim(bool holds, const std::string& sentence, const Json& figures, About about) {
  support::print("{} {}\n", holds ? "[holds]" : "[does not hold on this run]", sentence);
  claims_.push_back({{"claim", sentence},
                     {"holds", holds},
                     {"about", about == About::time ? "time" : "values"},
                     {"figures", figures}});
  if (about == About::values && !holds) failed_ = true;
}

void Demo::save(const std::function<void()>& write) {
  try {
    write();
  } catch (const ag::Error& error) {
    print_error("{}: {}\n", name_, error.parts().message);
    failed_ = true;
  }
}

void Demo::chart(const Chart& chart) {
  if (options_.plot.empty()) return;
  save([&] { draw_or_say_why(chart_plot(chart, options_.plot), options_.plot); });
}

void Demo::timeline(const std::string& title, const std::function<void()>& work) {
  if (options_.trace.empty() && options_.plot.empty()) return;
  Json trace;
  save([&] { trace = record(work); });
  if (options_.plot.empty() || trace.is_null()) return;
  save([&] { draw_or_say_why(timeline_plot(trace, title, options_.plot), options_.plot); });
}

void Demo::trace(const std::function<void()>& work) {
  if (!options_.trace.empty()) save([&] { record(work); });
}

Json Demo::record(const std::function<void()>& work) const {
  const std::string text = recorded(work);
  if (!options_.trace.empty()) {
    ag::detail::replace_file("demo", options_.trace, text);
    support::print("trace: {}\n", options_.trace);
  }
  return Json::parse(text);
}

void Demo::skip(const std::string& reason) {
  print(reason);
  skipped_ = reason;
}

Json Demo::results() const {
  Json results = {{"format", 1},
                  {"demo", name_},
                  {"machine", experiment::json_of(experiment::machine())},
                  {"sizes", options_.book    ? "book"
                            : options_.small ? "small"
                                             : "usual"},
                  {"repeat", options_.repeat},
                  {"claims", claims_},
                  {"benchmarks", benchmarks_}};
  if (!skipped_.empty()) results["skipped"] = skipped_;
  return results;
}

int Demo::finish() {
  if (!options_.json.empty()) {
    save([&] {
      ag::detail::replace_file("demo", options_.json, experiment::text_of(results(), 2) + "\n");
      support::print("data: {}\n", options_.json);
    });
  }
  return failed_ ? 1 : 0;
}

int demonstrate(int argc, char** argv, void (*show)(Demo&)) {
  return experiment::run_main(argc, argv, [&](const std::string& name) {
    const DemoOptions options = parse(name, argc, argv);
    if (!options.help.empty()) {
      print("{}", options.help);
      return 0;
    }
    Demo demo(name, options);
    show(demo);
    return demo.finish();
  });
}

bool same_bits(const ag::Tensor& a, const ag::Tensor& b) {
  const std::vector<float> x = a.to_vector<float>(), y = b.to_vector<float>();
  return a.shape() == b.shape() && std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0;
}

}  // namespace support
