#include "examples/support/digits_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include "asyncgrad/experiment/bad_input.h"

namespace digits {

using asyncgrad::experiment::BadInput;

namespace {

// A line of the file, for messages.
struct Place {
  const std::string& path;
  int line;

  [[noreturn]] void fail(const std::string& what) const { throw BadInput(fmt::format("{}:{}: {}", path, line, what)); }
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

Item read_line(std::string_view line, Place place) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  const auto fields = 1 + std::ranges::count(line, ',');
  if (fields != pixels + 1) {
    place.fail(fmt::format("needs {} pixels and a digit, {} numbers, got {}", pixels, pixels + 1, fields));
  }
  Item item;
  int column = 0;
  for (float& pixel : item.first) pixel = static_cast<float>(take_number(line, darkest, ++column, place)) / darkest;
  item.second = take_number(line, classes - 1, ++column, place);
  return item;
}

Data read(const std::string& path) {
  errno = 0;
  std::ifstream file(path);
  if (!file) throw BadInput(fmt::format("{}: cannot be opened: {}", path, std::strerror(errno)));
  Data data;
  std::array<char, 1024> line{};  // bounded: a file without line ends must not fill the memory
  int number = 1;
  for (; file.getline(line.data(), line.size()); ++number) {
    const auto length = static_cast<std::size_t>(file.gcount()) - (file.eof() ? 0 : 1);  // without the line's end
    data.push_back(read_line({line.data(), length}, {path, number}));
  }
  if (file.gcount() > 0) Place{path, number}.fail(fmt::format("is longer than {} characters", line.size() - 1));
  if (file.bad()) throw BadInput(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  if (data.size() < 5) {
    throw BadInput(fmt::format("{}: needs at least five images, got {}", path, data.size()));
  }
  return data;
}

// The shuffle of Fisher and Yates, because std::shuffle may differ from one standard library to the next.
void shuffle(Data& data) {
  std::mt19937_64 random(0);  // a generator of its own: which images are held out depends on no option
  for (std::size_t i = data.size(); i > 1; --i) std::swap(data[i - 1], data[random() % i]);
}

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

}  // namespace

Split load(const std::string& path) {
  Data data = read(path);
  shuffle(data);
  const auto held_out = data.begin() + static_cast<std::ptrdiff_t>(data.size() / 5);
  return {.train = Data(held_out, data.end()), .held_out = Data(data.begin(), held_out)};
}

Tensors tensors_of(const Data& data) {
  std::vector<float> images;
  std::vector<std::int64_t> labels;
  for (const auto& [image, label] : data) {
    images.insert(images.end(), image.begin(), image.end());
    labels.push_back(label);
  }
  return {asyncgrad::Tensor::from(images, {data.size(), pixels}), asyncgrad::Tensor::from(labels, {data.size()})};
}

Batches::Batches(const Data& data, std::int64_t batch_size, std::uint64_t seed)
    : batches_(data, {.batch_size = std::min(batch_size, std::ssize(data)), .seed = seed, .drop_last = true}) {}

Tensors Batches::next() {
  std::optional<std::vector<asyncgrad::Tensor>> batch = batches_.next();
  if (!batch) batch = batches_.next();  // the first of another epoch
  return {.images = (*batch)[0], .labels = (*batch)[1]};
}

double accuracy(const asyncgrad::nn::Function& net, const Data& data) {
  const asyncgrad::Inference inference;
  const Tensors tensors = tensors_of(data);
  return asyncgrad::mean(asyncgrad::argmax(net(tensors.images), 1) == tensors.labels).item();
}

asyncgrad::Tensor enlarged(const asyncgrad::Tensor& images, std::int64_t edge) {
  const asyncgrad::Tensor shares = interpolation(edge);
  const asyncgrad::Tensor high = asyncgrad::matmul(shares, images.reshape({-1, rows, rows}));
  return asyncgrad::matmul(high, shares, {.transpose_w = true}).reshape({-1, 1, edge, edge});
}

std::string default_path() { return ASYNCGRAD_DATA_DIR "/digits.csv"; }

}  // namespace digits
