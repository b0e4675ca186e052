#include "examples/support/demo.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>
#include <vector>

#include "examples/support/checks.h"
#include "examples/support/command_line.h"
#include "examples/support/output_file.h"
#include "examples/support/parse.h"
#include "examples/support/plot.h"
#include "examples/support/print.h"
#include "examples/support/results.h"
#include "examples/support/run_main.h"

namespace support {

namespace ag = asyncgrad;

namespace {

DemoOptions parse(const std::string& name, int argc, const char* const* argv) {
  DemoOptions options;
  CLI::App app(
      fmt::format("Demonstrates a part of the book's chapters; the first line of examples/{}.cpp says which.", name),
      name);
  app.add_option("--device", options.device, "The device that computes. Default: cpu")->type_name("DEVICE");
  CLI::Option* book = app.add_flag("--book", options.book, "Use the book's sizes");
  app.add_flag("--small", options.small, "Use small sizes, for a first look that takes a moment")->excludes(book);
  std::string repeat = std::to_string(options.repeat);
  app.add_option("--repeat", repeat, "Run each benchmark N times and take the shortest time. Default: 3")
      ->type_name("N");
  app.add_option("--json", options.json, "Write the results to this file, as JSON")->type_name("FILE");
  app.add_option("--trace", options.trace, "Record every operation of a run in this file, for https://ui.perfetto.dev")
      ->type_name("FILE");
  app.add_option("--plot", options.plot, "Draw the picture in this file, svg or png")->type_name("FILE");
  options.help = parse_command_line(app, argc, argv);
  if (!options.help.empty()) return options;
  options.repeat = static_cast<int>(parse_whole("--repeat", repeat, 1, 1000));
  use_device(options.device);
  if (!options.plot.empty()) check_picture("--plot", options.plot);
  const std::vector<NamedFile> files{{"--json", options.json}, {"--trace", options.trace}, {"--plot", options.plot}};
  check_distinct(files);
  for (const NamedFile& named : files) {
    if (!named.file.empty()) check_writable(named);
  }
  return options;
}

// Draws the picture, if there is a program for it, and says where it is or why there is none.
void draw_or_say_why(const std::string& program, const std::string& file) {
  const std::string obstacle = program.empty() ? "nothing was recorded" : draw(program, file);
  if (obstacle.empty()) {
    print("picture: {}\n", file);
  } else {
    complain("no picture: {}\n", obstacle);
  }
}

// The text of the recording of `work`.
std::string recorded(const std::function<void()>& work) {
  const TemporaryFile file;
  ag::profiler::start();
  work();
  try {
    ag::profiler::stop(file.path());
  } catch (const ag::Error& error) {
    throw FileError(error.what());
  }
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
  ag::Timer timer;
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
  } catch (const FileError& error) {
    complain("{}: {}\n", name_, error.what());
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
    replace_file(options_.trace, text);
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
                  {"machine", machine()},
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
      replace_file(options_.json, text_of(results(), 2) + "\n");
      support::print("data: {}\n", options_.json);
    });
  }
  return failed_ ? 1 : 0;
}

int demonstrate(int argc, char** argv, void (*show)(Demo&)) {
  return run_main(argc, argv, [&](const std::string& name) {
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
