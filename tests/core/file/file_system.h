// A system that refuses files, for tests.
#pragma once

#include <string>
#include <vector>

namespace asyncgrad::tests {

// What the program asks of the system, fsync and rename, in its order; and one request to refuse. The functions of that
// name in file_system.cpp stand in for the system's.
struct FileSystemCalls {
  std::vector<std::string> made;  // "fsync", "rename", "fsync folder"
  std::string refused;            // one of these names
};
// Null: nothing is noted or refused.
extern FileSystemCalls* file_system_calls;

}  // namespace asyncgrad::tests
