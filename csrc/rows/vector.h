// Lets the compiler build a function for several vector widths and pick one when the program starts.
#pragma once

// Not under sanitizers, which are not ready yet when the choice is made.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define MARIUS_VECTOR_CLONES __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define MARIUS_VECTOR_CLONES
#endif
