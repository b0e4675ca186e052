"""The faults that mutants.py puts into the CUDA backend, each of which a test must see."""
from dataclasses import dataclass

VALUES, RACES = "asan", "tsan"  # the presets with which a fault is looked for: values and addresses, or races


@dataclass(frozen=True)
class Fault:
    name: str
    file: str  # below backends/cuda
    old: str  # occurs there once
    new: str
    tests: str  # for --gtest_filter
    preset: str = VALUES


FAULTS = [
    # --- Teams, by lines that a block computes
    Fault("barrier left out before the next reduction", "kernels/team.cuh",
          "__syncthreads();  // the next reduction writes there", "", "CudaSoftmaxGrad.*:CudaLogSoftmaxGrad.*", RACES),
    Fault("barrier left out between two steps of a reduction", "kernels/team.cuh",
          "        __syncthreads();\n        if (lane() < width)", "        if (lane() < width)", "CudaSoftmax.*", RACES),
    Fault("barrier for half of a block", "kernels/team.cuh",
          "        __syncthreads();\n        if (lane() < width)",
          "        if (lane() < 128) __syncthreads();\n        if (lane() < width)", "CudaSoftmax.*"),
    Fault("a step of a reduction left out", "kernels/team.cuh",
          "width >= warp_threads; width /= 2", "width > warp_threads; width /= 2", "CudaSoftmax.*"),
    Fault("a shuffle left out", "kernels/team.cuh", "by > 0; by /= 2", "by > 1; by /= 2", "CudaSoftmax.*"),
    Fault("wrong mask", "kernels/team.cuh", "__shfl_sync(~0U", "__shfl_sync(0xFFFFU", "CudaSoftmax.*"),
    Fault("one past the end of a line", "kernels/team.cuh",
          "for (; i < n; i += step) partial", "for (; i <= n; i += step) partial", "CudaSoftmax.*"),
    Fault("a lane takes its neighbour's element", "kernels/team.cuh",
          "i = lane(); i < n; i += lanes) function(i)", "i = lane() / 2; i < n; i += lanes) function(i)", "CudaSoftmax.*"),
    Fault("barrier left out between two steps of a strip's reduction", "kernels/team.cuh",
          "      __syncthreads();\n      if (row() >= height) continue;", "      if (row() >= height) continue;", "CudaSum.*",
          RACES),
    Fault("a row of a strip left out", "kernels/team.cuh", "height = rows / 2; height > 0", "height = rows / 2; height > 1",
          "CudaSum.*"),
    Fault("columns beyond the last", "kernels/reduce.cuh", "strip.is_first_row() && column < lines.inner",
          "strip.is_first_row()", "CudaSum.*"),
    # --- Launches
    Fault("one past the last element", "kernels/for_each.cuh", "threadIdx.x; i < count; i += stride",
          "threadIdx.x; i <= count; i += stride", "CudaFill.*"),
    Fault("blocks overlap", "kernels/for_each.cuh", "threadIdx.x; i < count; i += stride",
          "threadIdx.x; i < count; i += block_threads", "CudaFill.*", RACES),
    Fault("a team goes on with the next team's item", "kernels/for_each.cuh", "item < count; item += stride",
          "item < count; item += stride + 1", "CudaSoftmax.*"),
    # --- Kernels
    Fault("barrier left out between write and read of a square", "kernels/strided_copy.cu",
          "    team.meet();\n    team.each(side * side, [&](std::int64_t i) {\n      const std::int64_t row",
          "    team.each(side * side, [&](std::int64_t i) {\n      const std::int64_t row", "CudaStridedCopy.*", RACES),
    Fault("barrier left out before the next square", "kernels/strided_copy.cu",
          "    });\n    team.meet();\n  }", "    });\n  }", "CudaStridedCopy.*", RACES),
    Fault("the rest of a square is written", "kernels/strided_copy.cu",
          "row = i / side, column = i % side;\n      if (row >= rows || column >= columns) return;",
          "row = i / side, column = i % side;\n      if (row >= rows) return;", "CudaStridedCopy.*"),
    Fault("a whole pack where the last is cut short", "kernels/elementwise.cuh", "if ((i + 1) * size <= numel)",
          "if (i * size < numel)", "CudaElementwise.IsTheCpusForEverySize"),
    Fault("packs that are not aligned", "kernels/pack.cuh",
          "return reinterpret_cast<std::uintptr_t>(data) % sizeof(Pack<T>) == 0;",
          "return reinterpret_cast<std::uintptr_t>(data) % sizeof(T) == 0;", "CudaElementwise.NeedsNoAlignment"),
    Fault("a part beyond a parameter", "kernels/update.cu", "rest < part_elements ? rest : part_elements",
          "part_elements", "CudaUpdate.*"),
    Fault("the first place of a run looks before the first", "kernels/indexing.cu", "return place == 0 || ", "return ",
          "CudaTakeGrad.*"),
    Fault("an index out of range is read", "kernels/indexing.cu",
          "const bool is_there = index >= 0 && index < seen.axis;\n    out[i]",
          "const bool is_there = index <= seen.axis;\n    out[i]", "CudaTake.*"),
    Fault("equal indices get one position", "kernels/sorted_places.cuh", "(begin + i < place && !keys.is_less(key, other))",
          "(begin + i < 0 && !keys.is_less(key, other))", "CudaTakeGrad.*"),
    Fault("the rest of a long run is lost", "kernels/indexing.cu", "next < runs.count && runs.index_at(next) == index",
          "next < place && runs.index_at(next) == index", "CudaScatterAdd.*"),
    Fault("scratch memory too small", "kernels/reduce.cuh", "bytes += 16 * lines.count()", "bytes += 4 * lines.count()",
          "CudaSum.*:CudaArgmax.*"),
    Fault("numbers beyond the tensor", "kernels/random.cu", "i < size && first + i < numel", "i < size", "CudaUniform.*"),
    Fault("an image's earlier tile is forgotten", "kernels/conv_tiles.cuh", "first_output < 0 ? *to : ", "false ? *to : ",
          "*conv2d_of_many_tiles*"),
    Fault("a weight's earlier tiles are forgotten", "kernels/conv.cu", ".accumulates = tile.begin > 0",
          ".accumulates = false", "*conv2d_of_many_tiles*"),
    Fault("every image of a tile reads the first one's columns", "kernels/conv.cu", ".distance = depth * plane",
          ".distance = 0", "*conv2d_of_images*"),
    Fault("one past the last output", "kernels/conv_places.cuh", "at.quotient < axis.out", "at.quotient <= axis.out",
          "*conv*"),
    Fault("a chunk of a weight's gradient is lost", "kernels/conv_direct.cu", "chunk = 1; chunk < chunks",
          "chunk = 2; chunk < chunks", "*direct_in_chunks*"),
    # --- Products
    Fault("transposes exchanged", "kernels/product.cpp", ".transpose_a = attributes.transpose_w",
          ".transpose_a = attributes.transpose_x", "CudaMatmul.*"),
    Fault("wrong leading dimension", "kernels/product.cpp", "lt.matrix_layout_create(&made, type, r, c, rows)",
          "lt.matrix_layout_create(&made, type, r, c, columns)", "CudaMatmul.*"),
    Fault("stale bias pointer", "kernels/product.cpp", "  if (plan.has_bias) {", "  if (false) {",
          "CudaDense.AddsTheBiasOfItsCall"),
    Fault("promised alignment", "kernels/product.cpp", "p.is_aligned ? good_alignment : ", "true ? good_alignment : ",
          "CudaDense.NeedsNoAlignment"),
    Fault("workspace that is not aligned", "kernels/product.cpp", "(256 - address % 256) % 256",
          "(256 - address % 256) % 256 + 64", "CudaMatmul.*"),
    Fault("one matrix for all", "kernels/product.cpp", "repeats ? 0 : rows * columns", "0", "CudaMatmul.*"),
    Fault("relu that loses NaN", "kernels/dense.cu", "relu ? larger(y, T(0)) : y", "relu ? (y > T(0) ? y : T(0)) : y",
          "CudaDense*"),
    # --- Queues
    Fault("missing event", "queue.cpp", "  gpu_.check(gpu_.api().wait_event(stream_.get(), event_of(event)));", "",
          "CudaQueue.*:*CudaPrograms*"),
    Fault("wrong stream", "staging.cpp", "    record(buffer.filled, host_stream_.get());", "    record(buffer.filled, stream_);",
          "CudaQueue.CopiesOfAnySizeHaveTheirBits", RACES),
    Fault("a buffer is used before it is empty", "staging.cpp", "    wait(host_stream_.get(), buffer.drained);\n", "",
          "CudaQueue.*"),
    Fault("a copy is not waited for", "staging.cpp", "  if (last != nullptr) wait(stream_, *last);", "  (void)last;",
          "CudaQueue.*"),
    Fault("a graph keeps old numbers", "launch_graphs.cpp", "if (!take.calls[i].is_same(calls_[i])) take.", "if (false) take.",
          "LaunchGraphs.*"),
]
