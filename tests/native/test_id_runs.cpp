// Runs of raw ids: a merge is the sorted union, every id of a run gets its place there; runs that are wrong are refused.
#include <algorithm>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "check.h"
#include "folder.h"
#include "graph/id_runs.h"

using namespace marius;

namespace {

constexpr uint64_t kKey = 11;

template <class T>
std::vector<std::byte> raw(const std::vector<T>& values) {
    std::vector<std::byte> bytes(values.size() * sizeof(T));
    if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
}

template <class T>
std::vector<T> from(const std::vector<std::byte>& bytes) {
    std::vector<T> values(bytes.size() / sizeof(T));
    if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
}

template <class Keys>
struct Kind;
template <>
struct Kind<IntKeys> {
    using Raw = int64_t;
    static Raw make(uint64_t number) { return static_cast<int64_t>(number * 0x9e3779b97f4a7c15ULL); }
};
template <>
struct Kind<StringKeys> {
    using Raw = std::string;
    static Raw make(uint64_t number) {
        return number == 0        ? std::string()
               : number % 50 == 0 ? std::string(3000 + number, 'x')
                                  : std::string("\0é", 3) + std::to_string(number);
    }
};

RunFiles write_run(const Folder& folder, const std::string& name, const std::vector<int64_t>& ids) {
    write_bytes(folder / (name + ".values"), raw(ids));
    return {folder / (name + ".values"), "", ids.size(), ids.size() * 8};
}

RunFiles write_run(const Folder& folder, const std::string& name, const std::vector<std::string>& ids) {
    std::vector<char> text;
    std::vector<uint64_t> ends;
    for (const auto& id : ids) {
        text.insert(text.end(), id.begin(), id.end());
        ends.push_back(text.size());
    }
    write_bytes(folder / (name + ".values"), raw(text));
    write_bytes(folder / (name + ".ends"), raw(ends));
    return {folder / (name + ".values"), folder / (name + ".ends"), ids.size(), text.size()};
}

std::vector<int64_t> read_run(const Folder& folder, size_t, int64_t) { return from<int64_t>(bytes_of(folder / "values")); }

std::vector<std::string> read_run(const Folder& folder, size_t count, const std::string&) {
    const auto text = from<char>(bytes_of(folder / "values"));
    const auto ends = from<uint64_t>(bytes_of(folder / "ends"));
    CHECK(ends.size() == count && (ends.empty() ? 0 : ends.back()) == text.size());
    std::vector<std::string> ids;
    for (size_t i = 0; i < count; ++i)
        ids.emplace_back(text.begin() + static_cast<long>(i ? ends[i - 1] : 0), text.begin() + static_cast<long>(ends[i]));
    return ids;
}

template <class Keys>
auto in_order(uint64_t mask) {
    return [mask](const auto& a, const auto& b) {
        const uint64_t x = Keys::hash(a, kKey) & mask, y = Keys::hash(b, kKey) & mask;
        return x != y ? x < y : a < b;
    };
}

// `mask`: the bits of the hash that are used, none or few so that most ids collide.
template <class Keys>
void merges(size_t runs, uint64_t mask, bool wide, size_t buffer, size_t step) {
    using Raw = typename Kind<Keys>::Raw;
    const Folder folder;
    std::mt19937_64 rng(runs * 7 + buffer);
    const auto before = in_order<Keys>(mask);
    std::vector<std::vector<Raw>> ids(runs);
    std::vector<Raw> all;
    std::vector<RunFiles> files;
    std::vector<std::string> numbers;
    for (size_t r = 0; r < runs; ++r) {
        for (uint64_t n = 0; n < 900; ++n)
            if (r != 1 && rng() % (r + 2) == 0) ids[r].push_back(Kind<Keys>::make(n));  // run 1 is empty
        std::sort(ids[r].begin(), ids[r].end(), before);
        all.insert(all.end(), ids[r].begin(), ids[r].end());
        files.push_back(write_run(folder, std::to_string(r), ids[r]));
        numbers.push_back(folder / ("numbers" + std::to_string(r)));
    }
    std::sort(all.begin(), all.end(), before);
    all.erase(std::unique(all.begin(), all.end()), all.end());
    RunMerge<Keys> merge(files, numbers, folder / "values", folder / "ends", kKey, mask, wide, buffer);
    size_t more, made = 0;
    do made += more = merge.advance(step);
    while (more == step);
    CHECK(made == all.size() && merge.merged() == made);
    CHECK(merge.advance(step) == 0 && merge.merged() == made);
    CHECK(read_run(folder, made, Raw()) == all);
    for (size_t r = 0; r < runs; ++r) {
        const auto bytes = bytes_of(numbers[r]);
        std::vector<uint64_t> found = wide ? from<uint64_t>(bytes) : std::vector<uint64_t>();
        if (!wide)
            for (uint32_t number : from<uint32_t>(bytes)) found.push_back(number);
        CHECK(found.size() == ids[r].size());
        for (size_t i = 0; i < found.size(); ++i) CHECK(all.at(found[i]) == ids[r][i]);
    }
}

template <class Keys>
size_t merge_all(const Folder& folder, const std::vector<RunFiles>& files) {
    std::vector<std::string> numbers;
    for (size_t r = 0; r < files.size(); ++r) numbers.push_back(folder / ("n" + std::to_string(r)));
    RunMerge<Keys> merge(files, numbers, folder / "values", folder / "ends", kKey, ~0ULL, false, 64);
    return merge.advance(1'000'000);
}

template <class Keys>
void wrong_runs_are_refused() {
    using Raw = typename Kind<Keys>::Raw;
    const Folder folder;
    std::vector<Raw> ids;
    for (uint64_t n = 1; n < 40; ++n) ids.push_back(Kind<Keys>::make(n));
    std::sort(ids.begin(), ids.end(), in_order<Keys>(~0ULL));
    const RunFiles good = write_run(folder, "good", ids);
    CHECK(merge_all<Keys>(folder, {good, good}) == ids.size());
    std::swap(ids[3], ids[30]);
    CHECK_THROWS(merge_all<Keys>(folder, {write_run(folder, "unordered", ids)}), std::runtime_error);
    std::swap(ids[3], ids[30]);
    for (const char* part : {".values", ".ends"}) {
        if (std::is_same_v<Keys, IntKeys> && part[1] == 'e') continue;
        for (size_t gone : {1, 8, 60}) {
            RunFiles cut = write_run(folder, "cut", ids);
            auto bytes = bytes_of(folder / (std::string("cut") + part));
            bytes.resize(bytes.size() - gone);
            write_bytes(folder / (std::string("cut") + part), bytes);
            CHECK_THROWS(merge_all<Keys>(folder, {good, cut}), std::runtime_error);
        }
    }
    RunFiles longer = good;
    longer.count += 1, longer.bytes += 8;
    CHECK_THROWS(merge_all<Keys>(folder, {longer}), std::runtime_error);
    CHECK_THROWS(merge_all<Keys>(folder, {{folder / "none", folder / "none", 3, 24}}), std::runtime_error);
}

void damaged_ends_are_refused() {
    const Folder folder;
    const std::vector<std::string> ids{"abc", "def", "ghi"};
    for (uint64_t wrong : {uint64_t{0}, uint64_t{2}, uint64_t{10}, uint64_t{1} << 40, ~uint64_t{0}}) {
        const RunFiles run = write_run(folder, "run", ids);
        write_bytes(folder / "run.ends", raw(std::vector<uint64_t>{3, wrong, 9}));
        CHECK_THROWS(merge_all<StringKeys>(folder, {run}), std::runtime_error);
    }
}

}  // namespace

int main() {
    for (size_t runs : {1, 2, 3, 17})
        for (uint64_t mask : {~0ULL, 0xffULL << 56, 0xffULL, 0ULL}) {
            merges<IntKeys>(runs, mask, runs % 2, runs == 3 ? 8 : 512, 100);
            merges<StringKeys>(runs, mask, runs % 2, runs == 3 ? 8 : 512, runs == 2 ? 100'000 : 64);
        }
    merges<IntKeys>(0, ~0ULL, false, 64, 10);
    merges<StringKeys>(0, ~0ULL, false, 64, 10);
    wrong_runs_are_refused<IntKeys>();
    wrong_runs_are_refused<StringKeys>();
    damaged_ends_are_refused();
}
