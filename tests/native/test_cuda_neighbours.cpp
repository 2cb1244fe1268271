// The GPU's sampling stages, by several threads in any order: what the CPU's sampler gives.
#include <limits>
#include <thread>

#include "cuda/neighbours.h"
#include "graph/sampler.h"
#include "places.h"

using namespace marius;

namespace {

std::int64_t below(std::int64_t bound) { return static_cast<std::int64_t>(random_bits() % static_cast<std::uint64_t>(bound)); }

// Lists of nodes 0 .. rows * partitions - 1; many edges lead into few nodes, and from few.
struct Graph {
    std::int64_t rows, partitions;
    std::vector<std::vector<std::int64_t>> indptr;
    std::vector<std::vector<std::uint32_t>> sources, rel;

    Graph(std::int64_t r, std::int64_t p, std::int64_t edges) : rows(r), partitions(p), indptr(p), sources(p), rel(p) {
        std::vector<std::vector<std::uint32_t>> lists(rows * partitions);
        for (std::int64_t e = 0; e < edges; ++e)
            lists[below(2) ? below(rows * partitions) : below(3)].push_back(
                static_cast<std::uint32_t>(below(3) ? below(rows * partitions) : below(5)));
        for (std::int64_t k = 0; k < partitions; ++k) {
            indptr[k].push_back(0);
            for (std::int64_t node = k * rows; node < (k + 1) * rows; ++node) {
                std::sort(lists[node].begin(), lists[node].end());
                sources[k].insert(sources[k].end(), lists[node].begin(), lists[node].end());
                indptr[k].push_back(static_cast<std::int64_t>(sources[k].size()));
            }
            for (std::size_t e = 0; e < sources[k].size(); ++e) rel[k].push_back(static_cast<std::uint32_t>(below(7)));
        }
    }
};

using Numbers = std::vector<std::int64_t>;

// Three threads take the places of a grid in a random order.
template <int stage>
void run(const Neighbours& job) {
    const Grid grid{2, 32};
    std::vector<Place> places;
    for (std::int64_t at = 0; at < grid.blocks * grid.threads; ++at)
        places.push_back({.block = at / grid.threads,
                          .blocks = grid.blocks,
                          .thread = static_cast<int>(at % grid.threads),
                          .threads = grid.threads});
    std::shuffle(places.begin(), places.end(), random_bits);
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t)
        threads.emplace_back([&, t] {
            for (std::size_t at = t; at < places.size(); at += 3) neighbours<stage>(job, places[at]);
        });
    for (std::thread& thread : threads) thread.join();
}

struct Found {
    Numbers nodes, rows, indptr = {0}, labels, rel, hop_edges, hop_nodes;
    std::int64_t neighbours = 0, missing = 0;
};

// What stands between the stages: sums, and a table large enough from the start.
struct Device {
    Neighbours job = {};
    std::vector<std::uint64_t> keys;
    std::vector<std::int32_t> values, slots, is_new, rank, labels;
    Numbers ids, new_nodes, new_rows;
    Found found;

    explicit Device(std::int64_t size) : keys(size, ~std::uint64_t{0}), values(size, std::numeric_limits<std::int32_t>::max()) {
        job.keys = keys.data();
        job.values = values.data();
        job.mask = size - 1;
    }

    void insert(Numbers inserted) {
        ids = std::move(inserted);
        for (auto* each : {&slots, &is_new, &rank, &labels}) each->assign(ids.size(), -1);
        job.count = static_cast<std::int64_t>(ids.size());
        job.known = static_cast<std::int64_t>(found.nodes.size());
        job.ids = ids.data();
        job.slots = slots.data();
        job.is_new = is_new.data();
        run<marius_insert>(job);
        run<marius_mark_new>(job);
        std::partial_sum(is_new.begin(), is_new.end(), rank.begin());
        const std::int64_t new_count = rank.empty() ? 0 : rank.back();
        new_nodes.assign(new_count, -1);
        new_rows.assign(new_count, -1);
        job.rank = rank.data();
        job.labels = labels.data();
        job.new_nodes = new_nodes.data();
        job.new_rows = new_rows.data();
        run<marius_label>(job);
        run<marius_keep_labels>(job);
        found.nodes.insert(found.nodes.end(), new_nodes.begin(), new_nodes.end());
        found.rows.insert(found.rows.end(), new_rows.begin(), new_rows.end());
        found.labels.insert(found.labels.end(), labels.begin(), labels.end());
        found.hop_nodes.push_back(new_count);
    }

