// Faults of the stand-in of cuBLASLt.
#pragma once

#include <cublasLt.h>

#include <map>
#include <string>

namespace asyncgrad::tests::emulator {

// The stand-in computes what the descriptions say, by columns, in double, on the stream it is given. It refuses what
// cuBLASLt's documentation says that cuBLASLt refuses: extents that do not fit, types that do not go together, a leading
// dimension below the rows, an attribute of another size, an operand or a workspace that is less aligned or smaller than
// the chosen algorithm was promised. Its relu gives 0 for NaN, as cuBLASLt's does. Objects that are not destroyed count.
struct CublasLtFaults {
  std::string function{};  // whose `index`-th call from now on returns `status` and does nothing
  int index = 0;
  cublasStatus_t status = CUBLAS_STATUS_INTERNAL_ERROR;
  bool has_no_epilogue = false;  // no algorithm is found for a bias or an activation
  bool has_no_bf16 = false;      // nor for bf16 and tf32, as on GPUs before 8.0
};
void set_faults(const CublasLtFaults& faults);
std::map<std::string, int> cublaslt_calls();  // of each function since set_faults()
int cublaslt_objects();

}  // namespace asyncgrad::tests::emulator
