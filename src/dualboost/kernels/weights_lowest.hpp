// The linear problem min <d, v> over {0 <= d <= c, sum d = 1}: fill the smallest v first.
//
// The threshold is the value of the last entry that receives mass. Rows below a bracket around it are only summed, rows
// inside are collected and searched. Brackets are tried in turn: the caller's, one from a sample, the whole line.
#pragma once

#include "weights_shared.hpp"

namespace dualboost::weights {

struct LowestMass {
    double mass = 0, moment = 0, spoilt = 0;  // strictly below the bracket, in units of the caps' scale
    int64_t inside = 0;
};

struct LowestLanes {
    double mass[kLanes] = {}, moment[kLanes] = {}, spoilt[kLanes] = {};
    int64_t inside[kLanes];
};

DUALBOOST_INLINE void lowest_lanes(const double *v, const double *weight, int width, double low, double high,
                                   LowestLanes &lanes) {
    for (int l = 0; l < width; ++l) {
        double below = mask(v[l] < low) * weight[l];
        lanes.mass[l] += below;
        lanes.moment[l] += below * v[l];
        lanes.spoilt[l] += v[l] * 0.0;  // NaN as soon as one v is not finite
        lanes.inside[l] = static_cast<int64_t>(v[l] >= low) & static_cast<int64_t>(v[l] <= high);
    }
}

DUALBOOST_INLINE int64_t lowest_positions(const LowestLanes &lanes, int64_t first, int width, uint16_t *where,
                                          int64_t kept) {
    int64_t any = 0;
    for (int l = 0; l < width; ++l) any |= lanes.inside[l];
    if (!any) return kept;
    for (int l = 0; l < width; ++l) {
        where[kept] = static_cast<uint16_t>(first + l);
        kept += lanes.inside[l];
    }
    return kept;
}

// One chunk: sums what lies below `low` and lists the positions of what lies within [low, high].
DUALBOOST_CLONES inline void lowest_chunk(const double *v, PerRow weights, int64_t n, double low, double high,
                                          uint16_t *where, LowestMass *sums) {
    Blocks weight(weights);
    LowestLanes lanes;
    int64_t kept = 0, j = 0;
    for (; j + kLanes <= n; j += kLanes) {
        lowest_lanes(v + j, weight.at(j), kLanes, low, high, lanes);
        kept = lowest_positions(lanes, j, kLanes, where, kept);
    }
    int rest = static_cast<int>(n - j);
    lowest_lanes(v + j, weight.at(j), rest, low, high, lanes);
    kept = lowest_positions(lanes, j, rest, where, kept);
    *sums = {fold(lanes.mass), fold(lanes.moment), fold(lanes.spoilt), kept};
}
static_assert(kChunk <= 65536, "positions within a chunk must fit 16 bits");

// Rows inside a bracket, with the keys negated so that the smallest v has the highest key; mass and moment below it.
struct Bracket {
    std::vector<double> keys, weights;
    double mass = 0, moment = 0;
};

// The rows of one chunk inside the bracket.
inline void gather_piece(const double *v, PerRow weight, int64_t n, double low, double high, LowestMass &sums,
                         Bracket &piece) {
    uint16_t where[kChunk];
    lowest_chunk(v, weight, n, low, high, where, &sums);
    auto inside = static_cast<size_t>(sums.inside);
    piece.keys.resize(inside);
    for (size_t j = 0; j < inside; ++j) piece.keys[j] = -v[where[j]];
    if (weight.data == nullptr) return;
    piece.weights.resize(inside);
    for (size_t j = 0; j < inside; ++j) piece.weights[j] = weight[where[j]];
}

// All pieces in order. What may be most of the rows is held once: room for as many as there are, and a large piece goes
// as soon as it has been read.
inline void join_pieces(std::vector<Bracket> &pieces, const std::vector<LowestMass> &parts, double scale,
                        Bracket &all) {
    auto append = [](std::vector<double> &to, std::vector<double> &from) {
        to.insert(to.end(), from.begin(), from.end());
        if (from.capacity() > kChunk / 2) std::vector<double>().swap(from);
    };
    size_t keys = 0, weights = 0;
    for (const Bracket &piece : pieces) keys += piece.keys.size(), weights += piece.weights.size();
    all.mass = all.moment = 0;
    all.keys.clear();
    all.weights.clear();
    all.keys.reserve(keys);
    all.weights.reserve(weights);
    for (size_t k = 0; k < pieces.size(); ++k) {
        all.mass += parts[k].mass * scale;
        all.moment += parts[k].moment * scale;
        append(all.keys, pieces[k].keys);
        append(all.weights, pieces[k].weights);
    }
}

inline Bracket lowest_gather(const double *v, int64_t m, const Caps &caps, double low, double high, int threads) {
    size_t chunks = static_cast<size_t>(chunk_count(m));
    std::vector<LowestMass> parts(chunks);
    std::vector<Bracket> pieces(chunks);
    over_chunks(m, threads, [&](int64_t k, int64_t begin, int64_t n) {
        auto chunk = static_cast<size_t>(k);
        gather_piece(v + begin, caps.weight.from(begin), n, low, high, parts[chunk], pieces[chunk]);
    });
    double spoilt = 0;
    for (const LowestMass &part : parts) spoilt += part.spoilt;
    require(!std::isnan(spoilt), "v must be finite.");
    Bracket all;
    join_pieces(pieces, parts, caps.scale, all);
    return all;
}

// Where the filling stops: the threshold, and the mass and moment strictly below it.
struct Filled {
    double threshold, mass, moment;
};

// Fills the bracket; the mass below it is in place already. Nothing if the bracket holds too little, unless it is known
// to be `enough`: then only rounding can leave it short, and its largest value is the threshold. Expected linear time.
inline std::optional<Filled> fill_bracket(Bracket &bracket, double scale, bool enough) {
    double *keys = bracket.keys.data();
    double *weights = bracket.weights.empty() ? nullptr : bracket.weights.data();
    int64_t n = static_cast<int64_t>(bracket.keys.size());
    double mass = bracket.mass, moment = bracket.moment;
    auto mass_of = [&](int64_t from, int64_t to) {
        return scale * (weights ? lane_sum(weights + from, to - from) : static_cast<double>(to - from));
    };
    if (mass >= 1.0) return std::nullopt;
    Lottery lottery;
    std::optional<Filled> last;
    while (n > 0) {
        double pivot = pivot_of(keys, n, lottery);
        auto [high, low] = partition_around(keys, weights, n, pivot);
        double above = mass_of(0, high), equal = mass_of(high, low);
        if (mass + above >= 1.0) {
            n = high;
            enough = true;
            continue;
        }
        mass += above;
        moment -= scale * (weights ? lane_dot(weights, keys, high) : lane_sum(keys, high));
        last = Filled{-pivot, mass, moment};
        if (mass + equal >= 1.0) return last;
        mass += equal;
        moment -= equal * pivot;
        keys += low;
        weights = weights ? weights + low : nullptr;
        n -= low;
    }
    return enough ? last : std::nullopt;
}

// A bracket that holds the threshold almost surely: the ranks of a sample, three standard deviations to either side.
inline std::pair<double, double> sampled_bracket(const double *v, int64_t m, const Caps &caps) {
    constexpr int64_t count = 2048;
    if (m <= 2 * count) return {-kInfinity, kInfinity};
    auto rows = sample_rows(m, count);
    double mass = 0;
    for (int64_t i : rows) {
        require(std::isfinite(v[i]), "v must be finite.");
        mass += caps[i];
    }
    std::sort(rows.begin(), rows.end(), [&](int64_t a, int64_t b) { return v[a] < v[b]; });
    double filled = 0, goal = mass / caps.total;
    int64_t rank = 0;
    while (rank < count - 1 && (filled += caps[rows[static_cast<size_t>(rank)]]) < goal) ++rank;
    double share = static_cast<double>(rank) / count;
    auto slack = static_cast<int64_t>(4.0 + 3.0 * std::sqrt(count * share * (1.0 - share)));
    auto value = [&](int64_t k) { return v[rows[static_cast<size_t>(k)]]; };
    return {rank < slack ? -kInfinity : value(rank - slack), rank + slack >= count ? kInfinity : value(rank + slack)};
}

inline Filled lowest_fill(const double *v, int64_t m, const Caps &caps, double centre, double width, int threads) {
    auto attempt = [&](double low, double high) {
        Bracket bracket = lowest_gather(v, m, caps, low, high, threads);
        return fill_bracket(bracket, caps.scale, low == -kInfinity && high == kInfinity);
    };
    if (!std::isnan(centre) && !std::isnan(width)) {
        // A bracket with more than an eighth of the rows costs more than a sample that gives a better one.
        width = std::min(width, eighth_nearest(m, [&](int64_t i) {
                             require(std::isfinite(v[i]), "v must be finite.");
                             return std::fabs(v[i] - centre);
                         }));
        if (auto filled = attempt(centre - width, centre + width)) return *filled;
    }
    auto [low, high] = sampled_bracket(v, m, caps);
    if (auto filled = attempt(low, high)) return *filled;
    return attempt(-kInfinity, kInfinity).value();
}

// Full caps below the threshold, nothing above; returns whether a row lies at it.
DUALBOOST_INLINE bool settle_lanes(const double *v, const double *weight, int width, double scale, double threshold,
                                   double *__restrict out) {
    for (int l = 0; l < width; ++l) out[l] = mask(v[l] < threshold) * (scale * weight[l]);
    int64_t at_it = 0;
    for (int l = 0; l < width; ++l) at_it |= static_cast<int64_t>(v[l] == threshold);
    return at_it != 0;
}

// Hands out what is left, in the order of the rows.
class Rest {
public:
    explicit Rest(double mass) : left_(1.0 - mass) {}
    double take(double cap) {
        double left = (left_ - used_) + error_;
        // A rest that is rounding is no entry, and a cap that is missed by rounding is full.
        double taken = left >= cap - kSumTolerance ? cap : (left > kSumTolerance ? left : 0.0);
        double term = taken - error_, sum = used_ + term;  // compensated: there may be many rows at the threshold
        error_ = (sum - used_) - term;
        used_ = sum;
        return taken;
    }

private:
    double left_, used_ = 0, error_ = 0;
};

DUALBOOST_CLONES inline void fill_vertex(const double *v, PerRow weights, int64_t m, double scale, double threshold,
                                         double mass, double *out) {
    Blocks weight(weights);
    Rest rest(mass);
    for (int64_t j = 0; j < m; j += kLanes) {
        int width = static_cast<int>(std::min<int64_t>(kLanes, m - j));
        const double *w = weight.at(j);
        bool at_it = width == kLanes ? settle_lanes(v + j, w, kLanes, scale, threshold, out + j)
                                     : settle_lanes(v + j, w, width, scale, threshold, out + j);
        if (!at_it) continue;
        for (int l = 0; l < width; ++l)
            if (v[j + l] == threshold) out[j + l] = rest.take(scale * w[l]);
    }
}

}  // namespace dualboost::weights
