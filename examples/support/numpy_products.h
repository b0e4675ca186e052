// The same products in numpy, for comparison.
#pragma once

#include <cstdint>
#include <optional>

namespace support {

// The shortest time in seconds, of `repeat`, in which numpy draws ten random matrices of `size` rows and columns and
// multiplies each by itself; nothing if this machine's python3 has no numpy.
std::optional<double> numpy_products_s(std::int64_t size, int repeat);

}  // namespace support
