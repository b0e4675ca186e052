// Checks that a program makes before a long run rather than after it.
#pragma once

#include <string>
#include <vector>

#include "asyncgrad/core/device.h"
#include "asyncgrad/core/math_mode.h"

namespace asyncgrad::experiment {

// Makes the device called `name` the default one. Throws BadInput, naming --device, if there is none.
Device use_device(const std::string& name);

// Throws BadInput, naming --math, for a name that no mode has.
MathMode parse_math_mode(const std::string& name);

// A file and the option that names it.
struct NamedFile {
  const char* option;
  std::string file;
};

// Throws BadInput if two options name the same file, be it under different names. Devices such as /dev/null and empty
// names do not count.
void check_distinct(const std::vector<NamedFile>& files);

// Throws BadInput, naming the option, if the file cannot be written, or if it is the one that this program prints to.
// Does not change an existing file.
void check_writable(const NamedFile& named);

// Throws BadInput, naming `option`, if the file's name is not that of a picture.
void check_picture(const char* option, const std::string& file);

}  // namespace asyncgrad::experiment
