// The CPU's part of a copy through pinned memory: it gathers records into a block, or scatters a block into the table.
#pragma once
#include "cuda/api.h"

namespace marius {

void gather_records(const marius_cuda_host_rows& rows);   // block[i] = table[rows[i]]
void scatter_records(const marius_cuda_host_rows& rows);  // table[rows[i]] = block[i]; rows do not repeat

}  // namespace marius
