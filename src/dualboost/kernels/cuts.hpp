// Where to cut a column: distinct values with their weights, and quantiles over them.
#pragma once

#include "search.hpp"

namespace dualboost {

// Doubles as integers in the same order; -0.0 and 0.0 are one value. No number maps to 0 (only a NaN would).
constexpr uint64_t kSignBit = uint64_t{1} << 63;

DUALBOOST_INLINE uint64_t to_key(double x) {
    x += 0.0; // -0.0 becomes 0.0
    uint64_t bits;
    std::memcpy(&bits, &x, 8);
    return bits & kSignBit ? ~bits : bits | kSignBit;
}

DUALBOOST_INLINE double from_key(uint64_t key) {
    uint64_t bits = key & kSignBit ? key & ~kSignBit : ~key;
    double x;
    std::memcpy(&x, &bits, 8);
    return x;
}

// Row weights as integers: their sums are exact, so neither the order of the rows nor a weight of k instead of k copies
// can change a cut. They are scaled by a power of two until the total lies in [2^61, 2^62): the unit of the user's
// weights does not matter. Without weights every row has the mass `unit`.
struct Masses {
    std::vector<int64_t> of_row;
    int64_t unit = 0, total = 0;

    int64_t operator[](int64_t row) const { return of_row.empty() ? unit : of_row[static_cast<size_t>(row)]; }
};

inline Masses equal_masses(int64_t rows) {
    Masses masses;
    masses.unit = int64_t{1} << (62 - bit_width(static_cast<uint64_t>(rows)));
    masses.total = masses.unit * rows;
    return masses;
}

// w * 2^shift in two steps: the power alone may be too large for a double.
struct PowerOfTwo {
    double first, second;
    explicit PowerOfTwo(int shift) : first(std::ldexp(1.0, shift / 2)), second(std::ldexp(1.0, shift - shift / 2)) {}
    int64_t of(double w) const { return static_cast<int64_t>(w * first * second + 0.5); }
};

inline Masses masses_of(const double *weights, int64_t rows) {
    double largest = 0.0;
    bool fine = true;
    for (int64_t i = 0; i < rows; ++i) {
        fine &= weights[i] >= 0.0 && weights[i] <= std::numeric_limits<double>::max();
        largest = std::max(largest, weights[i]);
    }
    require(fine, "Weights must be finite and not negative.");
    require(largest > 0.0, "At least one weight must be positive.");
    int exponent;
    std::frexp(largest, &exponent);
    int shift = 62 - bit_width(static_cast<uint64_t>(rows)) - exponent;
    PowerOfTwo rough(shift);
    int64_t total = 0;
    for (int64_t i = 0; i < rows; ++i) total += rough.of(weights[i]);
    PowerOfTwo scaled(shift + 62 - bit_width(static_cast<uint64_t>(total)));
    Masses masses;
    masses.of_row.resize(static_cast<size_t>(rows));
    for (int64_t i = 0; i < rows; ++i) {
        // A positive weight, however small beside the others, never becomes zero: zero means absent.
        int64_t mass = weights[i] > 0.0 ? std::max<int64_t>(scaled.of(weights[i]), 1) : 0;
        masses.of_row[static_cast<size_t>(i)] = mass;
        masses.total += mass;
    }
    return masses;
}

struct Item {
    uint64_t key;
    DUALBOOST_INLINE int64_t mass_or(int64_t unit) const { return unit; }
};
struct WeightedItem {
    uint64_t key;
    int64_t mass;
    DUALBOOST_INLINE int64_t mass_or(int64_t) const { return mass; }
};

// Radix sort, lowest digit first, of `Passes` digits above bit `shift`.
template <int DigitBits, int Passes, class T>
void sort_window(std::vector<T> &items, std::vector<T> &spare, int shift) {
    constexpr uint64_t kMask = (1 << DigitBits) - 1;
    size_t n = items.size();
    if (spare.size() < n) spare.resize(n);
    uint32_t counts[Passes][kMask + 1] = {};
    for (const T &item : items)
        for (int p = 0; p < Passes; ++p) ++counts[p][(item.key >> (shift + p * DigitBits)) & kMask];
    T *from = items.data(), *to = spare.data();
    for (int p = 0; p < Passes; ++p) {
        int digit = shift + p * DigitBits;
        uint32_t *place = counts[p];
        if (place[(from[0].key >> digit) & kMask] == n) continue; // all equal
        for (uint32_t b = 0, sum = 0; b <= kMask; ++b) {
            uint32_t count = place[b];
            place[b] = sum;
            sum += count;
        }
        for (size_t i = 0; i < n; ++i) to[place[(from[i].key >> digit) & kMask]++] = from[i];
        std::swap(from, to);
    }
    if (from != items.data()) std::copy(from, from + n, items.data());
}

// A short list: one pass deals the items to buckets by `bucket`, which never decreases in the key, and what is left is
// to order neighbours. False, with nothing done, where too many items share a bucket.
constexpr size_t kShort = 1 << 12, kBuckets = 1 << 10;

template <class T, class Bucket>
bool deal_short(std::vector<T> &items, std::vector<T> &spare, const Bucket &bucket) {
    constexpr uint16_t crowd = 24;
    size_t n = items.size();
    uint16_t place[kBuckets] = {}, home[kShort];
    for (size_t i = 0; i < n; ++i) ++place[home[i] = bucket(items[i].key)];
    uint16_t sum = 0, fullest = 0;
    for (uint16_t &here : place) {
        uint16_t count = here;
        here = sum;
        sum = static_cast<uint16_t>(sum + count);
        fullest = std::max(fullest, count);
    }
    if (fullest > crowd) return false;
    if (spare.size() < n) spare.resize(n);
    for (size_t i = 0; i < n; ++i) spare[place[home[i]]++] = items[i];
    for (size_t i = 0; i < n; ++i) {
        size_t at = i;
        for (; at > 0 && items[at - 1].key > spare[i].key; --at) items[at] = items[at - 1];
        items[at] = spare[i];
    }
    return true;
}

// Buckets of equal width, which suit most columns; or by the highest bits that differ, in effect by the logarithm.
template <class T> bool sort_short(std::vector<T> &items, std::vector<T> &spare, uint64_t differing) {
    auto [least, most] = std::minmax_element(items.begin(), items.end(), [](const T &a, const T &b) { return a.key < b.key; });
    double low = from_key(least->key), scale = (kBuckets - 1) / (from_key(most->key) - low);
    auto by_value = [low, scale](uint64_t key) {
        double place = (from_key(key) - low) * scale;
        return static_cast<uint16_t>(place < kBuckets - 1 ? place : kBuckets - 1);
    };
    if (scale > 0.0 && scale <= std::numeric_limits<double>::max() && deal_short(items, spare, by_value)) return true;
    int shift = std::max(0, bit_width(differing) - bit_width(kBuckets - 1));
    return deal_short(items, spare, [shift](uint64_t key) { return static_cast<uint16_t>((key >> shift) % kBuckets); });
}

// Sorts by key. The highest 32 bits that differ at all decide nearly everything and are sorted by radix; what remains
// is to order runs that agree in them, which are mostly single items or equal ones.
template <class T> void sort_by_key(std::vector<T> &items, std::vector<T> &spare) {
    auto by_key = [](const T &a, const T &b) { return a.key < b.key; };
    size_t n = items.size();
    if (n < 128) return std::sort(items.begin(), items.end(), by_key);
    uint64_t differing = 0;
    for (const T &item : items) differing |= item.key ^ items[0].key;
    if (differing == 0 || (n <= kShort && sort_short(items, spare, differing))) return;
    int window = n < (1 << 14) ? 32 : 33;
    int shift = std::max(0, bit_width(differing) - window);
    if (window == 32) sort_window<8, 4>(items, spare, shift);
    else sort_window<11, 3>(items, spare, shift);
    if (shift == 0) return;
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && (items[end].key >> shift) == (items[i].key >> shift); ++end) {
        }
        auto first = items.begin() + static_cast<int64_t>(i), last = items.begin() + static_cast<int64_t>(end);
        if (end - i > 1 && !std::is_sorted(first, last, by_key)) std::sort(first, last, by_key);
    }
}

