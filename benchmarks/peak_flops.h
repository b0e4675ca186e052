// The processor's peak speed.
#pragma once

namespace asyncgrad::benchmarks {

// Multiplications and additions of float32 a second, by independent fused multiply-adds on the widest vectors, in
// registers alone, on all cores at once. Takes some tens of milliseconds.
double peak_flops();

}  // namespace asyncgrad::benchmarks
