// Reads and writes files for the tests of the examples.
#pragma once

#include <string>

#include "asyncgrad/experiment/json.h"
#include "tests/support/files.h"

namespace asyncgrad::experiment {

using asyncgrad::tests::content;
using asyncgrad::tests::number_of_files;
using asyncgrad::tests::write;

inline Json json_in(const std::string& file) { return Json::parse(content(file)); }

}  // namespace asyncgrad::experiment
