// The hot loops of the stump search: exact integer sums over rows. Included by stumps.cpp only.
#pragma once

#include "large_memory.hpp"
#include "stumps_layout.hpp"

namespace dualboost {

// Runs work(worker) for each worker; each takes its own workspace and draws tasks from a shared counter.
template <class Work> void with_workers(int threads, const Work &work) {
    if (threads == 1) work(0);
    else parallel(threads, threads, work);
}

// Weights are held as integers in units of 2^-61: sums are exact, so neither threads nor order can change an answer.
constexpr int kFixedBits = 61;
constexpr double kFixedOne = 2305843009213693952.0;  // 2^61
inline int64_t to_fixed(double edge) { return static_cast<int64_t>(edge * kFixedOne); }

struct RowSums {
    int64_t total = 0;  // sum of y_i d_i
    int64_t travelled = 0;  // sum of |change of y_i d_i| since the call before
    int64_t high = 0, low = 0;  // sum of d_i as high * 2^32 + low, which cannot overflow
    int64_t bad = 0;  // weights that are negative, above one, or not numbers

    // Bad weights may overflow; they are refused after the sum.
    void add(const RowSums &other) {
        auto wrapping = [](int64_t &to, int64_t value) {
            to = static_cast<int64_t>(static_cast<uint64_t>(to) + static_cast<uint64_t>(value));
        };
        wrapping(total, other.total);
        wrapping(travelled, other.travelled);
        wrapping(high, other.high);
        wrapping(low, other.low);
        bad += other.bad;
    }
};

// q_i <- y_i * rint(d_i * 2^61). There is no vector instruction for double -> int64, so the number is split into two
// halves of at most 31 bits, each rounded by adding 1.5 * 2^52; both steps are exact and ties go to even as in rint.
// Labels are widened strip by strip: bytes and words in one loop would make the compiler unroll it past the registers.
DUALBOOST_CLONES static void quantise(const double *d, const int8_t *y, int64_t *q, int64_t n, RowSums *sums) {
    constexpr double magic = 6755399441055744.0, two32 = 4294967296.0;
    constexpr uint64_t magic_bits = 0x4338000000000000ull;
    constexpr int64_t strip = 128;
    uint64_t total = 0, travelled = 0, high_sum = 0, low_sum = 0, bad = 0;
    uint64_t signs[strip];
    for (int64_t begin = 0; begin < n; begin += strip, d += strip, y += strip, q += strip) {
        int64_t length = n - begin < strip ? n - begin : strip;
        for (int64_t i = 0; i < length; ++i) signs[i] = static_cast<uint64_t>(static_cast<int64_t>(y[i] >> 7));
        for (int64_t i = 0; i < length; ++i) {
            bad += (d[i] >= 0.0) & (d[i] <= 1.5) ? 0 : 1;
            double scaled = d[i] * kFixedOne;
            double shifted = scaled * (1.0 / two32) + magic;
            double rest = (scaled - (shifted - magic) * two32) + magic;
            uint64_t high, low;
            std::memcpy(&high, &shifted, 8);
            std::memcpy(&low, &rest, 8);
            high -= magic_bits;
            low -= magic_bits;
            uint64_t value = (((high << 32) + low) ^ signs[i]) - signs[i];
            uint64_t step = value - static_cast<uint64_t>(q[i]);
            uint64_t down = static_cast<int64_t>(step) < 0 ? ~uint64_t{0} : 0;
            travelled += (step ^ down) - down;
            total += value;
            high_sum += high;
            low_sum += low;
            q[i] = static_cast<int64_t>(value);
        }
    }
    *sums = {static_cast<int64_t>(total), static_cast<int64_t>(travelled), static_cast<int64_t>(high_sum),
             static_cast<int64_t>(low_sum), static_cast<int64_t>(bad)};
}

// max |q_i|.
DUALBOOST_CLONES static int64_t largest_size(const int64_t *q, int64_t n) {
    int64_t largest = 0;
    for (int64_t i = 0; i < n; ++i) {
        int64_t size = q[i] < 0 ? -q[i] : q[i];
        largest = size > largest ? size : largest;
    }
    return largest;
}

// A histogram is several planes of 256 cells that take the rows in turn (row i goes to plane i mod planes): rows with
// equal codes then do not wait for each other's add. Two features at once load each q only once.
constexpr int kPlanes = 4;
constexpr int64_t kHistogram = kPlanes * kCodes;

DUALBOOST_INLINE uint64_t eight_codes(const uint8_t *codes) {
    uint64_t word;
    std::memcpy(&word, codes, 8);
    return word;
}

// Row k of eight by its byte in memory order, which is the low byte first on little-endian machines.
DUALBOOST_INLINE size_t code_at(uint64_t word, int k) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return (word >> (56 - 8 * k)) & 255u;
#else
    return (word >> (8 * k)) & 255u;
#endif
}

