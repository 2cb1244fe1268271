#include "io/probe.h"

#include <unistd.h>

#include <fstream>

#include "base/bytes.h"
#include "io/crc32c.h"
#include "io/file.h"
#include "io/memory.h"

namespace marius {
namespace {

bool supports_hard_links(const std::string& directory) {
    const std::string file = directory + "/.link." + std::to_string(getpid()) + ".tmp", other = file + "2";
    bool linked = false;
    try {
        File::create(file, false).close();
        linked = ::link(file.c_str(), other.c_str()) == 0;
    } catch (const IoError&) {  // no file, no link
    }
    ::unlink(other.c_str());
    ::unlink(file.c_str());
    return linked;
}

bool supports_huge_pages() {
    std::string setting;
    std::getline(std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled"), setting);
    const auto has = [&](const char* text) { return setting.find(text) != std::string::npos; };
    return HugeMemory(2 * kMiB).huge() && (has("[always]") || has("[madvise]"));
}

}  // namespace

Support probe(const std::string& directory) {
    const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    return {.direct_io = supports_direct(directory),
            .hard_links = supports_hard_links(directory),
            .huge_pages = supports_huge_pages(),
            .crc32c = crc32c_in_hardware(),
            .memory_total = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * page,
            .memory_free = static_cast<std::uint64_t>(sysconf(_SC_AVPHYS_PAGES)) * page};
}

}  // namespace marius
