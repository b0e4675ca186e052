// What has started this process, and the library that goes with it. Internal.
#pragma once

#include <memory>
#include <string>

#include "asyncgrad/dist/transport.h"

namespace asyncgrad::dist {

// The processes that were started together, as the environment says.
struct Launch {
  std::string library;   // of the family of MPI: "mpich" or "openmpi"; empty: started alone
  std::string family;    // as people call it: "MPICH"
  std::string evidence;  // the environment variable that says so
  int size = 0;          // 0: the environment does not say
};
// Throws Error if several processes were started and nothing connects them.
Launch launch_of_process();

// Loads the library of the launch's family and connects to the other processes. Called by the thread that will use it.
// Throws Error if there is no such library, or if it cannot be loaded or connected.
std::unique_ptr<Transport> connect(const Launch& launch);

}  // namespace asyncgrad::dist
