// Warnings: a program runs, but hardly does what it was written for.
#pragma once

#include <functional>
#include <string>

namespace asyncgrad {

// A mistake that is no error: dropout is on in what looks like evaluation, a loss broadcasts predictions against all
// labels, no parameter of an optimiser gets a gradient, or a tape that is kept makes each step compute values again
// (recompute_to_fit). A line of the program gets each warning once in a process, at the call, before anything is queued.
// Any thread may call the functions of this header.
struct Warning {
  std::string operation;  // "Dropout"
  std::string message;    // what it is about, the values, and what to do
  std::string file;       // of the program's call, as the compiler was given it; empty if it is not known
  int line = 0;
  std::string layer;  // the path of the layer that was called; empty outside of layers

  // "[Dropout] drops half of …, at train.cpp:12, in layer 1.norm".
  std::string str() const;
};

// Switches all warnings off or on; at first they are on.
void set_warnings(bool on);
bool warnings_are_on();

// What is done with a warning; at first it is printed to std::cerr, which an empty function stands for. An exception
// that it throws leaves the call that the warning is about, and the line may then get the warning again. Returns the
// one before.
using WarningHandler = std::function<void(const Warning&)>;
WarningHandler set_warning_handler(WarningHandler handler);

}  // namespace asyncgrad
