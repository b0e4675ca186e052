// The convolutions that tests compute, of blocks of every kind.
#pragma once

#include "tests/autograd/support.h"

namespace asyncgrad::tests {

struct ConvCase {
  Shape x, weight;
  Conv2dOptions options{};
};

// These are small: their gradients are compared with differences.
inline const ConvCase small_convs[] = {
    {{2, 3, 5, 4}, {4, 3, 3, 2}},
    {{2, 3, 5, 4}, {4, 3, 1, 1}},
    {{1, 2, 5, 5}, {2, 2, 3, 3}, {.stride = 2, .padding = 1}},
    {{1, 2, 6, 7}, {3, 2, 2, 3}, {.stride = {2, 3}, .padding = {1, 2}}},
    {{1, 2, 6, 7}, {2, 2, 2, 3}, {.padding = {0, 2}, .dilation = {3, 2}}},
    {{2, 4, 4, 4}, {6, 2, 3, 3}, {.padding = 1, .groups = 2}},
    {{1, 3, 4, 5}, {3, 1, 2, 2}, {.stride = {1, 2}, .groups = 3}},
    {{1, 4, 3, 3}, {4, 2, 1, 1}, {.stride = 2, .groups = 2}},
    {{1, 1, 2, 2}, {1, 1, 2, 2}, {.padding = 3}},
    {{2, 3, 4, 3}, {2, 3, 4, 3}},
    {{2, 3, 1, 1}, {2, 3, 1, 1}},
    {{1, 2, 1, 1}, {3, 2, 3, 3}, {.padding = 1}},
    {{1, 2, 2, 3}, {2, 2, 3, 2}, {.stride = 2, .padding = 2}},
    {{1, 2, 5, 5}, {2, 2, 1, 2}, {.stride = 3}},
    {{1, 3, 5, 4}, {6, 1, 3, 2}, {.padding = 2, .dilation = 2, .groups = 3}},
    {{2, 1, 1, 9}, {2, 1, 1, 3}, {.stride = {1, 2}, .padding = {0, 1}, .dilation = {1, 2}}},
};
// These are larger than blocks of columns and of rows, and have several tiles.
inline const ConvCase large_convs[] = {
    {{2, 30, 13, 11}, {17, 30, 3, 3}, {.padding = 1}},
    {{3, 40, 9, 20}, {5, 40, 3, 3}, {.stride = 2, .padding = {1, 2}}},
    {{1, 300, 10, 10}, {33, 300, 1, 1}},
    {{1, 6, 25, 26}, {12, 3, 5, 5}, {.padding = 2, .dilation = {1, 2}, .groups = 2}},
    {{9, 1, 20, 20}, {6, 1, 5, 5}},
    {{2, 300, 1, 1}, {300, 300, 1, 1}},
    // One channel and few outputs a group, of strides 1 and 2.
    {{2, 40, 17, 19}, {40, 1, 3, 3}, {.padding = 1, .groups = 40}},
    {{2, 6, 30, 21}, {12, 1, 5, 4}, {.stride = 2, .padding = 2, .groups = 6}},
    {{3, 40, 7, 7}, {40, 1, 3, 3}, {.stride = 2, .padding = 1, .groups = 40}},
    {{2, 5, 70, 3}, {5, 1, 5, 2}, {.stride = 2, .padding = {2, 1}, .groups = 5}},
    // The same with planes so small that vectors go along groups, of which the last vector has a part.
    {{3, 37, 7, 7}, {37, 1, 5, 5}, {.stride = 2, .padding = 2, .groups = 37}},
    {{2, 40, 6, 5}, {80, 1, 3, 3}, {.padding = 1, .groups = 40}},
    {{2, 24, 9, 8}, {24, 1, 3, 2}, {.stride = {3, 1}, .padding = {2, 1}, .dilation = {2, 3}, .groups = 24}},
    {{2, 32, 4, 4}, {64, 1, 7, 7}, {.padding = 3, .groups = 32}},
    {{5, 16, 1, 3}, {48, 1, 1, 2}, {.stride = {1, 2}, .groups = 16}},
    {{70, 3, 4, 4}, {5, 3, 3, 3}, {.padding = 1}},
    // Few pixels and few elements of a sum; all columns in classes of their own; a source that is read along pixels.
    {{20, 8, 3, 4}, {32, 8, 1, 1}},
    {{4, 5, 7, 9}, {16, 5, 7, 11}, {.padding = {3, 5}}},
    {{2, 5, 8, 16}, {3, 5, 1, 1}},
    // Planes of many strips by channels, whatever the lanes.
    {{2, 33, 700, 15}, {33, 1, 3, 3}, {.stride = 2, .padding = 1, .groups = 33}},
    // Strides with padding, and outputs in vectors: as many sorted elements as there are, or fewer.
    {{3, 9, 17, 13}, {16, 9, 5, 5}, {.stride = {4, 3}, .padding = 2}},
    {{3, 9, 17, 13}, {16, 9, 3, 2}, {.stride = {4, 3}, .padding = 1}},
    // The elements under the kernel lie far apart.
    {{2, 3, 1, 40}, {4, 3, 1, 3}, {.padding = {0, 30}, .dilation = {1, 30}}},
    {{2, 3, 40, 5}, {20, 3, 3, 1}, {.padding = {30, 0}, .dilation = {30, 1}}},
    {{2, 3, 32, 32}, {32, 3, 8, 8}, {.stride = 8}},
    {{1, 2, 33, 40}, {3, 2, 31, 17}, {.padding = 4}},
};

}  // namespace asyncgrad::tests
