#include "graph/partitioner.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "graph/hash.h"

namespace marius {

namespace {

constexpr size_t kAhead = 8;

template <class Value, class Use>
void for_targets(const Value* values, const Arc* arcs, size_t count, Use use) {
    for (size_t i = 0; i < count; ++i) {
        if (i + kAhead < count) __builtin_prefetch(values + arcs[i + kAhead].target);
        use(values[arcs[i].target], arcs[i].weight);
    }
}

}  // namespace

void Votes::start(size_t most) {
    const size_t size = std::bit_ceil(2 * most + 2);
    if (size > slots_.size()) {
        slots_.assign(size, 0);
    } else {
        for (const Entry& entry : entries_) slots_[entry.slot] = 0;
    }
    entries_.clear();
    mask_ = size - 1;
}

size_t Votes::find(uint32_t label) const {
    size_t at = mix64(label) & mask_;
    while (slots_[at] && entries_[slots_[at] - 1].label != label) at = (at + 1) & mask_;
    return at;
}

void Votes::add(uint32_t label, uint64_t weight) {
    size_t at = find(label);
    if (slots_[at]) {
        entries_[slots_[at] - 1].weight += weight;
    } else {
        entries_.push_back({label, at, weight});
        slots_[at] = static_cast<uint32_t>(entries_.size());
    }
}

uint64_t Votes::of(uint32_t label) const {
    size_t at = find(label);
    return slots_[at] ? entries_[slots_[at] - 1].weight : 0;
}

void ClusterPass::read(const uint8_t* bytes, size_t count) {
    reader_.read(bytes, bytes + count, [this](auto... list) { visit(list...); });
}

uint64_t ClusterPass::finish() {
    reader_.finish([this](auto... list) { visit(list...); });
    return moves_;
}

void ClusterPass::visit(uint64_t node, const Arc* arcs, size_t count, bool first) {
    if (!first) return;
    if (!count) return fill(node);
    votes_.start(count);
    for_targets(clusters_.labels, arcs, count, [this](uint32_t label, uint64_t weight) { votes_.add(label, weight); });
    const uint32_t own = clusters_.labels[node];
    const uint32_t weight = clusters_.weights ? clusters_.weights[node] : 1;
    const uint64_t salt = seed_ ^ mix64(node);
    uint32_t best = own;
    uint64_t best_votes = votes_.of(own), best_draw = mix64(salt ^ own);
    for (auto [label, slot, votes] : votes_.entries()) {
        if (votes < best_votes || label == own) continue;
        const uint64_t draw = mix64(salt ^ label);  // equal votes: by lot
        if (votes == best_votes && draw <= best_draw) continue;
        if (uint64_t{clusters_.sizes[label]} + weight > clusters_.most) continue;
        best = label, best_votes = votes, best_draw = draw;
    }
    if (best != own) move(node, best, weight);
}

void ClusterPass::fill(uint64_t node) {
    const uint32_t own = clusters_.labels[node], weight = clusters_.weights ? clusters_.weights[node] : 1;
    if (own == lonely_) return;
    if (lonely_ == kNone || uint64_t{clusters_.sizes[lonely_]} + weight > clusters_.most) lonely_ = own;
    else move(node, static_cast<uint32_t>(lonely_), weight);
}

void ClusterPass::move(uint64_t node, uint32_t label, uint32_t weight) {
    clusters_.sizes[clusters_.labels[node]] -= weight;
    clusters_.sizes[label] += weight;
    clusters_.labels[node] = label;
    ++moves_;
}

void Contraction::read(const uint8_t* bytes, size_t count, std::vector<ArcRecord>& out) {
    reader_.read(bytes, bytes + count, [&](uint64_t node, const Arc* arcs, size_t size, bool) { visit(node, arcs, size, out); });
}

void Contraction::finish(std::vector<ArcRecord>& out) {
    reader_.finish([&](uint64_t node, const Arc* arcs, size_t size, bool) { visit(node, arcs, size, out); });
}

void Contraction::visit(uint64_t node, const Arc* arcs, size_t count, std::vector<ArcRecord>& out) {
    votes_.start(count);
    for_targets(labels_, arcs, count, [this](uint32_t label, uint64_t weight) { votes_.add(label, weight); });
    for (auto [label, slot, weight] : votes_.entries())
        if (label != labels_[node]) out.push_back(arc_record(labels_[node], label, weight));
}

void RefinePass::read(const uint8_t* bytes, size_t count) {
    reader_.read(bytes, bytes + count, [this](auto... list) { visit(list...); });
}

uint64_t RefinePass::finish() {
    reader_.finish([this](auto... list) { visit(list...); });
    return moves_;
}

void RefinePass::visit(uint64_t node, const Arc* arcs, size_t count, bool first) {
    if (!first) return;
    const Assignment& a = assignment_;
    std::fill(votes_.begin(), votes_.end(), 0);
    for_targets(a.parts, arcs, count, [this](uint16_t part, uint64_t weight) { votes_[part] += weight; });
    const size_t group = node < a.first ? 0 : a.partitions, own = a.parts[node];
    const int64_t weight = a.weights ? a.weights[node] : 1;
    int64_t* loads = a.loads + group;
    const int64_t* room = a.room + group;
    const bool too_full = loads[own] > room[own];
    size_t best = a.partitions;
    for (size_t part = 0; part < a.partitions; ++part) {
        if (part == own || loads[part] + weight > room[part]) continue;
        if (best == a.partitions || votes_[part] > votes_[best] ||
            (votes_[part] == votes_[best] && room[part] - loads[part] > room[best] - loads[best]))
            best = part;
    }
    if (best == a.partitions) return;
    const bool gains = votes_[best] > votes_[own],
               evens = votes_[best] == votes_[own] && room[best] - loads[best] - weight > room[own] - loads[own];
    if (!(gains || evens || (too_full && (votes_[own] - votes_[best]) * 256 <= loss_ * static_cast<uint64_t>(weight)))) return;
    a.parts[node] = static_cast<uint16_t>(best);
    loads[own] -= weight;
    loads[best] += weight;
    ++moves_;
}

uint64_t number_clusters(uint32_t* labels, uint32_t* sizes, uint64_t nodes) {
    uint32_t found = 0;
    for (uint64_t label = 0; label < nodes; ++label)
        if (sizes[label]) sizes[label] = found++;
    for (uint64_t node = 0; node < nodes; ++node) labels[node] = sizes[labels[node]];
    return found;
}

void lay_out(const uint32_t* parents, const uint32_t* weights, uint64_t nodes, uint32_t* free, uint32_t* starts) {
    for (uint64_t node = 0; node < nodes; ++node) {
        starts[node] = free[parents[node]];
        free[parents[node]] += weights[node];
    }
}

void deal(uint16_t* parts, uint64_t first, uint64_t nodes, uint64_t partitions, const int64_t* room) {
    for (auto [begin, end] : {std::pair{uint64_t{0}, first}, std::pair{first, nodes}}) {
        std::vector<int64_t> next(partitions + 1, 0), ends(room, room + partitions);
        for (uint64_t node = begin; node < end; ++node) ++next[parts[node] + 1];
        std::partial_sum(next.begin(), next.end(), next.begin());
        std::partial_sum(ends.begin(), ends.end(), ends.begin());
        for (uint64_t node = begin; node < end; ++node) {
            auto part = std::upper_bound(ends.begin(), ends.end(), next[parts[node]]++) - ends.begin();
            parts[node] = static_cast<uint16_t>(part);
        }
        room += partitions;
    }
}

void place(const uint16_t* parts, uint64_t nodes, int64_t* starts, uint32_t* order, uint32_t* rank) {
    for (uint64_t i = 0; i < nodes; ++i) rank[order[i]] = static_cast<uint32_t>(starts[parts[i]]++);
    for (uint64_t i = 0; i < nodes; ++i) order[rank[i]] = static_cast<uint32_t>(i);
}

}  // namespace marius
