// Runs CUDA's kernels on a CPU.
//
// The threads of a block are fibers of one thread of the system, which go on in turns: a thread of a block runs until it
// ends or waits for others. Which warp and which block comes next is drawn from a seed. What would be undefined ends the
// process, with a message that names the kernel, the block, the thread and the line: a barrier or shuffle that not all
// threads of the block or lanes of the mask reach, or that they reach at different lines; a lane that is not in its own
// mask; a shuffle from a lane that is not in the mask; a launch with too many threads.
//
// The address sanitizer sees accesses beyond an array. To the thread sanitizer each thread of a block is a thread of its
// own, and only barriers order them. Every grid is then run by two threads of the system, between which nothing orders
// the blocks, so that it sees races between blocks, too.
//
// A grid gets fewer blocks than it was launched with in every second launch: kernels do all their work with any number
// of blocks, and few tests are large enough that a block comes to a second item otherwise.
//
// The variable EMULATOR_SEED of the environment is the seed: 1 without it.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <map>
#include <string>

namespace asyncgrad::tests::emulator {

// Puts a kernel on a stream: each thread of each block calls `kernel`. Without a stream (null) it runs at once. The name
// lives as long as the process.
void launch(const char* name, unsigned blocks, unsigned threads, cudaStream_t stream, std::function<void()> kernel);

// Of each kernel that was launched since the last call of this function, by its name: the blocks of its largest launch.
std::map<std::string, unsigned> launched();

// Puts any task on a stream, or runs it at once without one.
void enqueue(cudaStream_t stream, std::function<void()> task);

// Who runs the tasks of streams. It is set while no stream is there; null: nobody.
void set_streams(void (*push)(cudaStream_t stream, std::function<void()> task));

}  // namespace asyncgrad::tests::emulator
