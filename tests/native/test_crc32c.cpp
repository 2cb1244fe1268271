// CRC-32C: published values, both implementations alike, and checksums of pieces that combine.
#include "io/crc32c.h"

#include <cstring>
#include <vector>

#include "check.h"
#include "folder.h"

using marius::crc32c;
using marius::crc32c_by_tables;
using marius::crc32c_combine;

int main() {
    // RFC 3720, B.4, and the usual check value.
    const std::vector<std::byte> zeros(32), ones(32, std::byte{0xff});
    CHECK(crc32c("123456789", 9) == 0xe3069283);
    CHECK(crc32c(zeros.data(), 32) == 0x8a9136aa);
    CHECK(crc32c(ones.data(), 32) == 0x62a8ab43);
    CHECK(crc32c(nullptr, 0) == 0);

    const auto data = noise(200'003, 7);
    for (const std::size_t start : {0, 1, 7})
        for (const std::size_t size : {0, 1, 7, 8, 9, 4096, 49'151, 49'152, 49'153, 98'304, 150'001, 199'990}) {
            const std::byte* from = data.data() + start;
            const std::uint32_t all = crc32c(from, size);
            CHECK(all == crc32c_by_tables(from, size));
            for (const std::size_t cut : {std::size_t{0}, size / 3, size / 2, size}) {
                CHECK(all == crc32c(from + cut, size - cut, crc32c(from, cut)));
                CHECK(all == crc32c_combine(crc32c(from, cut), crc32c(from + cut, size - cut), size - cut));
            }
        }
}
