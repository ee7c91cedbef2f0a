// Entropic projection on {0 <= d <= c, sum d = 1}: d_i = c_i min(1, exp(level + offset_i - eta z_i)).
//
// Exponents are computed as eta * (anchor - z_i) + offset_i and multiplied by a ratio afterwards: near the level the
// difference is exact, however large eta * z is. One pass writes the exponentials x_i to `out`, measures the rows whose
// status is clear within a band around the guessed level and collects the others; the level is then solved exactly on
// the collected rows, and a second pass turns x into d. Guesses are tried in turn: the caller's, one from a sample, and
// at last the exact selection.
#pragma once

#include "weights_shared.hpp"

namespace dualboost::weights {

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
static_assert(kWidestBand * kLog2e < kHighestPower, "a row beyond the band must stay there when its power is cut");
// Rows measured before the room for collected rows is looked at again, and before lanes are folded: long sums of equal
// terms gather rounding errors of one sign.
constexpr int64_t kStretch = 1 << 11;

// What a pass over some rows found. Masses are in units of the caps' scale.
struct EntropicMass {
    double capped = 0, free = 0;
    double total = 0;  // of all z: finite only if every one of them is
    void add(const EntropicMass &other) {
        capped += other.capped;
        free += other.free;
        total += other.total;
    }
};

struct EntropicLanes {
    double capped[kLanes] = {}, free[kLanes] = {}, total[kLanes] = {};
    double power[kLanes];
    int64_t inside[kLanes];
};

// ---- Measuring and collecting --------------------

// One group of rows: its exponentials to `x`, its masses to the lanes. Each step is a loop of its own: in one loop the
// compiler entangles their comparisons and spends more on them than on the exponential.
DUALBOOST_INLINE void measure_lanes(const double *z, int width, double eta2, double anchor, double low, double high,
                                    double *__restrict x, EntropicLanes &lanes) {
    for (int l = 0; l < width; ++l) lanes.power[l] = at_most(eta2 * (anchor - z[l]), kHighestPower);
    for (int l = 0; l < width; ++l) lanes.power[l] = at_least(lanes.power[l], kLowestPower);
    for (int l = 0; l < width; ++l) x[l] = power_of_two(lanes.power[l]);
    for (int l = 0; l < width; ++l) {
        lanes.inside[l] = static_cast<int64_t>(x[l] >= low) & static_cast<int64_t>(x[l] < high);
        lanes.capped[l] += mask(x[l] >= high);
        lanes.free[l] += x[l] < low ? x[l] : 0.0;
        lanes.total[l] += z[l];
    }
}

DUALBOOST_INLINE void measure_lanes(const double *z, const double *weight, const double *offset, int width, double eta2,
                                    double anchor, double low, double high, double *__restrict x,
                                    EntropicLanes &lanes) {
    for (int l = 0; l < width; ++l) {
        double power = eta2 * (anchor - z[l]) + kLog2e * offset[l];
        lanes.power[l] = at_most(power, kHighestPower);
    }
    for (int l = 0; l < width; ++l) lanes.power[l] = at_least(lanes.power[l], kLowestPower);
    for (int l = 0; l < width; ++l) x[l] = power_of_two(lanes.power[l]);
    for (int l = 0; l < width; ++l) {
        lanes.inside[l] = static_cast<int64_t>(x[l] >= low) & static_cast<int64_t>(x[l] < high);
        lanes.capped[l] += mask(x[l] >= high) * weight[l];
        lanes.free[l] += mask(x[l] < low) * x[l] * weight[l];
        lanes.total[l] += z[l] + offset[l];
    }
}

// Appends the rows inside the band without a branch on each; groups of lanes that have none are skipped.
DUALBOOST_INLINE int64_t collect_lanes(const int64_t *inside, const double *values, int width, double *pile,
                                       int64_t kept) {
    int64_t any = 0;
    for (int l = 0; l < width; ++l) any |= inside[l];
    if (!any) return kept;
    for (int l = 0; l < width; ++l) {
        pile[kept] = values[l];
        kept += inside[l];
    }
    return kept;
}

// A stretch of rows with equal caps and no offsets; returns how many were collected.
DUALBOOST_CLONES inline int64_t measure_plain(const double *z, int64_t n, double eta2, double anchor, double low,
                                              double high, double *x, double *kept_x, EntropicMass *mass) {
    EntropicLanes lanes;
    int64_t kept = 0, j = 0;
    for (; j + kLanes <= n; j += kLanes) {
        measure_lanes(z + j, kLanes, eta2, anchor, low, high, x + j, lanes);
        kept = collect_lanes(lanes.inside, x + j, kLanes, kept_x, kept);
    }
    int rest = static_cast<int>(n - j);
    measure_lanes(z + j, rest, eta2, anchor, low, high, x + j, lanes);
    kept = collect_lanes(lanes.inside, x + j, rest, kept_x, kept);
    mass->add({fold(lanes.capped), fold(lanes.free), fold(lanes.total)});
    return kept;
}

// A stretch of rows in general; `kept_weight` receives the weights of the collected rows.
DUALBOOST_CLONES inline int64_t measure_general(const double *z, PerRow weights, PerRow offsets, int64_t n, double eta2,
                                                double anchor, double low, double high, double *x, double *kept_x,
                                                double *kept_weight, EntropicMass *mass) {
    Blocks weight(weights), offset(offsets);
    EntropicLanes lanes;
    int64_t kept = 0, j = 0;
    for (; j + kLanes <= n; j += kLanes) {
        measure_lanes(z + j, weight.at(j), offset.at(j), kLanes, eta2, anchor, low, high, x + j, lanes);
        collect_lanes(lanes.inside, weight.at(j), kLanes, kept_weight, kept);
        kept = collect_lanes(lanes.inside, x + j, kLanes, kept_x, kept);
    }
    int rest = static_cast<int>(n - j);
    measure_lanes(z + j, weight.at(j), offset.at(j), rest, eta2, anchor, low, high, x + j, lanes);
    collect_lanes(lanes.inside, weight.at(j), rest, kept_weight, kept);
    kept = collect_lanes(lanes.inside, x + j, rest, kept_x, kept);
    mass->add({fold(lanes.capped), fold(lanes.free), fold(lanes.total)});
    return kept;
}

// ---- Writing --------------------

DUALBOOST_INLINE void share_lanes(const double *weight, int width, double ratio, double scale, double *out,
                                  double *sum) {
    for (int l = 0; l < width; ++l) {
        double share = weight[l] * at_most(out[l] * ratio, 1.0);
        out[l] = scale * share;
        sum[l] += share;
    }
}

// Turns x into d, in place, and returns the sum in units of the scale.
DUALBOOST_CLONES inline double share_stretch(PerRow weights, int64_t n, double ratio, double scale, double *out) {
    Blocks weight(weights);
    double sum[kLanes] = {};
    int64_t j = 0;
    for (; j + kLanes <= n; j += kLanes) share_lanes(weight.at(j), kLanes, ratio, scale, out + j, sum);
    share_lanes(weight.at(j), static_cast<int>(n - j), ratio, scale, out + j, sum);
    return fold(sum);
}

inline double entropic_share(Entropic &p, double ratio, double *out) {
    std::vector<double> parts(static_cast<size_t>(chunk_count(p.m)));
    over_chunks(p.m, p.threads, [&](int64_t k, int64_t begin, int64_t n) {
        double &sum = parts[static_cast<size_t>(k)];
        for (int64_t i = begin, end = begin + n; i < end; i += kStretch)
            sum += share_stretch(p.caps.weight.from(i), std::min(kStretch, end - i), ratio, p.caps.scale, out + i);
    });
    ++p.passes;
    double sum = 0;
    for (double part : parts) sum += part;
    return sum * p.caps.scale;
}

// ---- The level inside the band --------------------

// The rows of a chunk near the guessed level one by one (weights only where the caps differ), the others as masses.
struct BandPart {
    EntropicMass outside;
    Pile x, weight;
};
struct Band {
    std::vector<BandPart> parts;
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

DUALBOOST_CLONES inline void weigh_stretch(const double *x, PerRow weights, int64_t n, double ratio,
                                           EntropicMass *mass) {
    Blocks weight(weights);
    EntropicLanes lanes;
    int64_t j = 0;
    for (; j + kLanes <= n; j += kLanes) weigh_lanes(x + j, weight.at(j), kLanes, ratio, lanes);
    weigh_lanes(x + j, weight.at(j), static_cast<int>(n - j), ratio, lanes);
    mass->add({fold(lanes.capped), fold(lanes.free), 0});
}

inline EntropicMass weigh(const Band &band, double scale, double ratio) {
    EntropicMass all = band.outside;
    for (const BandPart &part : band.parts) {
        PerRow weight{part.weight.size() > 0 ? part.weight.data() : nullptr, 1.0};
        for (int64_t i = 0; i < part.x.size(); i += kStretch)
            weigh_stretch(part.x.data() + i, weight.from(i), std::min(kStretch, part.x.size() - i), ratio, &all);
    }
    return {all.capped * scale, all.free * scale * ratio, 0};
}

// The next trial from the masses at `ratio`. In the ratio the sum is concave and piecewise linear, so the Newton step
// never passes the root from below; but it crawls where many rows are still to be capped one after another. There the
// sum is nearly linear in the level instead, and that step is bolder. Both meet when close.
inline double next_ratio(const EntropicMass &mass, double ratio) {
    double missing = (1.0 - mass.capped - mass.free) / mass.free;
    bool newton = mass.capped < 1.0 && missing <= 1.0;
    return newton ? ratio * ((1.0 - mass.capped) / mass.free) : ratio * std::exp(std::clamp(missing, -60.0, 60.0));
}

// The ratio at which the sum is one, or nothing if it does not lie within the band. Where caps add up to one but for
// rounding and the next row is far away, no ratio is better than those between: there the end of the band will do.
inline std::optional<double> solve_band(const Band &band, double scale) {
    double low = std::exp(-band.width), high = std::exp(band.width), ratio = 1.0;
    bool low_seen = false, high_seen = false;
    for (int trial = 0; trial < 100; ++trial) {
        EntropicMass mass = weigh(band, scale, ratio);
        double sum = mass.capped + mass.free;
        if (std::fabs(sum - 1.0) <= 2e-16) return ratio;
        if ((sum < 1.0 && ratio >= high) || (sum > 1.0 && ratio <= low))
            return std::fabs(sum - 1.0) <= kSumTolerance ? std::optional(ratio) : std::nullopt;
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

// ---- Guesses --------------------

// Exact level for the given keys (offset_i - eta z_i up to a constant): keep the rows that are undecided, split them at
// a pivot, and decide one side by the sum at the level that brings the pivot just to its cap. Reorders its arguments.
inline double select_level(double *keys, double *weights, double scale, int64_t n) {
    double capped = 0, lowest_capped = kInfinity;  // decided: at their cap
    double free = 0, highest_free = -kInfinity;  // decided: below; their mass relative to the highest of their keys
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
    double width = eighth_nearest(p.m, [&](int64_t i) {
        double distance = std::fabs(p.exponent(i, anchor));
        require(!std::isnan(distance), "z and offset must be finite.");
        return distance;
    });
    return std::clamp(width, kNarrowestBand, kWidestBand);
}

inline void gather_chunk(const Entropic &p, int64_t begin, int64_t end, double anchor, double width, double *out,
                         BandPart &part) {
    double low = std::exp(-width), high = std::exp(width), eta2 = p.eta * kLog2e;
    for (; begin < end; begin += kStretch) {
        int64_t n = std::min(kStretch, end - begin);
        part.x.reserve(n);
        if (p.plain()) {
            part.x.grow(
                measure_plain(p.z + begin, n, eta2, anchor, low, high, out + begin, part.x.end(), &part.outside));
            continue;
        }
        part.weight.reserve(n);
        int64_t kept = measure_general(p.z + begin, p.caps.weight.from(begin), p.offset.from(begin), n, eta2, anchor,
                                       low, high, out + begin, part.x.end(), part.weight.end(), &part.outside);
        part.x.grow(kept);
        part.weight.grow(kept);
    }
}

inline Band entropic_gather(Entropic &p, double anchor, double width, double *out) {
    Band band{std::vector<BandPart>(static_cast<size_t>(chunk_count(p.m))), {}, width};
    over_chunks(p.m, p.threads, [&](int64_t k, int64_t begin, int64_t n) {
        gather_chunk(p, begin, begin + n, anchor, width, out, band.parts[static_cast<size_t>(k)]);
    });
    ++p.passes;
    for (const BandPart &part : band.parts) band.outside.add(part.outside);
    require(std::isfinite(band.outside.total), "z and offset must be finite, and their sum too.");
    return band;
}

// Tries one guess; true when `out` holds the projection and `level` its level.
inline bool entropic_attempt(Entropic &p, double anchor, double *out, double *level) {
    for (double tolerance : {kSumTolerance, kLooseTolerance}) {
        if (!std::isfinite(anchor)) return false;
        auto ratio = solve_band(entropic_gather(p, anchor, band_width(p, anchor), out), p.caps.scale);
        if (!ratio) return false;
        *level = p.eta * anchor + std::log(*ratio);
        if (std::fabs(entropic_share(p, *ratio, out) - 1.0) <= tolerance) return true;
        anchor += std::log(*ratio) / p.eta;  // once more from where the exponents are small and have least rounding
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

}  // namespace dualboost::weights
