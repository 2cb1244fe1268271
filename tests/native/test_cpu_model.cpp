// What wheels are told of the processor is what the kernel says of it.
#include <fstream>
#include <iterator>
#include <string>

#include "check.h"

#if defined(__x86_64__)
#include "zig/cpu_model.cpp"

int main() {
    std::ifstream file("/proc/cpuinfo");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const std::size_t from = text.find("\nflags");
    const std::string flags = text.substr(from, text.find('\n', from + 1) - from) + " ";
    const auto listed = [&](const char* flag) { return flags.find(std::string(" ") + flag + " ") != std::string::npos; };
    CHECK(listed("sse2"));
    CHECK(bool(__builtin_cpu_supports("sse4.2")) == listed("sse4_2"));
    CHECK(bool(__builtin_cpu_supports("avx2")) == listed("avx2"));
    CHECK(bool(__builtin_cpu_supports("fma")) == listed("fma"));
    CHECK(bool(__builtin_cpu_supports("avx512f")) == listed("avx512f"));
    CHECK(bool(__builtin_cpu_supports("avx512bw")) == listed("avx512bw"));
    CHECK(bool(__builtin_cpu_supports("avx512bf16")) == listed("avx512_bf16"));
    CHECK(bool(__builtin_cpu_supports("amx-bf16")) == listed("amx_bf16"));
}
#else
int main() {}
#endif
