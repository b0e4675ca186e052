// A process's share of each batch.
#pragma once

namespace asyncgrad::data {

// One of `count` equal parts, numbered from 0.
struct Share {
  int index = 0;
  int count = 1;
};

}  // namespace asyncgrad::data
