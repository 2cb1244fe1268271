// Runs of raw ids on disk, in their final order, (keyed hash, raw id); merges several runs into one.
//
// A run of integers is a file of int64; a run of strings is a file of their bytes, one after the other, and one of uint64, where
// each ends. Ids do not repeat inside a run. The merge numbers distinct ids 0, 1, 2, ... and writes them as a run of their own;
// for each run it writes the numbers of its ids, in order.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "graph/id_table.h"
#include "io/sequential.h"

namespace marius {

struct RunFiles {
    std::string values, ends;  // `ends` is for strings alone
    uint64_t count, bytes;     // ids; size of `values`
};

class IntRun {
public:
    using Key = int64_t;
    IntRun(const RunFiles& files, size_t buffer) : values_(files.values, files.bytes, buffer) {}
    Key next() {
        Key value;
        std::memcpy(&value, values_.take(sizeof value), sizeof value);
        return value;
    }

private:
    SequentialReader values_;
};

class StringRun {
public:
    using Key = std::string_view;
    StringRun(const RunFiles& files, size_t buffer)
        : values_(files.values, files.bytes, buffer), ends_(files.ends, files.count * sizeof(uint64_t), buffer) {}
    Key next();  // valid until the next call; std::runtime_error where ends do not rise

private:
    SequentialReader values_, ends_;
    uint64_t end_ = 0;
};

class IntRunWriter {
public:
    IntRunWriter(const std::string& values, const std::string&, size_t buffer) : values_(values, buffer) {}
    void append(int64_t key) { values_.append(&key, sizeof key); }
    void close() { values_.close(); }

private:
    SequentialWriter values_;
};

class StringRunWriter {
public:
    StringRunWriter(const std::string& values, const std::string& ends, size_t buffer)
        : values_(values, buffer), ends_(ends, buffer) {}
    void append(std::string_view key) {
        values_.append(key.data(), key.size());
        end_ += key.size();
        ends_.append(&end_, sizeof end_);
    }
    void close() { values_.close(), ends_.close(); }

private:
    SequentialWriter values_, ends_;
    uint64_t end_ = 0;
};

template <class Keys>
struct RunOf;
template <>
struct RunOf<IntKeys> {
    using Reader = IntRun;
    using Writer = IntRunWriter;
    using Owned = int64_t;
};
template <>
struct RunOf<StringKeys> {
    using Reader = StringRun;
    using Writer = StringRunWriter;
    using Owned = std::string;
};

template <class Keys>
class RunMerge {
public:
    // `numbers`: one path for each run, filled with uint32_t or, if `wide`, uint64_t. `buffer`: bytes of each file's buffer.
    RunMerge(const std::vector<RunFiles>& runs, const std::vector<std::string>& numbers, const std::string& values,
             const std::string& ends, uint64_t key, uint64_t mask, bool wide, size_t buffer);

    // Merges up to `count` more distinct ids; all files are whole once it returns fewer. Throws IoError, and std::runtime_error
    // where a run is out of order.
    size_t advance(size_t count);
    uint64_t merged() const { return merged_; }

private:
    using Key = typename Keys::Key;
    struct Head {
        typename RunOf<Keys>::Reader reader;
        SequentialWriter numbers;
        uint64_t left;
        uint64_t hash;
        Key key;
    };
    bool before(uint32_t a, uint32_t b) const;
    void step(Head& head);
    void sink(size_t place);
    void number(Head& head);

    std::vector<Head> heads_;
    std::vector<uint32_t> heap_;  // runs that are not at their end, the one with the least head first
    typename RunOf<Keys>::Writer out_;
    typename RunOf<Keys>::Owned last_{};
    uint64_t last_hash_ = 0, merged_ = 0, key_, mask_;
    bool wide_, open_ = true;
};

}  // namespace marius
