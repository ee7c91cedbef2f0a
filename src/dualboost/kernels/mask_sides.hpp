// On which side of a split of categories each row is: the bit of its code in a mask of 256 bits, for many rows at once.
#pragma once

#include "code_mask.hpp"

#ifdef DUALBOOST_AVX2_AT_RUN_TIME
#include <immintrin.h>
#endif

namespace dualboost {

// Loops over bytes take so many rows at once, and those that are left one by one, which takes as long: whoever has room
// for it fills a block up.
constexpr int kAtOnce = 32;

constexpr int filled_up(int n) { return (n + kAtOnce - 1) / kAtOnce * kAtOnce; }

// One read of a table of bytes for each row.
inline void sides_by_table(const uint8_t *__restrict codes, const CodeMask &mask, int64_t n,
                           uint8_t *__restrict right) {
    uint8_t table[kCodes];
    for (int code = 0; code < kCodes; ++code) table[code] = static_cast<uint8_t>(holds(mask, code) ? 255 : 0);
    for (int64_t i = 0; i < n; ++i) right[i] = table[codes[i]];
}

#ifdef DUALBOOST_AVX2_AT_RUN_TIME
// kAtOnce rows at a time: a shuffle reads 16 bytes of the mask by the upper bits of the codes (and 0 where an index has
// its highest bit set, so that the two halves of the mask can be joined), another the bit that the lower three name.
__attribute__((target("avx2"))) inline void sides_by_shuffles(const uint8_t *codes, const CodeMask &mask, int64_t n,
                                                              uint8_t *right) {
    auto half = [&](size_t first) __attribute__((target("avx2"))) {
        const auto *from = reinterpret_cast<const __m128i *>(mask.data() + first);
        return _mm256_broadcastsi128_si256(_mm_loadu_si128(from));
    };
    const __m256i lower = half(0), upper = half(16),
                  bits = _mm256_set1_epi64x(static_cast<int64_t>(0x8040201008040201u));
    const __m256i seven = _mm256_set1_epi8(7), fifteen = _mm256_set1_epi8(15), highest = _mm256_set1_epi8(-128);
    int64_t i = 0;
    for (; i + kAtOnce <= n; i += kAtOnce) {
        __m256i code = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(codes + i));
        __m256i byte = _mm256_and_si256(_mm256_srli_epi16(code, 3), fifteen), high = _mm256_and_si256(code, highest);
        __m256i low_half = _mm256_shuffle_epi8(lower, _mm256_or_si256(byte, high));
        __m256i high_half = _mm256_shuffle_epi8(upper, _mm256_or_si256(byte, _mm256_xor_si256(high, highest)));
        __m256i bit = _mm256_shuffle_epi8(bits, _mm256_and_si256(code, seven));
        __m256i held = _mm256_and_si256(_mm256_or_si256(low_half, high_half), bit);
        _mm256_storeu_si256(reinterpret_cast<__m256i *>(right + i), _mm256_cmpeq_epi8(held, bit));
    }
    for (; i < n; ++i) right[i] = static_cast<uint8_t>(holds(mask, codes[i]) ? 255 : 0);
}
#endif

// right[i] = 255 where the mask holds the code of row i, else 0.
inline void read_sides(const uint8_t *codes, const CodeMask &mask, int64_t n, uint8_t *right) {
#ifdef DUALBOOST_AVX2_AT_RUN_TIME
    static const bool shuffles = __builtin_cpu_supports("avx2") != 0;
    if (shuffles) return sides_by_shuffles(codes, mask, n, right);
#endif
    sides_by_table(codes, mask, n, right);
}

}  // namespace dualboost