template <int planes>
DUALBOOST_INLINE void add_one(const uint8_t *codes, const int64_t *q, int64_t n, int64_t *cells) {
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        uint64_t word = eight_codes(codes + i);
#pragma GCC unroll 8
        for (int k = 0; k < 8; ++k) cells[kCodes * (k % planes) + code_at(word, k)] += q[i + k];
    }
    for (; i < n; ++i) cells[codes[i]] += q[i];
}

template <int planes>
DUALBOOST_INLINE void add_two(const uint8_t *codes_a, const uint8_t *codes_b, const int64_t *q, int64_t n,
                              int64_t *cells_a, int64_t *cells_b) {
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        uint64_t a = eight_codes(codes_a + i), b = eight_codes(codes_b + i);
#pragma GCC unroll 8
        for (int k = 0; k < 8; ++k) {
            int64_t value = q[i + k];
            cells_a[kCodes * (k % planes) + code_at(a, k)] += value;
            cells_b[kCodes * (k % planes) + code_at(b, k)] += value;
        }
    }
    for (; i < n; ++i) {
        cells_a[codes_a[i]] += q[i];
        cells_b[codes_b[i]] += q[i];
    }
}

// With 1, 2 or kPlanes planes; fewer may be used. The second column may be absent (null).
DUALBOOST_INLINE void add_columns(const uint8_t *a, const uint8_t *b, const int64_t *q, int64_t n, int planes,
                                  int64_t *cells_a, int64_t *cells_b) {
    if (b == nullptr) planes == kPlanes ? add_one<kPlanes>(a, q, n, cells_a) : add_one<1>(a, q, n, cells_a);
    else if (planes == kPlanes) add_two<kPlanes>(a, b, q, n, cells_a, cells_b);
    else planes == 1 ? add_two<1>(a, b, q, n, cells_a, cells_b) : add_two<2>(a, b, q, n, cells_a, cells_b);
}

// Cells that a column with codes 0..bins-1 (and 255 if some are missing) can touch.
DUALBOOST_INLINE void clear_cells(int64_t *cells, int planes, int bins) {
    for (int plane = 0; plane < planes; ++plane) {
        std::memset(cells + plane * kCodes, 0, static_cast<size_t>(bins) * sizeof(int64_t));
        cells[plane * kCodes + kMissing] = 0;
    }
}

// cells[0..255] += the planes at `other`, the first `used` of them.
DUALBOOST_CLONES static void join_planes(int64_t *cells, const int64_t *other, int used, int bins) {
    for (int plane = 0; plane < used; ++plane) {
        const int64_t *from = other + plane * kCodes;
        for (int code = 0; code < bins; ++code) cells[code] += from[code];
        if (bins <= kMissing) cells[kMissing] += from[kMissing];
    }
}

// Short columns lie apart from each other: asks for the first entries of one that comes soon.
DUALBOOST_INLINE void prefetch(const SparseColumn &column) {
#if defined(__GNUC__)
    __builtin_prefetch(column.rows);
    __builtin_prefetch(column.codes);
#else
    (void)column;
#endif
}

// Sum of q over listed rows.
static int64_t sum_listed(const int32_t *rows, int64_t count, const int64_t *q) {
    int64_t part[4] = {0, 0, 0, 0}, k = 0;
    for (; k + 4 <= count; k += 4)
        for (int lane = 0; lane < 4; ++lane) part[lane] += q[rows[k + lane]];
    for (; k < count; ++k) part[0] += q[rows[k]];
    return (part[0] + part[1]) + (part[2] + part[3]);
}

// Histogram of a sparse column into plane 0 of `cells` (cleared here); rows that are not listed share what is left.
static void sum_sparse(const SparseColumn &column, const int64_t *q, int64_t total, int bins, int64_t *cells) {
    int64_t listed = 0, k = 0, count = column.count;
    int planes = column.uniform || count < 4 * bins ? 1 : kPlanes;
    clear_cells(cells, planes, bins);
    if (column.uniform) {
        listed = sum_listed(column.rows, count, q);
        if (count > 0) cells[column.codes[0]] += listed;
    } else {
        for (; planes > 1 && k + kPlanes <= count; k += kPlanes)
            for (int lane = 0; lane < kPlanes; ++lane) {
                int64_t value = q[column.rows[k + lane]];
                cells[kCodes * lane + column.codes[k + lane]] += value;
                listed += value;
            }
        for (; k < count; ++k) {
            int64_t value = q[column.rows[k]];
            cells[column.codes[k]] += value;
            listed += value;
        }
        if (planes > 1) join_planes(cells, cells + kCodes, planes - 1, bins);
    }
    cells[column.fallback] += total - listed;
}

