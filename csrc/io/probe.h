// What this machine and a folder's file system support: asked once, printed by `info`.
#pragma once
#include <cstdint>
#include <string>

namespace marius {

struct Support {
    bool direct_io = false;          // files can bypass the page cache
    bool hard_links = false;         // checkpoints cost no copy
    bool huge_pages = false;         // anonymous memory may be backed by 2 MiB pages
    bool crc32c = false;             // checksums by the processor's instruction
    std::uint64_t memory_total = 0;  // bytes of physical memory
    std::uint64_t memory_free = 0;   // bytes that neither programs nor the page cache use
};

/// Tries each in `directory` with small files that it removes again. Throws IoError when there is no such folder.
Support probe(const std::string& directory);

}  // namespace marius
