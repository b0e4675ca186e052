// Reads files that are damaged at random, or made of random pieces, as layers and checkpoints:
//
//   safetensors_fuzz [--minutes M | --files N] [--seed S]
//
// A file must be refused with an Error that names it, and nothing may have changed then; or it is read, and written
// again it has the same tensors and texts. Built with the sanitizers by scripts/fuzz.sh, the program also ends where
// the reader touches memory that is not its own. Prints totals; the status is 0 if no file did anything else. The file
// of the first one that did is left in the working folder.
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "asyncgrad/nn/safetensors/file.h"
#include "tests/nn/safetensors/reference.h"

namespace asyncgrad::tests {
namespace {

namespace safetensors = nn::safetensors;

// A file in memory, with a path.
class MemoryFile {
 public:
  MemoryFile() : number_(memfd_create("fuzz", MFD_CLOEXEC)), path_(fmt::format("/proc/self/fd/{}", number_)) {}
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { close(number_); }

  const std::string& path() const { return path_; }
  void put(const std::string& content) const {
    const auto size = static_cast<ssize_t>(content.size());
    if (ftruncate(number_, 0) != 0 || pwrite(number_, content.data(), content.size(), 0) != size) std::abort();
  }

 private:
  int number_;
  std::string path_;
};

// What the files are read into.
struct Program {
  nn::Dense net{3, 2};
  Tensor count = zeros({}, {.dtype = int64}), exact = zeros({3}, {.dtype = float64});
  std::int64_t epoch = 1;
  double rate = 0.5;
  std::string note = "a";
  Generator generator{3, 4};

  void members(nn::Members& m) {
    m("net", net);
    m("count", count);
    m("exact", exact);
    m("epoch", epoch);
    m("rate", rate);
    m("note", note);
    m("generator", generator);
  }
  std::string contents() const {
    std::string all = fmt::format("{} {} {} {} {}", epoch, rate, note, generator.seed(), generator.place());
    for (const auto& [name, tensor] : nn::state(*this)) all += name + tensor.str();
    return all;
  }
};

class Fuzzer {
 public:
  explicit Fuzzer(std::uint64_t seed) : random_(seed) {
    checkpoint_.add("program", program_);
    const std::string path = fmt::format("/tmp/safetensors_fuzz_{}", getpid());
    nn::save(path, program_);
    add_seed(path);
    checkpoint_.save(path);
    add_seed(path);
    unlink(path.c_str());
    seeds_.emplace_back(std::begin(safetensors::reference), std::end(safetensors::reference));
    before_ = program_.contents();
  }

  // Returns false if the file did what it may not.
  bool one_file() {
    const std::string content = draw_file();
    ++files;
    std::string complaint;
    try {
      file_.put(content);
      complaint = check();
    } catch (const std::exception& error) {
      complaint = fmt::format("an exception of another type: {}", error.what());
    }
    if (complaint.empty()) return true;
    fmt::print(stderr, "file {}: {}\n", files, complaint);
    std::ofstream("safetensors_fuzz.failed", std::ios::binary) << content;
    return false;
  }

  std::int64_t files = 0, read = 0, loaded = 0;

 private:
  void add_seed(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    seeds_.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }

  std::size_t below(std::size_t end) { return end == 0 ? 0 : random_() % end; }

  // --- The files.

  std::string draw_file() {
    std::string file = below(4) == 0 ? made_up() : seeds_[below(seeds_.size())];
    const std::size_t changes = below(6);
    for (std::size_t i = 0; i < changes; ++i) change(file);
    if (below(4) != 0) make_length_fit(file);
    return file;
  }

  // Makes a file that is mostly right, so that it is not refused at once.
  std::string made_up() {
    const char* names[] = {
        "program.net.weight", "program.net.bias", "program.count", "net.weight", "net.bias", "count", "exact", "",
        "__metadata__",       "\\u0000"};
    const std::pair<const char*, std::size_t> types[] = {{"F32", 4}, {"F64", 8}, {"I64", 8}, {"BF16", 2},
                                                         {"F16", 2}, {"U8", 1},  {"I8", 1}};
    std::string text = "{";
    std::size_t end = 0;
    const std::size_t tensors = below(6);
    for (std::size_t i = 0; i < tensors; ++i) {
      const auto [type, size] = types[below(std::size(types))];
      const std::size_t rows = below(4), columns = below(4), begin = end;
      end += rows * columns * size;
      text += fmt::format(R"({}"{}":{{"dtype":"{}","shape":[{},{}],"data_offsets":[{},{}]}})", i == 0 ? "" : ",",
                          names[below(std::size(names))], type, rows, columns, begin, end);
    }
    return std::string(8, '\0') + text + "}" + std::string(end, 'v');
  }

