// The operations of attention on one contiguous row of scores. Internal.
#pragma once

#include <cstdint>

#include "asyncgrad/backends/cpu/dispatch.h"

namespace asyncgrad::detail {

// A row of products q k^T, which becomes a row of e^scores in place.
template <class T>
struct ScoreRow {
  T* scores;
  std::int64_t n;
  std::int64_t visible;  // the scores from here on are hidden
  T scale;
  const T* mask;           // added to the scaled scores; or null
  std::int64_t mask_step;  // 1, or 0 for a number that all share
};

template <class T>
struct AttentionRows {
  // Updates `maximum`, the largest score of the columns so far, turns the scores into e^(score - maximum) and adds them
  // to `sum`. Returns the factor with which earlier powers, which are in `sum` already, have to be multiplied. The
  // power of a hidden score is 0, and the maximum is -inf as long as all scores are hidden.
  T (*powers)(const ScoreRow<T>& row, T& maximum, double& sum);
  // Turns the scores into shares e^(score - log_sum): what softmax gives. All are 0 if log_sum is -inf.
  void (*shares)(const ScoreRow<T>& row, T log_sum);
  // gradients = shares (gradients - mean) scale
  void (*gradients)(const T* shares, T* gradients, T mean, T scale, std::int64_t n);
  void (*scale_and_add)(T* out, T scale, const T* more, std::int64_t n);  // out = out scale + more
  void (*scale)(T* out, T scale, std::int64_t n);
  double (*dot)(const T* x, const T* y, std::int64_t n);
};

// The functions for the best instruction set that this processor has.
const FloatingLoops<AttentionRows>& attention_rows();

}  // namespace asyncgrad::detail