// The distinct values of a column in ascending order, with the mass of each.
struct Distinct {
    std::vector<double> value;
    std::vector<int64_t> mass;

    size_t size() const { return value.size(); }
    void clear() { value.clear(), mass.clear(); }
    void add(double v, int64_t m) {
        auto at = std::lower_bound(value.begin(), value.end(), v);
        auto k = at - value.begin();
        if (at != value.end() && *at == v) {
            mass[static_cast<size_t>(k)] += m;
        } else {
            value.insert(at, v);
            mass.insert(mass.begin() + k, m);
        }
    }
};

// Flags and small counts need no sorting: true when there are at most four values.
template <class T> bool collect_few(const std::vector<T> &items, int64_t unit, Distinct &distinct) {
    constexpr int most = 4;
    uint64_t keys[most] = {};
    int64_t masses[most] = {};
    int count = 0;
    for (const T &item : items) {
        int k = 0;
        while (k < count && keys[k] != item.key) ++k;
        if (k == most) return false;
        if (k == count) keys[count++] = item.key;
        masses[k] += item.mass_or(unit);
    }
    for (int k = 0; k < count; ++k) distinct.add(from_key(keys[k]), masses[k]);
    return true;
}

template <class T>
void collect_distinct(std::vector<T> &items, std::vector<T> &spare, int64_t unit, Distinct &distinct) {
    distinct.clear();
    if (collect_few(items, unit, distinct)) return;
    sort_by_key(items, spare);
    distinct.value.resize(items.size());
    distinct.mass.resize(items.size());
    size_t last = 0;
    int64_t mass = 0;
    for (size_t i = 0; i < items.size(); ++i) {  // without a branch: whether neighbours are equal cannot be foreseen
        bool next = i > 0 && items[i].key != items[i - 1].key;
        last += next;
        mass = (next ? 0 : mass) + items[i].mass_or(unit);
        distinct.value[last] = from_key(items[i].key);
        distinct.mass[last] = mass;
    }
    distinct.value.resize(last + 1);
    distinct.mass.resize(last + 1);
}

