// Fails on an operation of the public headers that docs/operations.md does not list, and on a row without an operation.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/support/temporary_folder.h"

namespace {

namespace fs = std::filesystem;
using Names = std::set<std::string>;  // "autograd/reduce.h sum", "autograd/elementwise.h operator+"

std::vector<std::string> lines_of(const fs::path& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

// The headers of autograd that asyncgrad.h includes, and that of the losses.
std::vector<std::string> headers_of_operations(const fs::path& root) {
  static const std::regex pattern(R"re(#include "asyncgrad/(autograd/\w+\.h|nn/losses\.h)")re");
  std::vector<std::string> headers;
  for (const std::string& line : lines_of(root / "asyncgrad.h")) {
    std::smatch match;
    if (std::regex_match(line, match, pattern)) headers.push_back(match[1]);
  }
  return headers;
}

// The functions that give tensors, or a …Result that holds them. Members are indented, and so are not seen.
Names declared(const fs::path& root, const std::string& header) {
  static const std::regex pattern(R"re((?:(?:[\w:]+<)?Tensor|\w+Result)\b[^()/]*\s(operator[^\s(]+|\w+)\(.*)re");
  Names names;
  for (const std::string& line : lines_of(root / header)) {
    std::smatch match;
    if (std::regex_match(line, match, pattern)) names.insert(header + " " + match[1].str());
  }
  return names;
}

// The name in a call as a row shows it: "sum(x, axes)", "x + y" or "-x".
std::string name_of(const std::string& call) {
  static const std::regex function(R"re((\w+)\(.*)re"), operation(R"re((?:\w+ )?([^\w\s(]+) ?\w+)re");
  std::smatch match;
  if (std::regex_match(call, match, function)) return match[1];
  if (std::regex_match(call, match, operation)) {
    std::string symbol = match[1];
    std::erase(symbol, '\\');  // in front of the bar of x | y, which would end the cell
    return "operator" + symbol;
  }
  return call;
}

// Every call in the first column below a heading that names a header.
Names listed(const fs::path& page) {
  static const std::regex code("`([^`]*)`");
  Names names;
  std::string header;
  for (const std::string& line : lines_of(page)) {
    if (line.starts_with("## ")) header = line.substr(3);
    if (header.empty() || !line.starts_with("| `")) continue;
    const std::string calls = line.substr(2, line.find(" |", 2) - 2);
    for (auto call = std::sregex_iterator(calls.begin(), calls.end(), code); call != std::sregex_iterator(); ++call) {
      names.insert(header + " " + name_of((*call)[1]));
    }
  }
  return names;
}

Names difference(const Names& from, const Names& taken) {
  Names rest;
  std::ranges::set_difference(from, taken, std::inserter(rest, rest.end()));
  return rest;
}

TEST(Operations, AreAllListedInTheDocs) {
  const fs::path root(ASYNCGRAD_SOURCE_DIR);
  Names operations;
  for (const std::string& header : headers_of_operations(root)) operations.merge(declared(root, header));
  const Names rows = listed(root / "docs/operations.md");
  EXPECT_EQ(difference(operations, rows), Names{}) << "these have no row in docs/operations.md";
  EXPECT_EQ(difference(rows, operations), Names{}) << "no header declares these rows of docs/operations.md";
  EXPECT_GT(operations.size(), 60U);
}

TEST(Operations, AreFoundHoweverTheyAreDeclared) {
  const asyncgrad::tests::TemporaryFolder folder;
  std::ofstream(folder.file("some.h"))
      << "Tensor sum(const Arg& x);\nTensor operator/(const Arg& x, const Arg& y);\n"
      << "std::vector<Tensor> split(const Arg& x);\n// Tensor none(int x);\n"
      << "using F = Tensor (*)(const Arg&);\n  Tensor member(int x);\n"
      << "std::pair<Tensor, Tensor> both(\nNormResult norm(int x);\nvoid nothing(Tensor x);\n";
  EXPECT_EQ(declared(folder.path(), "some.h"),
            (Names{"some.h sum", "some.h operator/", "some.h split", "some.h both", "some.h norm"}));
  std::ofstream(folder.file("page.md"))
      << "| `no(header)` | |\n## some.h\n| call |\n|---|\n"
      << "| `x <= y`, `-x`, `x \\| y` | `f(x)` |\n| `sum(x)`, `sum(x, y)` | the sum |\n";
  EXPECT_EQ(listed(folder.file("page.md")),
            (Names{"some.h operator<=", "some.h operator-", "some.h operator|", "some.h sum"}));
}

}  // namespace