  void change(std::string& file) {
    static constexpr std::string_view pieces[] = {"{",
                                                  "}",
                                                  "[",
                                                  "]",
                                                  ",",
                                                  ":",
                                                  "\"",
                                                  "\\",
                                                  "0",
                                                  "-1",
                                                  "1e9",
                                                  "18446744073709551615",
                                                  "9223372036854775808",
                                                  "4294967296",
                                                  "null",
                                                  "true",
                                                  "\"a\"",
                                                  "{\"a\":",
                                                  "\"dtype\"",
                                                  "\"shape\"",
                                                  "\"data_offsets\"",
                                                  "\"__metadata__\"",
                                                  "F32",
                                                  "F64",
                                                  "BF16",
                                                  "F4",
                                                  "[0,0]",
                                                  "[0,8]",
                                                  "[8,0]",
                                                  "\xff",
                                                  "\xc3",
                                                  "\\ud800",
                                                  "integer ",
                                                  "random ",
                                                  "nan"};
    const std::size_t at = below(file.size()), length = 1 + below(20);
    switch (below(8)) {
      case 0:
        if (!file.empty()) file[at] = static_cast<char>(random_());
        return;
      case 1:
        file.erase(at, length);
        return;
      case 2:
        file.insert(at, pieces[below(std::size(pieces))]);
        return;
      case 3:
        file.insert(at, file.substr(below(file.size()), length));
        return;
      case 4:
        file.resize(at);
        return;
      case 5:
        return change_number(file);
      case 6: {
        std::string repeated;
        const std::string_view piece = pieces[below(std::size(pieces))];
        for (std::size_t i = below(300); i > 0; --i) repeated += piece;
        file.insert(at, repeated);
        return;
      }
      default:
        file.replace(at, length, pieces[below(std::size(pieces))]);
    }
  }

  void change_number(std::string& file) {
    std::vector<std::size_t> digits;
    for (std::size_t i = 8; i < file.size(); ++i) {
      if (file[i] >= '0' && file[i] <= '9') digits.push_back(i);
    }
    if (!digits.empty()) file[digits[below(digits.size())]] = static_cast<char>('0' + below(10));
  }

  // Sets the header's length so that it ends with the brace that closes it, as far as one can tell.
  static void make_length_fit(std::string& file) {
    if (file.size() < 8) return;
    std::size_t depth = 0, end = 8;
    while (end < file.size()) {
      const char c = file[end++];
      depth += c == '{' ? 1 : 0;
      if (c == '}' && (depth == 0 || --depth == 0)) break;
    }
    while (end < file.size() && file[end] == ' ') ++end;
    const std::uint64_t size = end - 8;
    std::memcpy(file.data(), &size, 8);
  }

  // --- What they may do.

  std::string check() {
    std::string complaint;
    const bool is_read = passes([&] { complaint = check_reader(); }, complaint);
    read += is_read ? 1 : 0;
    if (complaint.empty()) complaint = check_load([&] { nn::load(file_.path(), program_, {.strict = below(2) == 0}); });
    if (complaint.empty()) complaint = check_load([&] { checkpoint_.load(file_.path()); });
    return complaint;
  }

  // Whether the call throws no Error. An Error that does not name the file makes a complaint.
  template <class Call>
  bool passes(Call&& call, std::string& complaint) {
    try {
      call();
      return true;
    } catch (const Error& error) {
      if (std::string_view(error.what()).find(file_.path()) == std::string_view::npos) {
        complaint = fmt::format("an Error that does not name the file: {}", error.what());
      }
      return false;
    }
  }

  // Expects that the file has the same tensors and texts after it is read and written again.
  std::string check_reader() const {
    const safetensors::Reader reader("fuzz", file_.path());
    const safetensors::Header& header = reader.header();
    std::uint64_t data_bytes = 0;
    std::set<std::string> names;
    for (const auto& tensor : header.tensors) {
      if (!names.insert(tensor.name).second) return "a name twice";
      if (tensor.begin_byte != data_bytes) return "a gap";
      data_bytes = tensor.end_byte;
    }
    const std::string text = safetensors::header_text(header, reader.name());
    const safetensors::Header again = safetensors::parse_header(text.substr(8), data_bytes, reader.name());
    if (again.metadata != header.metadata || again.tensors.size() != header.tensors.size()) return "another header";
    for (std::size_t i = 0; i < header.tensors.size(); ++i) {
      const auto &a = header.tensors[i], &b = again.tensors[i];
      if (a.name != b.name || a.type != b.type || a.extents != b.extents || a.end_byte != b.end_byte) {
        return "another tensor";
      }
    }
    return "";
  }

  template <class Load>
  std::string check_load(Load&& load) {
    std::string complaint;
    if (passes(load, complaint)) {
      ++loaded;
      before_ = program_.contents();
    } else if (complaint.empty() && program_.contents() != before_) {
      complaint = "a load that failed has changed something";
    }
    return complaint;
  }

  std::mt19937_64 random_;
  MemoryFile file_;
  std::vector<std::string> seeds_;
  Program program_;
  Checkpoint checkpoint_;
  std::string before_;
};

}  // namespace
}  // namespace asyncgrad::tests

int main(int count, char** arguments) {
  double minutes = 1;
  std::int64_t files = -1;
  std::uint64_t seed = 1;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string_view option = arguments[i];
    if (option == "--minutes") minutes = std::strtod(arguments[i + 1], nullptr);
    if (option == "--files") files = std::strtoll(arguments[i + 1], nullptr, 10);
    if (option == "--seed") seed = std::strtoull(arguments[i + 1], nullptr, 10);
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(60 * minutes);
  asyncgrad::tests::Fuzzer fuzzer(seed);
  bool is_good = true;
  while (is_good && (files < 0 ? std::chrono::steady_clock::now() < end : fuzzer.files < files)) {
    is_good = fuzzer.one_file();
  }
  fmt::print("{} files with the seed {}: {} were in the format, {} loads went through\n", fuzzer.files, seed,
             fuzzer.read, fuzzer.loaded);
  return is_good ? 0 : 1;
}
