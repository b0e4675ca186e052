// A system that refuses files, for tests.
#pragma once

#include <string>
#include <vector>

namespace asyncgrad::tests {

// The calls of fsync and rename that the program makes, in their order, and one of them to refuse. The functions of
// these names in file_system.cpp stand in for the system's.
struct FileSystemCalls {
  std::vector<std::string> made;  // "fsync", "rename", "fsync folder"
  std::string refused;            // one of these names
};
// While it is null, nothing is noted or refused.
extern FileSystemCalls* file_system_calls;

}  // namespace asyncgrad::tests
