// Entropic projection on {0 <= d <= c, sum d = 1}: d_i = c_i min(1, exp(level + offset_i - eta z_i)).
//
// Exponents are computed as eta * (anchor - z_i) + offset_i and multiplied by a ratio afterwards: near the level the
// difference is exact, however large eta * z is. One pass measures the rows whose status is clear within a band around
// the guessed level and collects the others; the level is then solved exactly on the collected rows, and a second pass
// writes. Guesses are tried in turn: the caller's, one from a sample, and at last the exact selection.
#pragma once

#include "weights_shared.hpp"

namespace dualboost {

struct Entropic {
    const double *z;
    int64_t m;
    double eta;
    Caps caps;
    PerRow offset;  // 0 for all rows where it is one number: a constant is absorbed by the level
    int threads;
    int passes = 0;

    double exponent(int64_t i, double anchor) const { return eta * (anchor - z[i]) + offset[i]; }
    bool plain() const { return caps.equal() && offset.data == nullptr; }
};

constexpr double kWidestBand = 30.0, kNarrowestBand = 0.01;
constexpr double kHighestExponent = 40.0;  // beyond the widest band: such rows are at their cap in any case

// What a pass over one chunk, or over all of them, found. Masses are in units of the caps' scale.
struct EntropicMass {
    double capped = 0, free = 0, spoilt = 0;
    int64_t inside = 0;
    void add(const EntropicMass &other) {
        capped += other.capped;
        free += other.free;
        spoilt += other.spoilt;
        inside += other.inside;
    }
};

struct EntropicLanes {
    double capped[kLanes] = {}, free[kLanes] = {}, spoilt[kLanes] = {};
    double x[kLanes];
    int64_t inside[kLanes];
    DUALBOOST_INLINE EntropicMass sums(int64_t collected) const {
        return {fold(capped), fold(free), fold(spoilt), collected};
    }
};

// ---- Measuring and collecting -------------------------------------------------------------------------------------

DUALBOOST_INLINE void gather_lanes(const double *z, int width, double eta, double anchor, double low, double high,
                                   EntropicLanes &lanes) {
    for (int l = 0; l < width; ++l) {
        double e = eta * (anchor - z[l]);
        double x = tree_exp(e > kHighestExponent ? kHighestExponent : e);
        lanes.x[l] = x;
        lanes.inside[l] = static_cast<int64_t>(x >= low) & static_cast<int64_t>(x < high);
        lanes.capped[l] += mask(x >= high);
        lanes.free[l] += mask(x < low) * x;
        lanes.spoilt[l] += z[l] * 0.0;  // becomes NaN, and stays so, as soon as one z is not finite
    }
}

DUALBOOST_INLINE void gather_lanes(const double *z, const double *weight, const double *offset, int width, double eta,
                                   double anchor, double low, double high, EntropicLanes &lanes) {
    for (int l = 0; l < width; ++l) {
        double e = eta * (anchor - z[l]) + offset[l];
        double x = tree_exp(e > kHighestExponent ? kHighestExponent : e);
        lanes.x[l] = x;
        lanes.inside[l] = static_cast<int64_t>(x >= low) & static_cast<int64_t>(x < high);
        lanes.capped[l] += mask(x >= high) * weight[l];
        lanes.free[l] += mask(x < low) * x * weight[l];
        lanes.spoilt[l] += z[l] * 0.0 + offset[l] * 0.0;
    }
}

// Appends the rows inside the band without a branch on each; most groups of lanes have none and are skipped.
DUALBOOST_INLINE int64_t collect_lanes(const EntropicLanes &lanes, const double *weight, int width, double *kept_x,
                                       double *kept_weight, int64_t kept) {
    int64_t any = 0;
    for (int l = 0; l < width; ++l) any |= lanes.inside[l];
    if (!any) return kept;
    for (int l = 0; l < width; ++l) {
        kept_x[kept] = lanes.x[l];
        if (kept_weight) kept_weight[kept] = weight[l];
        kept += lanes.inside[l];
    }
    return kept;
}

DUALBOOST_CLONES inline void gather_plain(const double *z, int64_t n, double eta, double anchor, double low,
                                          double high, double *kept_x, EntropicMass *mass) {
    EntropicLanes lanes;
    int64_t kept = 0, j = 0;
    for (; j + kLanes <= n; j += kLanes) {
        gather_lanes(z + j, kLanes, eta, anchor, low, high, lanes);
        kept = collect_lanes(lanes, nullptr, kLanes, kept_x, nullptr, kept);
    }
    gather_lanes(z + j, static_cast<int>(n - j), eta, anchor, low, high, lanes);
    kept = collect_lanes(lanes, nullptr, static_cast<int>(n - j), kept_x, nullptr, kept);
    *mass = lanes.sums(kept);
}

DUALBOOST_CLONES inline void gather_general(const double *z, PerRow weights, PerRow offsets, int64_t n, double eta,
                                            double anchor, double low, double high, double *kept_x,
                                            double *kept_weight, EntropicMass *mass) {
    Blocks weight(weights), offset(offsets);
    EntropicLanes lanes;
    int64_t kept = 0, j = 0;
    for (; j + kLanes <= n; j += kLanes) {
        gather_lanes(z + j, weight.at(j), offset.at(j), kLanes, eta, anchor, low, high, lanes);
        kept = collect_lanes(lanes, weight.at(j), kLanes, kept_x, kept_weight, kept);
    }
    int rest = static_cast<int>(n - j);
    gather_lanes(z + j, weight.at(j), offset.at(j), rest, eta, anchor, low, high, lanes);
    kept = collect_lanes(lanes, weight.at(j), rest, kept_x, kept_weight, kept);
    *mass = lanes.sums(kept);
}

// ---- Writing ------------------------------------------------------------------------------------------------------

DUALBOOST_INLINE void write_lanes(const double *z, int width, double eta, double anchor, double ratio, double scale,
                                  double *out, EntropicLanes &lanes) {
    for (int l = 0; l < width; ++l) {
        double e = eta * (anchor - z[l]);
        double x = tree_exp(e > kHighestExponent ? kHighestExponent : e) * ratio;
        double full = mask(x >= 1.0), share = x < 1.0 ? x : 1.0;
        out[l] = scale * share;
        lanes.capped[l] += full;
        lanes.free[l] += share - full;
    }
}

DUALBOOST_INLINE void write_lanes(const double *z, const double *weight, const double *offset, int width, double eta,
                                  double anchor, double ratio, double scale, double *out, EntropicLanes &lanes) {
    for (int l = 0; l < width; ++l) {
        double e = eta * (anchor - z[l]) + offset[l];
        double x = tree_exp(e > kHighestExponent ? kHighestExponent : e) * ratio;
        double full = mask(x >= 1.0), share = x < 1.0 ? x : 1.0, w = weight[l];
        out[l] = scale * w * share;
        lanes.capped[l] += w * full;
        lanes.free[l] += w * (share - full);
    }
}

DUALBOOST_CLONES inline void write_plain(const double *z, int64_t n, double eta, double anchor, double ratio,
                                         double scale, double *out, EntropicMass *mass) {
    EntropicLanes lanes;
    int64_t j = 0;
    for (; j + kLanes <= n; j += kLanes) write_lanes(z + j, kLanes, eta, anchor, ratio, scale, out + j, lanes);
    write_lanes(z + j, static_cast<int>(n - j), eta, anchor, ratio, scale, out + j, lanes);
    *mass = lanes.sums(0);
}

DUALBOOST_CLONES inline void write_general(const double *z, PerRow weights, PerRow offsets, int64_t n, double eta,
                                           double anchor, double ratio, double scale, double *out,
                                           EntropicMass *mass) {
    Blocks weight(weights), offset(offsets);
    EntropicLanes lanes;
    int64_t j = 0;
    for (; j + kLanes <= n; j += kLanes)
        write_lanes(z + j, weight.at(j), offset.at(j), kLanes, eta, anchor, ratio, scale, out + j, lanes);
    int rest = static_cast<int>(n - j);
    write_lanes(z + j, weight.at(j), offset.at(j), rest, eta, anchor, ratio, scale, out + j, lanes);
    *mass = lanes.sums(0);
}

// Writes d and returns its capped and free mass.
inline EntropicMass entropic_write(Entropic &p, double anchor, double ratio, double *out) {
    std::vector<EntropicMass> parts(static_cast<size_t>(chunk_count(p.m)));
    over_chunks(p.m, p.threads, [&](int64_t k, int64_t begin, int64_t n) {
        EntropicMass *part = &parts[static_cast<size_t>(k)];
        if (p.plain())
            write_plain(p.z + begin, n, p.eta, anchor, ratio, p.caps.scale, out + begin, part);
        else
            write_general(p.z + begin, p.caps.weight.from(begin), p.offset.from(begin), n, p.eta, anchor, ratio,
                          p.caps.scale, out + begin, part);
    });
    ++p.passes;
    EntropicMass mass;
    for (const auto &part : parts) mass.add(part);
    return {mass.capped * p.caps.scale, mass.free * p.caps.scale, 0, 0};
}

// ---- The level inside the band --------------------------------------------------------------------------------------

// Rows near the guessed level, chunk by chunk at the front of each chunk's stretch of `x`; the rest only as masses.
struct Band {
    double *x;
    std::unique_ptr<double[]> weight;  // none where all caps are equal
    std::vector<EntropicMass> parts;
    EntropicMass outside;
    double width;
};

// Only comparisons and products: `free` is still to be multiplied by the ratio.
DUALBOOST_INLINE void weigh_lanes(const double *x, const double *weight, int width, double ratio,
                                  EntropicLanes &lanes) {
    for (int l = 0; l < width; ++l) {
        double full = mask(x[l] * ratio >= 1.0), w = weight[l];
        lanes.capped[l] += w * full;
        lanes.free[l] += w * (x[l] - x[l] * full);
    }
}

DUALBOOST_CLONES inline void weigh_chunk(const double *x, PerRow weights, int64_t n, double ratio,
                                         EntropicMass *mass) {
    Blocks weight(weights);
    EntropicLanes lanes;
    int64_t j = 0;
    for (; j + kLanes <= n; j += kLanes) weigh_lanes(x + j, weight.at(j), kLanes, ratio, lanes);
    weigh_lanes(x + j, weight.at(j), static_cast<int>(n - j), ratio, lanes);
    *mass = lanes.sums(0);
}

inline EntropicMass weigh(const Band &band, double scale, double ratio) {
    EntropicMass all = band.outside;
    for (size_t k = 0; k < band.parts.size(); ++k) {
        if (band.parts[k].inside == 0) continue;
        int64_t begin = static_cast<int64_t>(k) * kChunk;
        EntropicMass part;
        PerRow weight{band.weight ? band.weight.get() + begin : nullptr, 1.0};
        weigh_chunk(band.x + begin, weight, band.parts[k].inside, ratio, &part);
        all.add(part);
    }
    return {all.capped * scale, all.free * scale * ratio, 0, 0};
}

// The next trial from the masses at `ratio`. In the ratio the sum is concave and piecewise linear, so the Newton step
// never passes the root from below; but it crawls where many rows are still to be capped one after another. There the
// sum is nearly linear in the level instead, and that step is bolder. Both meet when close.
inline double next_ratio(const EntropicMass &mass, double ratio) {
    double missing = (1.0 - mass.capped - mass.free) / mass.free;
    bool newton = mass.capped < 1.0 && missing <= 1.0;
    return newton ? ratio * ((1.0 - mass.capped) / mass.free) : ratio * std::exp(std::clamp(missing, -60.0, 60.0));
}

// The ratio at which the sum is one, or nothing if it does not lie within the band.
inline std::optional<double> solve_band(const Band &band, double scale) {
    double low = std::exp(-band.width), high = std::exp(band.width), ratio = 1.0;
    bool low_seen = false, high_seen = false;
    for (int trial = 0; trial < 100; ++trial) {
        EntropicMass mass = weigh(band, scale, ratio);
        double sum = mass.capped + mass.free;
        if (std::fabs(sum - 1.0) <= 2e-16) return ratio;
        if ((sum < 1.0 && ratio >= high) || (sum > 1.0 && ratio <= low)) return std::nullopt;
        (sum < 1.0 ? low : high) = ratio;
        (sum < 1.0 ? low_seen : high_seen) = true;
        double next = next_ratio(mass, ratio);
        if (!(next > low)) next = low_seen ? std::sqrt(low * high) : low;
        if (!(next < high)) next = high_seen ? std::sqrt(low * high) : high;
        if (next == ratio || (low_seen && high_seen && (next <= low || next >= high))) return ratio;
        ratio = next;
    }
    return ratio;
}

// ---- Guesses --------------------------------------------------------------------------------------------------------

// Exact level for the given keys (offset_i - eta z_i up to a constant): keep the rows that are undecided, split them at
// a pivot, and decide one side by the sum at the level that brings the pivot just to its cap. Reorders its arguments.
inline double select_level(double *keys, double *weights, double scale, int64_t n) {
    double capped = 0, lowest_capped = kInfinity;  // decided: at their cap
    double free = 0, highest_free = -kInfinity;    // decided: below; their mass relative to the highest of their keys
    Lottery lottery;
    while (n > 0) {
        double pivot = pivot_of(keys, n, lottery);
        auto [high, low] = partition_around(keys, weights, n, pivot);
        double above = scale * (weights ? lane_sum(weights, high) : static_cast<double>(high));
        double equal = scale * (weights ? lane_sum(weights + high, low - high) : static_cast<double>(low - high));
        double below = (free > 0 ? free * std::exp(highest_free - pivot) : 0.0) +
                       scale * sum_of_exponentials(keys + high, weights ? weights + high : nullptr, n - high, pivot);
        if (1.0 - capped - above <= below) {
            free = below;
            highest_free = pivot;
            n = high;
        } else {
            capped += above + equal;
            lowest_capped = pivot;
            keys += low;
            weights = weights ? weights + low : nullptr;
            n -= low;
        }
    }
    double rest = 1.0 - capped;
    return free > 0 && rest > 0 ? std::log(rest / free) - highest_free : -lowest_capped;
}

// The anchor that the exact selection gives for some of the rows (all: `rows` empty), with room for keys and weights.
inline double selected_anchor(const Entropic &p, const std::vector<int64_t> &rows, double *keys, double *weights) {
    int64_t n = rows.empty() ? p.m : static_cast<int64_t>(rows.size());
    auto row = [&](int64_t k) { return rows.empty() ? k : rows[static_cast<size_t>(k)]; };
    double origin = p.z[row(0)], mass = 0;
    for (int64_t k = 0; k < n; ++k) {
        keys[k] = p.exponent(row(k), origin);
        require(std::isfinite(keys[k]), "z and offset must be finite, and eta * z too.");
        if (weights) weights[k] = p.caps.weight[row(k)];
        mass += p.caps[row(k)];
    }
    // The rows of a sample stand for all of them.
    double share = rows.empty() ? 1.0 : p.caps.total / mass;
    return origin + select_level(keys, weights, p.caps.scale * share, n) / p.eta;
}

inline double sampled_anchor(const Entropic &p) {
    auto rows = sample_rows(p.m, 1024);
    std::vector<double> room(rows.size() * 2);
    return selected_anchor(p, rows, room.data(), p.caps.equal() ? nullptr : room.data() + rows.size());
}

inline double band_width(const Entropic &p, double anchor) {
    std::vector<double> distances;
    for (int64_t i : sample_rows(p.m, width_sample(p.m))) {
        double distance = std::fabs(p.exponent(i, anchor));
        require(!std::isnan(distance), "z and offset must be finite.");
        distances.push_back(distance);
    }
    return std::clamp(eighth_nearest(distances), kNarrowestBand, kWidestBand);
}

inline Band entropic_gather(Entropic &p, double anchor, double width, double *out) {
    Band band{out, nullptr, std::vector<EntropicMass>(static_cast<size_t>(chunk_count(p.m))), {}, width};
    // Never cleared, and only the pages that receive rows are ever touched.
    if (!p.caps.equal()) band.weight.reset(new double[static_cast<size_t>(p.m)]);
    double low = std::exp(-width), high = std::exp(width);
    over_chunks(p.m, p.threads, [&](int64_t k, int64_t begin, int64_t n) {
        EntropicMass *part = &band.parts[static_cast<size_t>(k)];
        if (p.plain())
            gather_plain(p.z + begin, n, p.eta, anchor, low, high, out + begin, part);
        else
            gather_general(p.z + begin, p.caps.weight.from(begin), p.offset.from(begin), n, p.eta, anchor, low, high,
                           out + begin, band.weight ? band.weight.get() + begin : nullptr, part);
    });
    ++p.passes;
    for (const auto &part : band.parts) band.outside.add(part);
    require(!std::isnan(band.outside.spoilt), "z and offset must be finite.");
    return band;
}

// Tries one guess; true when `out` holds the projection and `level` its level.
inline bool entropic_attempt(Entropic &p, double anchor, double *out, double *level) {
    if (!std::isfinite(anchor)) return false;
    auto solved = solve_band(entropic_gather(p, anchor, band_width(p, anchor), out), p.caps.scale);
    if (!solved) return false;
    double ratio = *solved;
    for (int trial = 0; trial < 3; ++trial) {
        EntropicMass mass = entropic_write(p, anchor, ratio, out);
        *level = p.eta * anchor + std::log(ratio);
        if (std::fabs(mass.capped + mass.free - 1.0) <= kSumTolerance) return true;
        if (!(mass.capped < 1.0 && mass.free > 0.0)) return false;
        ratio *= (1.0 - mass.capped) / mass.free;
    }
    return false;
}

inline bool entropic_by_selection(Entropic &p, double *out, double *level) {
    std::unique_ptr<double[]> weights(p.caps.equal() ? nullptr : new double[static_cast<size_t>(p.m)]);
    double anchor = selected_anchor(p, {}, out, weights.get());
    p.passes += 3;  // the expected number of reads of a selection
    weights.reset();
    return entropic_attempt(p, anchor, out, level);
}

// The caps are the only feasible point; the level is the lowest that brings every row to its cap.
inline double entropic_full(const Entropic &p, double *out) {
    double level = -kInfinity, spoilt = 0;
    for (int64_t i = 0; i < p.m; ++i) {
        out[i] = p.caps[i];
        level = std::max(level, p.eta * p.z[i] - p.offset[i]);
        spoilt += p.z[i] * 0.0 + p.offset[i] * 0.0;
    }
    require(!std::isnan(spoilt), "z and offset must be finite.");
    return level;
}

inline double entropic_project(Entropic &p, double start, bool select_only, double *out) {
    double level = 0;
    if (p.caps.total <= 1.0 + kFullMass) return entropic_full(p, out);
    bool done = !select_only && (entropic_attempt(p, start / p.eta, out, &level) ||
                                 entropic_attempt(p, sampled_anchor(p), out, &level));
    if (!done) done = entropic_by_selection(p, out, &level);
    if (!done) throw std::runtime_error("The entropic projection did not reach a sum of one.");
    require(std::isfinite(level), "eta * z must be finite.");
    return level;
}

}  // namespace dualboost
