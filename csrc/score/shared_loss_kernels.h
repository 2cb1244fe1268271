// The parts of shared_loss.cpp that are written for one kind of vectors: the work of one thread on queries and candidates.
#pragma once
#include <cstdint>

namespace marius {

enum class LossOfScores { softmax, logistic, margin };

struct SharedLossTerms {
    LossOfScores loss;
    float margin;  // of logistic and margin
};

// What is subtracted from scores by the candidate's class and the query: `taken` has a row of `queries` numbers for each class.
struct ClassCorrection {
    const std::int64_t* classes;  // of candidates; null: nothing is subtracted
    const float* taken;           // from the first query on
    std::int64_t queries;
};

// Queries that share candidates. `hidden_queries` count from `first_query`.
struct Chunk {
    const float* query;
    std::int64_t queries;
    const float* candidates;
    std::int64_t count, dim;
    const float* corrections;
    ClassCorrection by_class;
    const std::int64_t *hidden_queries, *hidden_candidates;
    std::int64_t hidden, first_query;
    SharedLossTerms terms;
};

constexpr std::int64_t most_blocks = 16;  // of queries in a group, in any kernel
constexpr std::int64_t most_block = 32;   // queries in a block

// Queries whose scores are in memory at a time. They are packed in blocks.
struct Group {
    std::int64_t first, queries, blocks;
    const float* packed;
    const float* positive;  // (blocks, block): the scores of their positives
};

// What the scores of a group with some candidates need. Scores become shares: what is multiplied with candidates and queries to
// make gradients, but for a factor of each query. Of each query in a block: what these candidates add to the loss, a reference
// (softmax: the highest score, from which exponentials are taken; margin: how many candidates add to the loss), and the factor.
// By tiles of AMX, shares are kept as half as many words, with the scores of a turn behind them, and only a turn's pairs.
struct ScoreRoom {
    float *scores, *pairs;            // (blocks, rows, block)
    float* d_query;                   // (blocks, dim, block), before the factor
    float* weighted;                  // queries times their factor
    float *by_dim, *by_row;           // these candidates, packed
    float *reference, *sum, *factor;  // (blocks, block)
};

struct ScoreRoomSizes {  // in numbers
    std::int64_t scores, pairs, d_query, weighted, by_dim, by_row, of_query;
};

struct SharedLossKernel {
    const char* name;
    bool rounds;
    std::int64_t block;           // queries
    std::int64_t unit;            // candidates: the sizes of slices are multiples of it
    std::int64_t blocks;          // of queries in a group, at most
    std::int64_t shares_of_word;  // shares that are kept for each word of memory

    std::int64_t (*slice_rows)(std::int64_t dim);                   // candidates of a slice, at most
    std::int64_t (*packed)(std::int64_t dim, std::int64_t blocks);  // numbers
    ScoreRoomSizes (*sizes)(std::int64_t candidates, std::int64_t dim, std::int64_t blocks);
    void (*pack)(const Chunk& chunk, std::int64_t first, std::int64_t blocks, float* packed);
    // Of candidates [first, last): room.scores become shares, whose products with the candidates are d_query.
    void (*shares)(const Chunk& chunk, const Group& group, std::int64_t first, std::int64_t last, const ScoreRoom& room);
    // Adds room.d_query of a block, times the factor, to the gradients of the chunk's queries (queries, dim).
    void (*add_queries)(const Chunk& chunk, const Group& group, std::int64_t block, const ScoreRoom& room, float* d_query);
    // d_candidates of these candidates, set or added to.
    void (*gradients)(const Chunk& chunk, const Group& group, std::int64_t first, std::int64_t last, const ScoreRoom& room,
                      float* d_candidates, bool add);
};

extern const SharedLossKernel shared_loss_of_4;
#if defined(__x86_64__)
extern const SharedLossKernel shared_loss_of_8, shared_loss_of_16, shared_loss_bf16, shared_loss_amx;
#endif

bool amx_usable();  // by this processor and its operating system

}  // namespace marius
