// Draws a node's in-edges with replacement: each draw is among all candidates, by weight where edges have weights.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "graph/edge_choice.h"

namespace marius {

// Chooses edges as EdgeChoice does, but an edge may be drawn again. Edges stand one after another on a line, each as long as its
// weight, or 1. Draws are points of the line, in ascending order. (Inverse transform sampling.) One for each thread.
class RepeatedChoice {
public:
    // The arguments, the order and the exceptions are those of EdgeChoice::choose. A fanout of -1 takes every edge once. Where
    // an edge may be drawn, as many are drawn as are wanted, in total or of its relation.
    void choose(const DrawStream& stream, const Fanout& fanout, const uint32_t* rel, const float* weights,
                const Stretches& candidates, std::vector<int64_t>& chosen) {
        const auto before = static_cast<std::ptrdiff_t>(chosen.size());
        if (rel || weights) among_unequal(stream, fanout, rel, weights, candidates, chosen);
        else among_equal(stream, fanout.all, candidates, chosen);
        std::sort(chosen.begin() + before, chosen.end());
    }

private:
    struct Line {  // of one relation's edges
        double length = 0;
        int64_t last = 0;            // position of its last edge
        std::vector<double> points;  // ascending, those not yet met from `met` on
        size_t met = 0;
    };

    // One draw after another, without a look at the list.
    static void among_equal(DrawStream stream, int64_t wanted, const Stretches& candidates, std::vector<int64_t>& chosen) {
        uint64_t count = 0;
        for (size_t i = 0; i < candidates.size(); i += 2) count += candidates[i + 1] - candidates[i];
        for (int64_t x = 0; count && x < wanted; ++x) {
            int64_t left = static_cast<int64_t>(stream.below(count));
            size_t i = 0;
            for (; left >= candidates[i + 1] - candidates[i]; i += 2) left -= candidates[i + 1] - candidates[i];
            chosen.push_back(candidates[i] + left);
        }
    }

    // One pass finds the lines' lengths, one the edges that the points meet.
    void among_unequal(const DrawStream& stream, const Fanout& fanout, const uint32_t* rel, const float* weights,
                       const Stretches& candidates, std::vector<int64_t>& chosen) {
        for (const uint32_t group : touched_) lines_[group] = {};
        touched_.clear();
        const size_t relations = rel ? fanout.relations : 1;
        if (lines_.size() < relations) lines_.resize(relations);
        const auto each = [&](auto&& visit) {
            for (size_t i = 0; i < candidates.size(); i += 2)
                for (int64_t at = candidates[i]; at < candidates[i + 1]; ++at)
                    visit(at, rel ? rel[at] : 0, weights ? static_cast<double>(weights[at]) : 1.0);
        };
        each([&](int64_t at, uint32_t group, double weight) {
            const int64_t wanted = fanout.of(group);
            if (wanted < 0) chosen.push_back(at);
            if (wanted <= 0 || weight <= 0) return;
            Line& line = lines_[group];
            if (line.length == 0) touched_.push_back(group);
            line.length += weight;
            line.last = at;
        });
        uint64_t drawn = 0;
        for (const uint32_t group : touched_) {
            Line& line = lines_[group];
            for (int64_t x = fanout.of(group); x > 0; --x) line.points.push_back(line.length * in_unit_interval(stream, drawn++));
            std::sort(line.points.begin(), line.points.end());
            line.length = 0;
        }
        each([&](int64_t at, uint32_t group, double weight) {
            Line& line = lines_[group];
            if (line.met == line.points.size() || weight <= 0) return;
            line.length += weight;
            for (; line.met < line.points.size() && (line.points[line.met] < line.length || at == line.last); ++line.met)
                chosen.push_back(at);
        });
    }

    std::vector<Line> lines_;  // by relation, or one
    std::vector<uint32_t> touched_;
};

}  // namespace marius
