// What is found out before a long run rather than after it.
#pragma once

#include <string>

#include "asyncgrad/core/device.h"

namespace support {

// Makes the device called `name` the default one. Throws BadInput, naming --device, if there is none.
asyncgrad::Device use_device(const std::string& name);

// Makes the math mode called `name` that of all products, "float32" or "bf16". Throws BadInput, naming --math, if there
// is none.
void use_math_mode(const std::string& name);

// Throws BadInput, naming `option`, if the file cannot be written. Leaves what is there as it is.
void check_writable(const char* option, const std::string& file);

// Throws BadInput, naming `option`, if the file's name is not that of a picture.
void check_picture(const char* option, const std::string& file);

}  // namespace support
