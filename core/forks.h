// Whether a fork waits for the engine; core/engine.h says what it does then.
#pragma once

namespace asyncgrad {

// Chooses whether a fork of the calling thread waits until everything is finished; at first it does. A fork that waits
// for nothing has a child that can do little but start another program or end.
void set_forks_wait(bool wait);

namespace detail {

bool forks_wait();  // whether forks of the calling thread wait

// While it lives, forks of the calling thread wait for nothing: a library that it calls may start a program, while the
// thread holds locks that a fork waits for.
class ForksWaitForNothing {
 public:
  ForksWaitForNothing() { set_forks_wait(false); }
  ForksWaitForNothing(const ForksWaitForNothing&) = delete;
  ForksWaitForNothing& operator=(const ForksWaitForNothing&) = delete;
  ~ForksWaitForNothing() { set_forks_wait(waited_); }

 private:
  const bool waited_ = forks_wait();
};

}  // namespace detail

}  // namespace asyncgrad
