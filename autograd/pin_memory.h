// Pinned memory of the CPU, from and to which GPUs copy directly.
//
// A GPU copies by itself, while the CPU computes, only from and to pages of memory that the system cannot move. Other tensors
// pass through such pages piece by piece, for which the CPU copies them once more. So a batch on its way to a GPU, or a
// result on its way back, had better be pinned:
//
//   const ag::Tensor batch = ag::pin_memory(x);      // once, or as the batches are read
//   const ag::Tensor y = net(batch.to("cuda"));      // copied while the GPU computes what was queued before
//
// A pinned tensor is one of the CPU: all operations take it. Memory figures and the budget count it with the CPU's other
// memory, and the memory is kept for the next one, up to the limits of cached memory; that of tensors below a megabyte always
// is. Pinning takes memory from everything else that runs on the machine: pin what is copied.
//
// A library that takes a pinned tensor by DLPack may let go of it while its copies to a GPU are under way: the memory is kept
// until the GPUs in use here have done what they were given. An array of NumPy, or an address (host_data()), has no such
// protection: keep the tensor until the copies from there are done.
//
// On Linux before 5.10, fork before anything is pinned. There the system may move a pinned page that the program writes after
// a fork, while GPUs copy from and to the old one.
#pragma once

#include "asyncgrad/core/tensor.h"

namespace asyncgrad {

// A copy of x in pinned memory: of the same part of the CPU, or of the first one if x is on a GPU. x itself if it is pinned.
// Differentiable; queued, may wait for room. The first call brings a GPU into use if none is. Throws Error if there is none.
// Slices share the pinned memory; results of operations are not pinned, but copy_() writes them to a pinned tensor. In the
// child of a fork the values are there, and nothing more is pinned.
Tensor pin_memory(const Arg& x);

// Whether the tensor's values are, or will be, in pinned memory that pin_memory() has made. Does not block. Throws Error
// for Tensor{}.
bool is_pinned(const Tensor& x);

}  // namespace asyncgrad
