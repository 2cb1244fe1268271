// The native tests' one tool: a check that prints where it failed and ends the program.
#pragma once
#include <cstdio>
#include <cstdlib>

#define CHECK(condition)                                                                 \
    do {                                                                                 \
        if (!(condition)) {                                                              \
            std::fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition); \
            std::exit(1);                                                                \
        }                                                                                \
    } while (0)

#define CHECK_THROWS(expression, type)                                                           \
    do {                                                                                         \
        bool thrown = false;                                                                     \
        try {                                                                                    \
            expression;                                                                          \
        } catch (const type&) {                                                                  \
            thrown = true;                                                                       \
        }                                                                                        \
        if (!thrown) {                                                                           \
            std::fprintf(stderr, "%s:%d: did not throw: %s\n", __FILE__, __LINE__, #expression); \
            std::exit(1);                                                                        \
        }                                                                                        \
    } while (0)
