// Launches the kernels on the current device. Each function returns a cudaError_t as int.
#pragma once
#include "cuda/launch.h"

namespace marius {

int launch_copy_rows(void* stream, const CopyRows& job, Grid grid);
int launch_segment_sum(void* stream, const SegmentSum& job, Grid grid);
int launch_step_rows(void* stream, const RowStepJob& job, Grid grid);
int launch_step_columns(void* stream, const RowStepJob& job, Grid grid);
int launch_softmax_loss(void* stream, const SoftmaxLoss& job, Grid grid);
int launch_neighbours(void* stream, int stage, const marius_cuda_neighbours& job, Grid grid);

}  // namespace marius