// A threshold t with a <= t < b, also where the midpoint over- or underflows or rounds to b.
inline double between(double a, double b) {
    double width = b - a;
    double t = width <= std::numeric_limits<double>::max() ? a + width / 2 : a / 2 + b / 2;
    return t >= a && t < b ? t : a;
}

// Quantiles over distinct values, when there are more values than bins.
class Quantiles {
  public:
    Quantiles(const Distinct &distinct, int bins)
        : values_(distinct), bins_(bins), n_(distinct.size()), sizes_(distinct.mass.begin(), distinct.mass.end()),
          heavy_(n_, 0), cut_(n_, 0) {}

    std::vector<double> cuts() {
        find_heavy();
        find_segments();
        if (!each_segment_has_a_bin()) {
            keep_heaviest((bins_ - 1) / 2); // now each has: there is at most one segment more than heavy values
            find_segments();
        }
        share_bins();
        cut_all();
        return std::move(cuts_);
    }

    // After that, the number of cuts below each value.
    void codes(uint8_t *out) const {
        uint8_t code = 0;
        for (size_t i = 0; i < n_; ++i) out[i] = code = static_cast<uint8_t>(code + cut_[i]);
    }

  private:
    // Values heavier than a bin's share of what the still heavier ones leave; removing them lowers the share, so
    // repeat.
    void find_heavy() {
        int64_t rest = 0;
        for (int64_t mass : values_.mass) rest += mass;
        for (bool found = true; found && heavy_count_ < bins_ - 1;) {
            double share = static_cast<double>(rest) / (bins_ - heavy_count_) * kTolerant;
            found = false;
            for (size_t i = 0; i < n_ && heavy_count_ < bins_ - 1; ++i) {
                if (sizes_[i] < share || heavy_[i]) continue;
                heavy_[i] = 1, ++heavy_count_, found = true;
                rest -= values_.mass[i];
            }
        }
    }

    // A run of light values between heavy ones; it needs at least one bin of its own.
    struct Segment {
        size_t begin, end;
        int64_t mass;
        int bins;

        // What a bin holds; nothing where every value has its own.
        double crowd() const {
            return static_cast<int64_t>(end - begin) > bins ? static_cast<double>(mass) / bins : 0.0;
        }
    };

    void find_segments() {
        segments_.clear();
        for (size_t i = 0; i < n_; ++i) {
            if (heavy_[i]) continue;
            if (i == 0 || heavy_[i - 1]) segments_.push_back({i, i, 0, 1});
            segments_.back().end = i + 1;
            segments_.back().mass += values_.mass[i];
        }
    }

    bool each_segment_has_a_bin() const { return static_cast<int>(segments_.size()) <= bins_ - heavy_count_; }

    void keep_heaviest(int keep) {
        std::vector<int64_t> masses;
        for (size_t i = 0; i < n_; ++i)
            if (heavy_[i]) masses.push_back(values_.mass[i]);
        std::sort(masses.rbegin(), masses.rend());
        // Strictly above the first one that must go: equal values are treated alike.
        double limit = static_cast<double>(masses[static_cast<size_t>(keep)]) / kTolerant;
        heavy_count_ = 0;
        for (size_t i = 0; i < n_; ++i) {
            heavy_[i] = heavy_[i] && static_cast<double>(values_.mass[i]) > limit;
            heavy_count_ += heavy_[i];
        }
    }

