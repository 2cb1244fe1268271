// Neighbour lists as a stream of bytes, about 5 for each arc. A partitioner reads it many times.
//
// Arc (u, v, weight) is stored as varints: (v - previous v) << 2 | has weight << 1 | opens a list; then u - previous u if it
// opens a list (the previous v is then 0); then the weight if it is not 1. Lists ascend by u, and arcs in a list by v. Each block
// begins by opening a list, so that it can be read alone. A list that continues in the next block is opened there again.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "graph/edges.h"

namespace marius {

// An arc to sort: u << 32 | v, then its weight. Arcs of equal ends add up while they are written.
using ArcRecord = Record<2>;
inline ArcRecord arc_record(uint64_t u, uint64_t v, uint64_t weight) { return {{u << 32 | v, weight}}; }

// Makes two arcs of each training edge, one in each direction, but none of self-loops. `node_rank` gives the nodes' numbers for
// their provisional ids. Returns how many arcs there are.
size_t pack_arcs(const uint32_t* src, const uint32_t* rel, const uint32_t* dst, size_t count, const uint32_t* node_rank,
                 const uint32_t* relation_rank, const EdgeRules& rules, ArcRecord* out);

struct Arc {
    uint32_t target;
    uint64_t weight;
};

// Turns sorted records into blocks.
class ArcWriter {
public:
    static constexpr size_t kMostBytes = 25;  // that one arc takes, at most

    // Appends the complete arcs to `out`. The last one is kept: arcs of equal ends may follow and are added to it.
    void append(const ArcRecord* records, size_t count, std::vector<uint8_t>& out);
    void finish(std::vector<uint8_t>& out);
    void new_block() { open_ = false, last_source_ = 0; }
    uint64_t arcs() const { return arcs_; }

private:
    void write(std::vector<uint8_t>& out);

    ArcRecord waiting_{{0, 0}};  // weight 0: none
    uint64_t last_source_ = 0, last_target_ = 0, arcs_ = 0;
    bool open_ = false;
};

// Calls visit(source, arcs, count, first) for the list of every node, also if it is empty. A long list comes in parts of kPart
// arcs; `first` is true for its first part.
class ArcReader {
public:
    static constexpr size_t kPart = 1 << 16;

    explicit ArcReader(uint64_t nodes) : nodes_(nodes) {}

    template <class Visit>
    void read(const uint8_t* at, const uint8_t* end, Visit&& visit) {
        uint64_t source = 0, target = 0;
        while (at < end) {
            uint64_t token = varint(at, end);
            if (token & 1) {
                source += varint(at, end);
                target = 0;
                if (source >= nodes_) throw std::invalid_argument("arc out of range");
                if (source != source_) turn_to(source, visit);
            }
            target += token >> 2;
            if (target >= nodes_) throw std::invalid_argument("arc out of range");
            if (arcs_.size() == kPart) pass(visit);
            arcs_.push_back({static_cast<uint32_t>(target), token & 2 ? varint(at, end) : 1});
        }
    }

    template <class Visit>
    void finish(Visit&& visit) {
        turn_to(nodes_, visit);
    }

private:
    static uint64_t varint(const uint8_t*& at, const uint8_t* end) {
        uint64_t value = 0;
        for (int shift = 0; at < end && shift < 64; shift += 7) {
            uint8_t byte = *at++;
            value |= static_cast<uint64_t>(byte & 0x7f) << shift;
            if (byte < 0x80) return value;
        }
        throw std::invalid_argument("arcs end inside a number");
    }

    template <class Visit>
    void pass(Visit&& visit) {
        visit(source_, arcs_.data(), arcs_.size(), first_);
        first_ = false;
        arcs_.clear();
    }

    template <class Visit>
    void turn_to(uint64_t source, Visit&& visit) {
        if (source <= source_ && source_ != kNone) throw std::invalid_argument("lists do not ascend");
        if (!arcs_.empty()) pass(visit);
        for (uint64_t lonely = source_ + 1; lonely < source; ++lonely) visit(lonely, arcs_.data(), size_t{0}, true);
        source_ = source;
        first_ = true;
    }

    static constexpr uint64_t kNone = ~0ULL;  // the node before the first
    uint64_t nodes_, source_ = kNone;
    bool first_ = true;
    std::vector<Arc> arcs_;
};

}  // namespace marius
