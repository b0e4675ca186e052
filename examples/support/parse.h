// Parses words of the command line as numbers and sizes. Any thread may call these functions.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace support {

// The user's input cannot be used. The message names the input and says what is accepted. Programs print it and exit
// with status 2.
class BadInput : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Throws BadInput("OPTION: 'TEXT' is not ACCEPTED").
[[noreturn]] void reject(std::string_view option, std::string_view text, std::string_view accepted);

// A whole number from `least` to `most`. This function and those below throw BadInput, naming `option`, for anything
// else.
std::int64_t parse_whole(std::string_view option, std::string_view text, std::int64_t least, std::int64_t most);
// A whole number from 0 to 2^64 - 1.
std::uint64_t parse_seed(std::string_view option, std::string_view text);
// A finite number that is not negative.
double parse_rate(std::string_view option, std::string_view text);
// A number of bytes, at least 1: "1000000", "512KiB", "64MiB", "1GiB", "2TiB".
std::int64_t parse_bytes(std::string_view option, std::string_view text);

// The parts between separators; one empty part for an empty text.
std::vector<std::string> split(std::string_view text, char separator);

}  // namespace support