    void hop(std::int64_t hop, std::int64_t fanout) {
        const Numbers nodes = new_nodes;
        const std::size_t count = nodes.size();
        Numbers counts(count), first(count), candidates(count), starts(count + 1);
        std::vector<marius_cuda_range> in_edges(count), removals(count);
        std::vector<marius_cuda_shift> shifts(count * job.resident_count);
        job.hop = hop;
        job.fanout = fanout;
        job.count = job.node_count = static_cast<std::int64_t>(count);
        job.nodes = nodes.data();
        job.counts = counts.data();
        job.in_edges = in_edges.data();
        job.first = first.data();
        job.candidates = candidates.data();
        job.removals = removals.data();
        job.shifts = shifts.data();
        run<marius_expand>(job);
        std::partial_sum(counts.begin(), counts.end(), starts.begin() + 1);
        for (const marius_cuda_range& each : in_edges) found.neighbours += each.begin, found.missing += each.end;
        const std::int64_t edges = starts.back();
        Numbers drawn(edges, -1), inserted(edges, -1);
        std::vector<std::uint64_t> drawn_set(2 * edges, ~std::uint64_t{0});
        std::vector<std::uint32_t> rel(edges);
        job.starts = starts.data();
        job.drawn = drawn.data();
        job.drawn_set = drawn_set.data();
        job.ids = inserted.data();
        job.rel = rel.data();
        run<marius_draw>(job);
        job.count = edges;
        run<marius_fetch>(job);
        for (std::size_t i = 1; i <= count; ++i) found.indptr.push_back(found.indptr.back() + counts[i - 1]);
        found.rel.insert(found.rel.end(), rel.begin(), rel.end());
        found.hop_edges.push_back(edges);
        insert(std::move(inserted));
    }
};

template <class T>
bool same(const Numbers& found, const Growing<T>& expected) {
    return std::equal(found.begin(), found.end(), expected.data(), expected.data() + expected.size());
}

void samples(std::int64_t rows, std::int64_t partitions, std::int64_t edges, const Numbers& fanouts, int excluded) {
    static constexpr std::uint32_t none = 0;
    const Graph graph(rows, partitions, edges);
    NeighbourSampler<std::uint32_t> cpu(rows, rows * partitions);
    std::vector<marius_cuda_lists> lists(partitions);
    std::vector<marius_cuda_range> resident;
    Numbers here;
    for (std::int64_t k = 0; k < partitions; ++k) {
        if (k > 0 && below(3) == 0) continue;
        const std::uint32_t* rel = graph.rel[k].empty() ? &none : graph.rel[k].data();
        cpu.enter(k, {900 * k, graph.indptr[k].data(), graph.sources[k].data(), rel},
                  static_cast<std::int64_t>(graph.sources[k].size()));
        lists[k] = {graph.indptr[k].data(), graph.sources[k].data(), rel, 900 * k};
        if (resident.empty() || resident.back().end != k * rows) resident.push_back({k * rows, k * rows});
        resident.back().end += rows;
        for (std::int64_t node = k * rows; node < (k + 1) * rows; ++node) here.push_back(node);
    }
    std::shuffle(here.begin(), here.end(), random_bits);
    const Numbers seeds(here.begin(), here.begin() + static_cast<std::int64_t>(here.size()) / 2);
    std::vector<std::pair<std::int64_t, std::int64_t>> pairs;  // destination, source
    for (int e = 0; e < excluded; ++e)
        pairs.emplace_back(below(2) ? below(4) : below(rows * partitions), below(rows * partitions));
    std::sort(pairs.begin(), pairs.end());
    Numbers dst, src, both;
    for (const auto& [to, from] : pairs) {
        dst.push_back(to);
        src.push_back(from);
        both.insert(both.end(), {from, to});
    }
    std::vector<Fanout> asked(fanouts.begin(), fanouts.end());
    const NeighbourSample expected = cpu.sample(
        {seeds.data(), static_cast<std::int64_t>(seeds.size()), asked, 77, 2, ExcludedEdges(both.data(), pairs.size(), false)});
    std::int64_t size = 1;
    while (size <= rows * partitions) size *= 2;
    Device device(size);
    std::vector<marius_cuda_shift> removed(pairs.size());
    device.job.lists = lists.data();
    const bool complete = static_cast<std::int64_t>(here.size()) == rows * partitions;
    device.job.resident = resident.data();
    device.job.resident_count = complete ? 0 : static_cast<std::int64_t>(resident.size());
    device.job.rows_per_partition = rows;
    device.job.seed = 77;
    device.job.excluded_dst = dst.data();
    device.job.excluded_src = src.data();
    device.job.count = device.job.excluded_count = static_cast<std::int64_t>(pairs.size());
    device.job.removed = removed.data();
    run<marius_find_excluded>(device.job);
    device.insert(seeds);
    for (std::size_t h = 0; h < fanouts.size(); ++h) device.hop(static_cast<std::int64_t>(h), fanouts[h]);
    const Found& found = device.found;
    CHECK(same(found.nodes, expected.nodes) && same(found.rows, expected.rows) && same(found.hop_nodes, expected.hop_nodes));
    CHECK(same(found.indptr, expected.indptr) && same(found.labels, expected.labels) && same(found.rel, expected.rel));
    CHECK(same(found.hop_edges, expected.hop_edges));
    CHECK(found.neighbours == expected.neighbours && found.missing == expected.missing);
}

}  // namespace

int main() {
    for (int round = 0; round < 4; ++round)
        for (const Numbers& fanouts :
             {Numbers{}, Numbers{3, 2}, Numbers{-1, 1}, Numbers{40, 5}, Numbers{0, 2}, Numbers{2, 2, 2}}) {
            samples(30, 1, 300, fanouts, 40);
            samples(17, 6, 1500, fanouts, 0);
            samples(17, 6, 1500, fanouts, 200);
            samples(1, 40, 500, fanouts, 60);
        }
}
