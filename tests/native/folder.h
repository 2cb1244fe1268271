// A folder for a test's files, removed at its end.
#pragma once
#include <stdlib.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "check.h"

class Folder {
public:
    Folder() {
        std::string name = (std::filesystem::temp_directory_path() / "marius_test_XXXXXX").string();
        CHECK(mkdtemp(name.data()) != nullptr);
        path_ = name;
    }
    ~Folder() { std::filesystem::remove_all(path_); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    std::string operator/(const std::string& name) const { return path_ + "/" + name; }
    const std::string& path() const { return path_; }

private:
    std::string path_;
};

inline std::vector<std::byte> bytes_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    CHECK(file.good());
    std::vector<std::byte> result(std::filesystem::file_size(path));
    file.read(reinterpret_cast<char*>(result.data()), static_cast<std::streamsize>(result.size()));
    CHECK(file.gcount() == static_cast<std::streamsize>(result.size()));
    return result;
}

inline void write_bytes(const std::string& path, const std::vector<std::byte>& bytes) {
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    CHECK(file.good());
}

/// `size` bytes that differ from place to place and from seed to seed.
inline std::vector<std::byte> noise(std::size_t size, unsigned seed) {
    std::vector<std::byte> result(size);
    unsigned state = seed * 2654435761u + 1;
    for (auto& byte : result) byte = std::byte((state = state * 1664525u + 1013904223u) >> 24);
    return result;
}
