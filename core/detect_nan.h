// Finds the operation that made a NaN.
#pragma once

namespace asyncgrad {

// While it lives, every operation that the calling thread queues looks through what it has computed, and fails if there
// is a NaN: as after every failure, waits for its results and for values that depend on them throw Error, which names
// the operation, its line and its layer; for a gradient also the forward line and that of backward(). Values that it
// wrote in place are lost. So the error reports the first such operation in the program's order, under every schedule.
// If an input had the NaN already, because it was made outside of the scope, the error says so.
//
// It reads every result once more, and costs nothing outside of a scope. Operations on a GPU throw Error in a scope,
// because their results cannot be read there. Does not block. Scopes of one thread end in the reverse order of their
// beginning.
//
//   const DetectNan detect;
//   Tensor loss = mean(log(net(x)));
//   loss.backward();
//   loss.wait();  // [log] made NaN: element 7 of float32 (32, 10) … queued at train.cpp:31, in layer 2
class DetectNan {
 public:
  [[nodiscard]] DetectNan();
  DetectNan(const DetectNan&) = delete;
  DetectNan& operator=(const DetectNan&) = delete;
  ~DetectNan();

 private:
  bool outer_;
};

}  // namespace asyncgrad
