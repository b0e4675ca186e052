// A process's share of each batch.
#pragma once

namespace asyncgrad::data {

// Of `count` equal parts of a batch, which are numbered from 0, those from number `index` on, `length` of them.
struct Share {
  int index = 0;
  int count = 1;
  int length = 1;
};

}  // namespace asyncgrad::data
