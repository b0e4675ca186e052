#include "examples/support/digits_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "examples/support/parse.h"

namespace digits {

namespace {

struct Rows {
  std::vector<float> images;
  std::vector<std::int64_t> labels;
};

// A line of the file, for messages.
struct Place {
  const std::string& path;
  int line;

  [[noreturn]] void fail(const std::string& what) const {
    throw support::BadInput(fmt::format("{}:{}: {}", path, line, what));
  }
};

// Takes the integer before the next comma off the line's front.
int take_number(std::string_view& line, int largest, int column, Place place) {
  const std::string_view field = line.substr(0, line.find(','));
  line.remove_prefix(std::min(field.size() + 1, line.size()));
  int number = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), number);
  if (error != std::errc() || end != field.data() + field.size() || number < 0 || number > largest) {
    place.fail(fmt::format("number {} of the line is not an integer of 0 to {}: \"{}\"", column, largest, field));
  }
  return number;
}

void read_line(std::string_view line, Place place, Rows& rows) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  const auto fields = 1 + std::ranges::count(line, ',');
  if (fields != pixels + 1) {
    place.fail(fmt::format("needs {} pixels and a digit, {} numbers, got {}", pixels, pixels + 1, fields));
  }
  for (int pixel = 0; pixel < pixels; ++pixel) {
    rows.images.push_back(static_cast<float>(take_number(line, darkest, pixel + 1, place)) / darkest);
  }
  rows.labels.push_back(take_number(line, classes - 1, pixels + 1, place));
}

Rows read(const std::string& path) {
  errno = 0;
  std::ifstream file(path);
  if (!file) throw support::BadInput(fmt::format("{}: cannot be opened: {}", path, std::strerror(errno)));
  Rows rows;
  std::array<char, 1024> line{};  // bounded: a file without line ends must not fill the memory
  int number = 1;
  for (; file.getline(line.data(), line.size()); ++number) {
    const auto length = static_cast<std::size_t>(file.gcount()) - (file.eof() ? 0 : 1);  // without the line's end
    read_line({line.data(), length}, {path, number}, rows);
  }
  if (file.gcount() > 0) Place{path, number}.fail(fmt::format("is longer than {} characters", line.size() - 1));
  if (file.bad()) throw support::BadInput(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  if (rows.labels.size() < 5) {
    throw support::BadInput(fmt::format("{}: needs at least five images, got {}", path, rows.labels.size()));
  }
  return rows;
}

std::vector<std::int64_t> permutation(std::int64_t count, std::mt19937_64& random) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  // The shuffle of Fisher and Yates, because std::shuffle may differ from one standard library to the next.
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  return order;
}

Data pick(const Rows& rows, std::span<const std::int64_t> which) {
  std::vector<float> images;
  std::vector<std::int64_t> labels;
  for (const std::int64_t row : which) {
    const auto first = rows.images.begin() + row * pixels;
    images.insert(images.end(), first, first + pixels);
    labels.push_back(rows.labels[static_cast<std::size_t>(row)]);
  }
  return {asyncgrad::Tensor::from(images, {which.size(), pixels}), asyncgrad::Tensor::from(labels, {which.size()})};
}

}  // namespace

Split load(const std::string& path) {
  const Rows rows = read(path);
  std::mt19937_64 random(0);  // a generator of its own: which images are held out depends on no option
  const std::vector<std::int64_t> order = permutation(static_cast<std::int64_t>(rows.labels.size()), random);
  const std::span<const std::int64_t> all(order);
  const std::size_t held_out = order.size() / 5;
  return {.train = pick(rows, all.subspan(held_out)), .held_out = pick(rows, all.first(held_out))};
}

namespace {

constexpr std::int64_t rows = 8;  // and columns of an image

// A matrix (edge, rows) that interpolates: each pixel of the larger image lies between two of the smaller one, or on
// one at the edge.
asyncgrad::Tensor interpolation(std::int64_t edge) {
  std::vector<float> shares(static_cast<std::size_t>(edge * rows));
  for (std::int64_t i = 0; i < edge; ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * rows / static_cast<double>(edge) - 0.5;
    const double place = std::clamp(centre, 0.0, static_cast<double>(rows - 1));
    const auto first = std::min(static_cast<std::int64_t>(place), rows - 2);
    const auto at = static_cast<std::size_t>(i * rows + first);
    shares[at + 1] = static_cast<float>(place - static_cast<double>(first));
    shares[at] = 1 - shares[at + 1];
  }
  return asyncgrad::Tensor::from(shares, {edge, rows});
}

Data enlarged(const Data& data, std::int64_t edge) {
  const asyncgrad::Tensor shares = interpolation(edge), images = data.images.reshape({data.size(), rows, rows});
  const asyncgrad::Tensor high = asyncgrad::matmul(shares, images);
  return {asyncgrad::matmul(high, shares, {.transpose_w = true}).reshape({data.size(), 1, edge, edge}), data.labels};
}

}  // namespace

Split enlarged(const Split& split, std::int64_t edge) {
  return {.train = enlarged(split.train, edge), .held_out = enlarged(split.held_out, edge)};
}

Batches::Batches(Data data, std::int64_t size, std::mt19937_64& random)
    : data_(std::move(data)), size_(std::min(size, data_.size())), random_(random) {}

Data Batches::next() {
  if (!order_.defined() || at_ + size_ > data_.size()) {
    order_ = shuffled(data_.size(), random_);
    at_ = 0;
  }
  const asyncgrad::Tensor which = order_.slice(at_, at_ + size_);
  at_ += size_;
  return {asyncgrad::take(data_.images, which), asyncgrad::take(data_.labels, which)};
}

std::string default_path() { return ASYNCGRAD_DATA_DIR "/digits.csv"; }

asyncgrad::Tensor shuffled(std::int64_t count, std::mt19937_64& random) {
  return asyncgrad::Tensor::from(permutation(count, random), {count});
}

}  // namespace digits
