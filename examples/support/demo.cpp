#include "examples/support/demo.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "examples/support/checks.h"
#include "examples/support/command_line.h"
#include "examples/support/parse.h"
#include "examples/support/plot.h"
#include "examples/support/results.h"

namespace support {

namespace ag = asyncgrad;

namespace {

DemoOptions parse(const std::string& name, int argc, const char* const* argv) {
  DemoOptions options;
  CLI::App app(fmt::format("A demonstration of the book's chapters; the top of examples/{}.cpp says which.", name),
               name);
  app.add_option("--device", options.device, "Where to compute. Default: cpu")->type_name("DEVICE");
  CLI::Option* book = app.add_flag("--book", options.book, "The book's sizes");
  app.add_flag("--small", options.small, "Sizes of a moment, for a first look")->excludes(book);
  std::string repeat = std::to_string(options.repeat);
  app.add_option("--repeat", repeat, "Run each benchmark so often; times are the shortest. Default: 3")->type_name("N");
  app.add_option("--json", options.json, "Where the results go as data")->type_name("FILE");
  app.add_option("--trace", options.trace, "Record every operation of a run: a file for https://ui.perfetto.dev")
      ->type_name("FILE");
  app.add_option("--plot", options.plot, "Where the picture goes, svg or png")->type_name("FILE");
  options.help = parse_command_line(app, argc, argv);
  if (!options.help.empty()) return options;
  options.repeat = static_cast<int>(parse_whole("--repeat", repeat, 1, 1000));
  use_device(options.device);
  if (!options.plot.empty()) check_picture("--plot", options.plot);
  for (const auto& [option, file] :
       {std::pair{"--json", options.json}, {"--trace", options.trace}, {"--plot", options.plot}}) {
    if (!file.empty()) check_writable(option, file);
  }
  return options;
}

void draw_or_say_why(const std::string& program, const std::string& file) {
  const std::string obstacle = program.empty() ? "nothing was recorded" : draw(program, file);
  if (obstacle.empty()) {
    fmt::print("picture: {}\n", file);
  } else {
    fmt::print(stderr, "no picture: {}\n", obstacle);
  }
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
  fmt::print("{}: {}\n", name, seconds_text(seconds));
  std::fflush(stdout);
  benchmarks_.push_back({{"name", name}, {"seconds", seconds}});
}

void Demo::print(std::string_view text) const { fmt::print("{}\n", text); }

void Demo::claim(bool holds, const std::string& sentence, const Json& figures, About about) {
  fmt::print("{} {}\n", holds ? "[holds]" : "[does not hold on this run]", sentence);
  std::fflush(stdout);
  claims_.push_back({{"claim", sentence},
                     {"holds", holds},
                     {"about", about == About::time ? "time" : "values"},
                     {"figures", figures}});
  if (about == About::values && !holds) values_hold_ = false;
}

void Demo::chart(const Chart& chart) const {
  if (!options_.plot.empty()) draw_or_say_why(chart_plot(chart, options_.plot), options_.plot);
}

void Demo::timeline(const std::string& title, const std::function<void()>& work) const {
  if (options_.trace.empty() && options_.plot.empty()) return;
  const Json trace = trace_of(work, options_.trace);
  if (!options_.trace.empty()) fmt::print("trace: {}\n", options_.trace);
  if (!options_.plot.empty()) draw_or_say_why(timeline_plot(trace, title, options_.plot), options_.plot);
}

void Demo::trace(const std::function<void()>& work) const {
  if (options_.trace.empty()) return;
  trace_of(work, options_.trace);
  fmt::print("trace: {}\n", options_.trace);
}

void Demo::skip(const std::string& reason) {
  fmt::print("{}\n", reason);
  skipped_ = reason;
}

int Demo::finish() const {
  if (!options_.json.empty()) {
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
    std::ofstream file(options_.json);
    file << results.dump(2) << '\n';
    file.close();
    if (!file) throw BadInput(fmt::format("--json: cannot write '{}'", options_.json));
    fmt::print("data: {}\n", options_.json);
  }
  return values_hold_ ? 0 : 1;
}

int demonstrate(int argc, char** argv, void (*show)(Demo&)) {
  const std::string name = std::filesystem::path(argv[0]).filename();
  try {
    const DemoOptions options = parse(name, argc, argv);
    if (!options.help.empty()) {
      fmt::print("{}", options.help);
      return 0;
    }
    Demo demo(name, options);
    show(demo);
    return demo.finish();
  } catch (const BadInput& error) {
    fmt::print(stderr, "{}: {}\nSee {} --help.\n", name, error.what(), name);
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", name, error.what());
    return 1;
  }
}

Json trace_of(const std::function<void()>& work, const std::string& file) {
  namespace fs = std::filesystem;
  const fs::path path =
      file.empty() ? fs::temp_directory_path() / fmt::format("asyncgrad_{}.json", getpid()) : fs::path(file);
  ag::profiler::start();
  work();
  ag::profiler::stop(path);
  Json trace = Json::parse(std::ifstream(path));
  if (file.empty()) fs::remove(path);
  return trace;
}

bool same_bits(const ag::Tensor& a, const ag::Tensor& b) {
  const std::vector<float> x = a.to_vector<float>(), y = b.to_vector<float>();
  return a.shape() == b.shape() && std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0;
}

}  // namespace support