// Sum over the tuples in which a member has code 0.
DUALBOOST_CLONES static int64_t sum_code_zero(const int64_t *cells, const uint8_t *code_of, int tuples) {
    int64_t sum = 0;
    for (int t = 0; t < tuples; ++t) sum += code_of[t] == 0 ? cells[t] : 0;
    return sum;
}

// Histogram of one member from the histogram of tuples.
static void split_tuples(const int64_t *cells, const uint8_t *code_of, int tuples, int bins, int64_t *out) {
    clear_cells(out, 1, bins);
    for (int t = 0; t < tuples; ++t) out[code_of[t]] += cells[t];
}

struct Extent {
    int64_t low, high;  // of the sums left of each cut
};

// Turns cells 0..cuts into running sums and returns their extent over the cuts. A running sum is one long chain of
// adds: four quarters run side by side, and the pass that adds what lies left of each quarter finds the extent, in
// vectors.
DUALBOOST_CLONES static Extent accumulate(int64_t *cells, int cuts) {
    int64_t low = std::numeric_limits<int64_t>::max(), high = std::numeric_limits<int64_t>::min(), base = 0;
    int quarter = cuts >= 32 ? cuts / 4 : 0;
    int64_t run[4] = {0, 0, 0, 0};
    for (int i = 0; i < quarter; ++i) {
        cells[i] = run[0] += cells[i];
        cells[i + quarter] = run[1] += cells[i + quarter];
        cells[i + 2 * quarter] = run[2] += cells[i + 2 * quarter];
        cells[i + 3 * quarter] = run[3] += cells[i + 3 * quarter];
    }
    if (quarter > 0)
        for (int part = 0; part < 4; ++part) {
            int64_t *piece = cells + part * quarter;
            for (int i = 0; i < quarter; ++i) {
                int64_t left = piece[i] + base;
                piece[i] = left;
                low = left < low ? left : low;
                high = left > high ? left : high;
            }
            base += run[part];
        }
    for (int i = 4 * quarter; i < cuts; ++i) {
        base += cells[i];
        cells[i] = base;
        low = base < low ? base : low;
        high = base > high ? base : high;
    }
    cells[cuts] += base;
    return {low, high};
}

DUALBOOST_INLINE int64_t magnitude(int64_t value) { return value < 0 ? -value : value; }

// The largest |edge| of one feature from its running sums. With L the sum left of a cut and missing rows (sum M) on the
// left as well, the edge is total - 2 M - 2 L; with missing rows on the right total - 2 L, where L may also be
// everything present.
DUALBOOST_INLINE int64_t peak_edge(const int64_t *sums, Extent left, int cuts, bool missing, int64_t total) {
    if (!missing) return std::max(magnitude(total - 2 * left.low), magnitude(total - 2 * left.high));
    int64_t peak = magnitude(total - 2 * sums[cuts]);
    if (cuts > 0) {
        int64_t shifted = total - 2 * sums[kMissing];
        peak = std::max(peak, std::max(magnitude(shifted - 2 * left.low), magnitude(shifted - 2 * left.high)));
        peak = std::max(peak, std::max(magnitude(total - 2 * left.low), magnitude(total - 2 * left.high)));
    }
    return peak;
}

// A hypothesis of a known feature, with its signed edge.
struct Spot {
    int64_t edge;
    int32_t cut;
    uint8_t missing_right;
};

// The first hypothesis of a feature, in index order, with |edge| >= floor; the caller knows that there is one.
DUALBOOST_INLINE Spot first_reaching(const int64_t *sums, int cuts, bool missing, int64_t total, int64_t floor) {
    int64_t outside = missing ? sums[kMissing] : 0;
    for (int cut = 0;; ++cut) {
        int64_t missing_right = total - 2 * sums[cut], missing_left = missing_right - 2 * outside;
        if (cut < cuts && magnitude(missing_left) >= floor) return {missing_left, cut, 0};
        if (cut >= cuts || (missing && magnitude(missing_right) >= floor)) return {missing_right, cut, 1};
    }
}

}  // namespace dualboost
