#include "graph/arcs.h"

namespace marius {

namespace {

void put(std::vector<uint8_t>& out, uint64_t value) {
    for (; value >= 0x80; value >>= 7) out.push_back(static_cast<uint8_t>(value | 0x80));
    out.push_back(static_cast<uint8_t>(value));
}

}  // namespace

size_t pack_arcs(const uint32_t* src, const uint32_t* rel, const uint32_t* dst, size_t count, const uint32_t* node_rank,
                 const uint32_t* relation_rank, const EdgeRules& rules, ArcRecord* out) {
    constexpr size_t kAhead = 16;
    ArcRecord* end = out;
    for (size_t i = 0; i < count; ++i) {
        if (i + kAhead < count) {
            __builtin_prefetch(node_rank + src[i + kAhead]);
            __builtin_prefetch(node_rank + dst[i + kAhead]);
        }
        const uint64_t s = node_rank[src[i]], d = node_rank[dst[i]];
        if (s == d || split_of(s, relation_rank[rel[i]], d, rules) != 0) continue;
        *end++ = arc_record(s, d, 1);
        *end++ = arc_record(d, s, 1);
    }
    return static_cast<size_t>(end - out);
}

void ArcWriter::write(std::vector<uint8_t>& out) {
    const uint64_t source = waiting_.word[0] >> 32, target = waiting_.word[0] & 0xffffffff;
    const bool opens = !open_ || source != last_source_, weighs = waiting_.word[1] != 1;
    put(out, (opens ? target : target - last_target_) << 2 | static_cast<uint64_t>(weighs) << 1 | opens);
    if (opens) put(out, source - last_source_);
    if (weighs) put(out, waiting_.word[1]);
    last_source_ = source, last_target_ = target, open_ = true;
    ++arcs_;
}

void ArcWriter::append(const ArcRecord* records, size_t count, std::vector<uint8_t>& out) {
    for (size_t i = 0; i < count; ++i) {
        if (waiting_.word[1] && waiting_.word[0] == records[i].word[0]) {
            waiting_.word[1] += records[i].word[1];
            continue;
        }
        if (waiting_.word[1]) write(out);
        waiting_ = records[i];
    }
}

void ArcWriter::finish(std::vector<uint8_t>& out) {
    if (waiting_.word[1]) write(out);
    waiting_.word[1] = 0;
}

}  // namespace marius