    // Every further bin goes where a bin holds most.
    void share_bins() {
        int spare = bins_ - heavy_count_ - static_cast<int>(segments_.size());
        spare -= share_surely(spare);
        std::vector<double> crowds;
        for (const Segment &segment : segments_) crowds.push_back(segment.crowd());
        for (; spare > 0; --spare) {
            size_t fullest = 0;
            double limit = 0.0;
            for (size_t k = 0; k < crowds.size(); ++k) {
                if (crowds[k] <= limit) continue;
                fullest = k;
                limit = crowds[k] * (1 + kSlack);
            }
            if (limit == 0.0) return;
            ++segments_[fullest].bins;
            crowds[fullest] = segments_[fullest].crowd();
        }
    }

    // Those of the further bins that come before all others in whatever order: a bin that holds more than all mass over
    // the further bins is divided for sure, since there are not more of these divisions than further bins. How many.
    int share_surely(int spare) {
        if (spare <= 0) return 0;
        double mass = 0;
        for (const Segment &segment : segments_) mass += static_cast<double>(segment.mass);
        double most = mass / spare * (1 + 1e-9);  // ties are left to the order
        int shared = 0;
        for (Segment &segment : segments_) {
            auto wanted = static_cast<int64_t>(std::ceil(static_cast<double>(segment.mass) / most));
            auto given = static_cast<int>(std::max<int64_t>(1, std::min(wanted, static_cast<int64_t>(segment.end - segment.begin))));
            shared += given - segment.bins;
            segment.bins = given;
        }
        return shared;
    }

    void cut_all() {
        for (size_t i = 1; i < n_; ++i)
            if (heavy_[i] || heavy_[i - 1]) cut_before(i);
        for (const Segment &segment : segments_) cut_segment(segment.begin, segment.end, segment.mass, segment.bins);
        cuts_.reserve(static_cast<size_t>(bins_));
        for (size_t i = 1; i < n_; ++i)
            if (cut_[i]) cuts_.push_back(between(values_.value[i - 1], values_.value[i]));
    }

    // Closes a bin before value i when that comes nearer to the bin's share than taking i in.
    void cut_segment(size_t begin, size_t end, int64_t left, int bins) {
        int64_t filled = 0;
        double limit = tolerant_share(left, bins);
        for (size_t i = begin; i < end && bins > 1; filled += values_.mass[i++]) {
            bool enough = static_cast<double>(filled) + 0.5 * sizes_[i] > limit;
            bool must = static_cast<int64_t>(end - i) < bins; // each bin that is left needs a value
            if (filled == 0 || !(enough || must)) continue;
            cut_before(i);
            left -= filled, --bins, filled = 0;
            limit = tolerant_share(left, bins);
        }
    }

    static double tolerant_share(int64_t mass, int bins) { return static_cast<double>(mass) / bins * (1 + kSlack); }

    void cut_before(size_t i) { cut_[i] = 1; }

    // Decisions that are ties in exact arithmetic must not depend on how scaled weights were rounded.
    static constexpr double kSlack = 1e-10, kTolerant = 1 - kSlack;

    const Distinct &values_;
    int bins_;
    size_t n_;
    std::vector<double> sizes_;         // the masses
    std::vector<uint8_t> heavy_, cut_;  // of a value: is heavy; has a cut before it
    int heavy_count_ = 0;
    std::vector<Segment> segments_;
    std::vector<double> cuts_;
};

// With `code_of` also the code of each value.
inline std::vector<double> place_cuts(const Distinct &distinct, int max_bins, std::vector<uint8_t> *code_of = nullptr) {
    if (code_of) code_of->resize(distinct.size());
    if (distinct.size() > static_cast<size_t>(max_bins)) {
        Quantiles quantiles(distinct, max_bins);
        std::vector<double> cuts = quantiles.cuts();
        if (code_of) quantiles.codes(code_of->data());
        return cuts;
    }
    std::vector<double> cuts;
    for (size_t i = 1; i < distinct.size(); ++i) cuts.push_back(between(distinct.value[i - 1], distinct.value[i]));
    if (code_of)
        for (size_t i = 0; i < distinct.size(); ++i) (*code_of)[i] = static_cast<uint8_t>(i);
    return cuts;
}

} // namespace dualboost
