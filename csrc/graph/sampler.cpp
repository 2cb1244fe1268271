#include "graph/sampler.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "base/tasks.h"
#include "graph/drawn_set.h"
#include "graph/repeated_choice.h"

namespace marius {
namespace {

constexpr int64_t kTaskNodes = 512;  // that one thread takes at a time
constexpr int64_t kBlock = 32;       // nodes whose cache misses are waited for together
constexpr int64_t kListsAhead = 8;   // nodes whose lists are prefetched before they are read

[[noreturn]] void refuse(const std::string& message) { throw std::invalid_argument(message); }

std::string text(int64_t number) { return std::to_string(number); }

}  // namespace

template <class Id>
void NeighbourSampler<Id>::enter(uint64_t k, const InLists<Id>& lists, int64_t edges) {
    if (k >= residency_.partitions()) refuse("partition " + text(k) + ": there are " + text(residency_.partitions()));
    if (residency_.has(k)) refuse("partition " + text(k) + ": its lists are here already");
    const int64_t size = static_cast<int64_t>(residency_.size(k));
    bool sound = lists.indptr[0] == 0 && lists.indptr[size] == edges;
    for (int64_t i = 0; i < size; ++i) sound &= lists.indptr[i] <= lists.indptr[i + 1];
    Id most = 0;
    for (int64_t e = 0; e < edges; ++e) most = std::max(most, lists.sources[e]);
    if (!sound || (edges && most >= residency_.nodes()))
        refuse("partition " + text(k) + ": indptr does not lead through its " + text(edges) + " sources, or one is no node");
    const bool with_rel = lists.rel != nullptr;
    if (residency_.any() && with_rel != with_rel_)
        refuse("partition " + text(k) + (with_rel ? ": has relations, those before have none" : ": rel is missing"));
    if (residency_.any() && (lists.weights != nullptr) != weighted_)
        refuse("partition " + text(k) + (weighted_ ? ": weights are missing" : ": has weights, those before have none"));
    with_rel_ = with_rel;
    weighted_ = lists.weights != nullptr;
    lists_[k] = lists;
    residency_.set(k, true);
    edges_moved_ += edges;
}

template <class Id>
void NeighbourSampler<Id>::leave(uint64_t k) {
    if (k >= residency_.partitions() || !residency_.has(k)) refuse("partition " + text(k) + ": its lists are not here");
    residency_.set(k, false);
    lists_[k] = {};
}

template <class Id>
void NeighbourSampler<Id>::move(uint64_t k, int64_t base_row) {
    if (k >= residency_.partitions() || !residency_.has(k)) refuse("partition " + text(k) + ": its lists are not here");
    lists_[k].base_row = base_row;
}

template <class Id>
NeighbourSampler<Id> NeighbourSampler<Id>::beside() const {
    NeighbourSampler other(residency_.rows(), residency_.nodes(), everywhere_);
    other.residency_ = residency_;
    other.lists_ = lists_;
    other.with_rel_ = with_rel_;
    other.weighted_ = weighted_;
    return other;
}

template <class Id>
NeighbourSample NeighbourSampler<Id>::sample(const SampleRequest& request) {
    NeighbourSample out;
    add_seeds(request, out);
    out.indptr.push(0);
    int64_t first = 0;
    for (size_t hop = 0; hop < request.fanouts.size(); ++hop) {
        const int64_t last = static_cast<int64_t>(out.nodes.size());
        expand(request, hop, first, last, out);
        first = last;
    }
    return out;
}

template <class Id>
void NeighbourSampler<Id>::add_seeds(const SampleRequest& request, NeighbourSample& out) {
    ids_.clear();
    begin_labels(request.threads);
    ids_.extend(request.seed_count);
    for (int64_t i = 0; i < request.seed_count; ++i) {
        const uint64_t node = static_cast<uint64_t>(request.seeds[i]), k = node / residency_.rows();
        if (node >= residency_.nodes()) refuse("seed " + text(request.seeds[i]) + ": no node");
        if (!everywhere_ && !residency_.has(k))
            refuse("seed " + text(node) + ": the lists of partition " + text(k) + " are not here");
        ids_.data()[i] = static_cast<Id>(node);
    }
    label(0, request.threads, out);
    if (static_cast<int64_t>(out.nodes.size()) == request.seed_count) return;
    for (int64_t i = 0;; ++i)
        if (first_[i] != i) refuse("seed " + text(request.seeds[i]) + ": stands there twice");
}

template <class Id>
void NeighbourSampler<Id>::expand(const SampleRequest& request, size_t hop, int64_t first, int64_t last, NeighbourSample& out) {
    const int64_t count = last - first, from = static_cast<int64_t>(ids_.size());
    out.indptr.extend(count);
    draw(request, hop, out.nodes.data() + first, count, out.indptr.data() + first, {&ids_, &out.rel}, out);
    out.hop_edges.push(static_cast<int32_t>(ids_.size() - from));
    label(from, request.threads, out);
}

template <class Id>
void NeighbourSampler<Id>::draw(const SampleRequest& request, size_t hop, const int64_t* nodes, int64_t count, int64_t* starts,
                                const Drawn& drawn, NeighbourSample& out) {
    const Fanout& fanout = request.fanouts[hop];
    const bool keyed = by_keys(fanout, request.replace);
    if (fanout.of_relation && !with_rel_ && residency_.any()) refuse("fanouts by relation: the lists have no relations");
    expansions_.clear();
    expansions_.extend(count);
    groups_.resize(std::max<size_t>(groups_.size(), (count + kTaskNodes - 1) / kTaskNodes));
    in_tasks(count, kTaskNodes, request.threads, [&](int64_t task, int64_t begin, int64_t end) {
        expand_group(request, nodes + begin, end - begin, keyed ? -1 : fanout.all, expansions_.data() + begin, groups_[task],
                     starts + begin + 1);
        if (keyed)
            choose_group(request, hop, nodes + begin, end - begin, expansions_.data() + begin, groups_[task], starts + begin + 1);
    });
    for (int64_t task = 0; task * kTaskNodes < count; ++task) {
        out.neighbours += groups_[task].neighbours;
        out.missing += groups_[task].missing;
    }
    for (int64_t i = 0; i < count; ++i) starts[i + 1] += starts[i];
    const int64_t before = starts[0], edges = starts[count] - before, from = static_cast<int64_t>(drawn.ids->size());
    require_room(from + edges);
    drawn.ids->extend(edges);
    if (with_rel_) drawn.rel->extend(edges);
    in_tasks(count, kTaskNodes, request.threads, [&](int64_t task, int64_t begin, int64_t end) {
        Id* ids = drawn.ids->data() + from - before;
        uint32_t* rel = with_rel_ ? drawn.rel->data() : nullptr;
        if (keyed) take_group(starts + begin, end - begin, expansions_.data() + begin, groups_[task], ids, rel);
        else
            draw_group(request, hop, nodes + begin, starts + begin, end - begin, expansions_.data() + begin, groups_[task], ids,
                       rel);
    });
}

template <class Id>
void NeighbourSampler<Id>::require_room(int64_t edges) {
    if (static_cast<uint64_t>(edges) > FirstSeen<Id>::kMostPositions)
        refuse(text(edges) + " sampled edges: a batch holds less than 2^31: use fewer seeds or smaller fanouts");
}

template <class Id>
void NeighbourSampler<Id>::expand_group(const SampleRequest& request, const int64_t* nodes, int64_t count, int64_t fanout,
                                        Expansion* expansions, NodeGroup& group, int64_t* counts) const {
    Stretches stretches;
    group.spans.clear();
    group.neighbours = group.missing = 0;
    for (int64_t low = 0; low < count; low += kBlock) {
        const int64_t high = std::min(low + kBlock, count);
        for (int64_t i = low; i < high; ++i) {
            const uint64_t node = static_cast<uint64_t>(nodes[i]), k = residency_.partition_of(static_cast<Id>(node));
            expansions[i].lists = &lists_[k];
            expansions[i].first = static_cast<int64_t>(node - k * residency_.rows());
            __builtin_prefetch(lists_[k].indptr + expansions[i].first);
        }
        for (int64_t i = low; i < high; ++i) {
            Expansion& e = expansions[i];
            const int64_t begin = e.lists->indptr[e.first], end = e.lists->indptr[e.first + 1];
            e.first = begin;
            e.candidates = end - begin;
            e.spans = 0;
            group.neighbours += end - begin;
        }
    }
    // Lists are prefetched a few nodes before they are read.
    const bool complete = everywhere_ || residency_.complete();
    const auto ask = [&](int64_t i) {
        const Expansion& e = expansions[i];
        residency_.prefetch(e.lists->sources, e.first, e.first + e.candidates);
    };
    for (int64_t i = 0; !complete && i < std::min(kListsAhead, count); ++i) ask(i);
    for (int64_t i = 0; i < count; ++i) {
        if (!complete && i + kListsAhead < count) ask(i + kListsAhead);
        if (!complete || request.excluded.may_have(nodes[i])) narrow(request, nodes[i], expansions[i], group, stretches);
        counts[i] = fanout < 0 ? expansions[i].candidates : std::min(fanout, expansions[i].candidates);
    }
}

// Limits what a node may draw from to the neighbours that are resident and not excluded.
template <class Id>
void NeighbourSampler<Id>::narrow(const SampleRequest& request, uint64_t node, Expansion& e, NodeGroup& group,
                                  Stretches& stretches) const {
    const Id* sources = e.lists->sources;
    const auto span_all = [&] {
        e.span = static_cast<uint32_t>(group.spans.size());
        e.spans = static_cast<uint32_t>(stretches.size() / 2);
        group.spans.resize(e.span + e.spans);
        int64_t before = 0;
        for (size_t i = 0; i < e.spans; ++i) {
            group.spans[e.span + i] = {before, stretches[2 * i] - before};
            before += stretches[2 * i + 1] - stretches[2 * i];
        }
        return before;
    };
    const int64_t degree = e.candidates;
    residency_.stretches(sources, e.first, e.first + degree, stretches);
    e.candidates = span_all();
    group.missing += degree - e.candidates;
    if (request.excluded.may_have(node)) {
        group.spans.resize(e.span);
        request.excluded.remove(node, sources, stretches);
        e.candidates = span_all();
    }
}

// Where candidate number `candidate` of a node lies in the lists of its partition.
template <class Id>
uint64_t NeighbourSampler<Id>::position(const Expansion& e, const NodeGroup& group, uint64_t candidate) {
    if (e.spans == 0) return static_cast<uint64_t>(e.first) + candidate;
    const Span* span = group.spans.data() + e.span;
    for (uint32_t left = e.spans; left > 1;) {
        const uint32_t half = left / 2;
        span = span[half].before <= static_cast<int64_t>(candidate) ? span + half : span;
        left -= half;
    }
    return candidate + static_cast<uint64_t>(span->shift);
}

template <class Id>
void NeighbourSampler<Id>::draw_group(const SampleRequest& request, size_t hop, const int64_t* nodes, const int64_t* starts,
                                      int64_t count, const Expansion* expansions, const NodeGroup& group, Id* ids,
                                      uint32_t* rel) const {
    std::vector<uint64_t> drawn;
    DrawnSet set;
    for (int64_t low = 0; low < count; low += kBlock) {
        const int64_t high = std::min(low + kBlock, count), base = starts[low];
        drawn.resize(std::max<size_t>(drawn.size(), starts[high] - base));
        for (int64_t i = low; i < high; ++i) {
            const Expansion& e = expansions[i];
            const int64_t wanted = starts[i + 1] - starts[i];
            uint64_t* out = drawn.data() + (starts[i] - base);
            if (wanted < e.candidates) draw_distinct(DrawStream(request.seed, hop, nodes[i]), e.candidates, wanted, out, set);
            else
                for (int64_t x = 0; x < wanted; ++x) out[x] = x;
            for (int64_t x = 0; x < wanted; ++x) {
                out[x] = position(e, group, out[x]);
                __builtin_prefetch(e.lists->sources + out[x]);
                if (rel) __builtin_prefetch(e.lists->rel + out[x]);
            }
        }
        for (int64_t i = low; i < high; ++i)
            for (int64_t at = starts[i]; at < starts[i + 1]; ++at) {
                const InLists<Id>& lists = *expansions[i].lists;
                ids[at] = lists.sources[drawn[at - base]];
                if (rel) rel[at] = lists.rel[drawn[at - base]];
            }
    }
}

template <class Id>
bool NeighbourSampler<Id>::by_keys(const Fanout& fanout, bool replace) const {
    return fanout.of_relation || ((weighted_ || replace) && fanout.all > 0);
}

// Draws edges by their keys, or with replacement, of those that are resident and not excluded.
template <class Id>
void NeighbourSampler<Id>::choose_group(const SampleRequest& request, size_t hop, const int64_t* nodes, int64_t count,
                                        const Expansion* expansions, NodeGroup& group, int64_t* counts) const {
    thread_local EdgeChoice choice;
    thread_local RepeatedChoice repeated;
    Stretches stretches;
    const Fanout& fanout = request.fanouts[hop];
    group.chosen.clear();
    const auto ask = [&](const Expansion& e) {
        if (fanout.of_relation) __builtin_prefetch(e.lists->rel + e.first);
        if (weighted_) __builtin_prefetch(e.lists->weights + e.first);
    };
    for (int64_t i = 0; i < std::min(kListsAhead, count); ++i) ask(expansions[i]);
    for (int64_t i = 0; i < count; ++i) {
        if (i + kListsAhead < count) ask(expansions[i + kListsAhead]);
        const Expansion& e = expansions[i];
        stretches.clear();
        if (e.spans == 0) stretches = {e.first, e.first + e.candidates};
        for (uint32_t s = 0; s < e.spans; ++s) {
            const Span* span = group.spans.data() + e.span + s;
            const int64_t end = s + 1 < e.spans ? span[1].before : e.candidates;
            stretches.insert(stretches.end(), {span->before + span->shift, end + span->shift});
        }
        const size_t before = group.chosen.size();
        const DrawStream stream(request.seed, hop, nodes[i]);
        const uint32_t* rel = fanout.of_relation ? e.lists->rel : nullptr;
        if (request.replace) repeated.choose(stream, fanout, rel, e.lists->weights, stretches, group.chosen);
        else choice.choose(stream, fanout, rel, e.lists->weights, e.first, stretches, group.chosen);
        counts[i] = static_cast<int64_t>(group.chosen.size() - before);
    }
}

template <class Id>
void NeighbourSampler<Id>::take_group(const int64_t* starts, int64_t count, const Expansion* expansions, const NodeGroup& group,
                                      Id* ids, uint32_t* rel) const {
    for (int64_t i = 0; i < count; ++i) {
        const InLists<Id>& lists = *expansions[i].lists;
        for (int64_t at = starts[i]; at < starts[i + 1]; ++at) {
            const int64_t chosen = group.chosen[at - starts[0]];
            ids[at] = lists.sources[chosen];
            if (rel) rel[at] = lists.rel[chosen];
        }
    }
}

template class NeighbourSampler<uint32_t>;
template class NeighbourSampler<uint64_t>;

}  // namespace marius
