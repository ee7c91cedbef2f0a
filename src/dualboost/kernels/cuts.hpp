// The distinct values of a column with their weights, by sorting it.
#pragma once

#include "short_sort.hpp"

namespace dualboost {

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
        if (place[(from[0].key >> digit) & kMask] == n) continue;  // all equal
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

template <class T> void sort_short(std::vector<T> &items, std::vector<T> &spare) {
    size_t n = items.size();
    std::vector<Item> keys(n), sorted(n);
    std::vector<uint32_t> order(n);
    for (size_t i = 0; i < n; ++i) keys[i].key = items[i].key;
    sort_keys(keys.data(), n, sorted.data(), order.data());
    spare.resize(n);
    for (size_t i = 0; i < n; ++i) spare[i] = items[order[i]];
    items.swap(spare);
}

// Sorts by key. The highest 32 bits that differ at all decide nearly everything and are sorted by radix; what remains
// is to order runs that agree in them, which are mostly single items or equal ones.
template <class T> void sort_by_key(std::vector<T> &items, std::vector<T> &spare) {
    auto by_key = [](const T &a, const T &b) { return a.key < b.key; };
    size_t n = items.size();
    if (n < 128) return std::sort(items.begin(), items.end(), by_key);
    if (n <= kShort) return sort_short(items, spare);
    uint64_t differing = 0;
    for (const T &item : items) differing |= item.key ^ items[0].key;
    if (differing == 0) return;
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
    distinct.clear();
    for (int k = 0; k < count; ++k) distinct.add(from_key(keys[k]), masses[k]);
    return true;
}

template <class T>
void collect_distinct(std::vector<T> &items, std::vector<T> &spare, int64_t unit, Distinct &distinct) {
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

}  // namespace dualboost
