// Euclidean projection on {0 <= d <= c, sum k d = 1}, where a row stands for k copies: d_i = clip(z_i - tau, 0, c_i).
//
// The sum is decreasing and piecewise linear in tau. One pass measures the rows that keep their status (zero, free, at
// the cap) for every tau in a bracket and collects the others; tau is solved on those, and a second pass writes. Tau is
// kept as base + shift: z - base is exact near the threshold, so that the sum is one even where z is large.
#pragma once

#include "weights_shared.hpp"

namespace dualboost::weights {

struct Euclidean {
    const double *z;
    int64_t m;
    Caps caps;
    PerRow copies;
    int threads;
};

struct EuclideanMass {
    double capped = 0, free = 0, rows = 0, spoilt = 0;  // `free` sums z - base over the `rows` copies of free rows
    int64_t inside = 0;
    void add(const EuclideanMass &other) {
        capped += other.capped;
        free += other.free;
        rows += other.rows;
        spoilt += other.spoilt;
        inside += other.inside;
    }
};

struct EuclideanLanes {
    double capped[kLanes] = {}, free[kLanes] = {}, rows[kLanes] = {}, spoilt[kLanes] = {};
    double t[kLanes];
    int64_t inside[kLanes];
    DUALBOOST_INLINE EuclideanMass sums(int64_t collected) const {
        return {fold(capped), fold(free), fold(rows), fold(spoilt), collected};
    }
};

// Status of t = z - base for all shifts in [low, high]: zero if t <= low, free if t >= high and t - c <= low, at the
// cap if t - c >= high; anything else may change and is collected.
DUALBOOST_INLINE void euclidean_lanes(const double *z, const double *weight, const double *copies, int width,
                                      double scale, double base, double low, double high, EuclideanLanes &lanes) {
    for (int l = 0; l < width; ++l) {
        double t = z[l] - base, over = t - scale * weight[l];
        double positive = mask(t > low), full = mask(over >= high);
        double free = positive * mask(t >= high) * mask(over <= low) * (1.0 - full);
        lanes.t[l] = t;
        lanes.capped[l] += full * weight[l] * copies[l];
        lanes.free[l] += free * t * copies[l];
        lanes.rows[l] += free * copies[l];
        lanes.spoilt[l] += t * 0.0;  // NaN as soon as one difference is not finite
        lanes.inside[l] = static_cast<int64_t>(positive > full + free);
    }
}

// Where the collected rows go; weights and copies only where rows differ in them.
struct EuclideanRoom {
    double *t, *weight, *copies;
    EuclideanRoom from(int64_t i) const {
        return {t + i, weight ? weight + i : nullptr, copies ? copies + i : nullptr};
    }
};

DUALBOOST_INLINE int64_t euclidean_collect(const EuclideanLanes &lanes, const double *weight, const double *copies,
                                           int width, const EuclideanRoom &room, int64_t kept) {
    int64_t any = 0;
    for (int l = 0; l < width; ++l) any |= lanes.inside[l];
    if (!any) return kept;
    for (int l = 0; l < width; ++l) {
        room.t[kept] = lanes.t[l];
        if (room.weight) room.weight[kept] = weight[l];
        if (room.copies) room.copies[kept] = copies[l];
        kept += lanes.inside[l];
    }
    return kept;
}

DUALBOOST_CLONES inline void euclidean_gather(const double *z, PerRow weights, PerRow counts, int64_t n, double scale,
                                              double base, double low, double high, const EuclideanRoom *room,
                                              EuclideanMass *mass) {
    Blocks weight(weights), copies(counts);
    EuclideanLanes lanes;
    int64_t kept = 0, j = 0;
    for (; j + kLanes <= n; j += kLanes) {
        euclidean_lanes(z + j, weight.at(j), copies.at(j), kLanes, scale, base, low, high, lanes);
        kept = euclidean_collect(lanes, weight.at(j), copies.at(j), kLanes, *room, kept);
    }
    int rest = static_cast<int>(n - j);
    euclidean_lanes(z + j, weight.at(j), copies.at(j), rest, scale, base, low, high, lanes);
    kept = euclidean_collect(lanes, weight.at(j), copies.at(j), rest, *room, kept);
    *mass = lanes.sums(kept);
}

// Capped mass, free sum of t and number of free copies at one shift.
DUALBOOST_INLINE void weigh_lanes(const double *t, const double *weight, const double *copies, int width, double scale,
                                  double shift, EuclideanLanes &lanes) {
    for (int l = 0; l < width; ++l) {
        double d = t[l] - shift;
        double full = mask(d >= scale * weight[l]), free = mask(d > 0.0) - full;
        lanes.capped[l] += full * weight[l] * copies[l];
        lanes.free[l] += free * t[l] * copies[l];
        lanes.rows[l] += free * copies[l];
    }
}

DUALBOOST_CLONES inline void euclidean_weigh(const double *t, PerRow weights, PerRow counts, int64_t n, double scale,
                                             double shift, EuclideanMass *mass) {
    Blocks weight(weights), copies(counts);
    EuclideanLanes lanes;
    int64_t j = 0;
    for (; j + kLanes <= n; j += kLanes) weigh_lanes(t + j, weight.at(j), copies.at(j), kLanes, scale, shift, lanes);
    weigh_lanes(t + j, weight.at(j), copies.at(j), static_cast<int>(n - j), scale, shift, lanes);
    *mass = lanes.sums(0);
}

// Capped rows are summed as weights, so that equal caps are counted and not added up with their rounding.
DUALBOOST_INLINE void clip_lanes(const double *z, const double *weight, const double *copies, int width, double scale,
                                 double base, double shift, double *__restrict out, EuclideanLanes &lanes) {
    for (int l = 0; l < width; ++l) lanes.t[l] = at_most(at_least((z[l] - base) - shift, 0.0), scale * weight[l]);
    for (int l = 0; l < width; ++l) {
        double d = lanes.t[l], cap = scale * weight[l], full = mask(d >= cap);
        out[l] = d;
        lanes.capped[l] += full * weight[l] * copies[l];
        lanes.free[l] += (d - full * cap) * copies[l];
    }
}

// Writes d and returns the sum of k d.
DUALBOOST_CLONES inline double euclidean_write(const double *z, PerRow weights, PerRow counts, int64_t n, double scale,
                                               double base, double shift, double *out) {
    Blocks weight(weights), copies(counts);
    EuclideanLanes lanes;
    int64_t j = 0;
    for (; j + kLanes <= n; j += kLanes)
        clip_lanes(z + j, weight.at(j), copies.at(j), kLanes, scale, base, shift, out + j, lanes);
    clip_lanes(z + j, weight.at(j), copies.at(j), static_cast<int>(n - j), scale, base, shift, out + j, lanes);
    return scale * fold(lanes.capped) + fold(lanes.free);
}

// ---- Tau inside the bracket --------------------

// Collected rows, chunk by chunk at the front of each chunk's stretch of `t`; the others only as masses.
struct EuclideanBand {
    double *t;
    PerRow weight, copies;
    std::vector<EuclideanMass> parts;
    EuclideanMass outside;
};

inline EuclideanMass weigh(const EuclideanBand &band, double scale, double shift) {
    EuclideanMass all = band.outside;
    for (size_t k = 0; k < band.parts.size(); ++k) {
        if (band.parts[k].inside == 0) continue;
        int64_t begin = static_cast<int64_t>(k) * kChunk;
        EuclideanMass part;
        euclidean_weigh(band.t + begin, band.weight.from(begin), band.copies.from(begin), band.parts[k].inside, scale,
                        shift, &part);
        all.add(part);
    }
    all.capped *= scale;
    all.free -= all.rows * shift;
    return all;
}

// Semi-smooth Newton on the shift, kept in a bracket that is halved wherever Newton leaves it or gains too little.
// `share` is how many rows each row stands for (a sample). Nothing if the sum is not one within [low, high].
inline std::optional<double> solve_shift(const EuclideanBand &band, double scale, double share, double low,
                                         double high) {
    bool low_seen = false, high_seen = false;
    double shift = std::clamp(0.0, low, high), last_excess = kInfinity;
    for (int trial = 0; trial < 400; ++trial) {
        EuclideanMass mass = weigh(band, scale, shift);
        double excess = share * (mass.capped + mass.free) - 1.0;
        if (std::fabs(excess) <= 2e-16) return shift;
        if ((excess > 0 && shift >= high) || (excess < 0 && shift <= low)) return std::nullopt;
        (excess > 0 ? low : high) = shift;
        (excess > 0 ? low_seen : high_seen) = true;
        double next = mass.rows > 0 ? shift + excess / (share * mass.rows) : (excess > 0 ? kInfinity : -kInfinity);
        bool slow = std::fabs(excess) > 0.5 * last_excess && trial > 3;
        last_excess = std::fabs(excess);
        bool bracketed = low_seen && high_seen;
        if (next == shift) return shift;
        if (bracketed && (slow || !(next > low && next < high))) next = low + 0.5 * (high - low);
        next = std::clamp(next, low, high);
        if (bracketed && (next <= low || next >= high)) return shift;
        shift = next;
    }
    return shift;
}

// ---- Guesses --------------------

inline double euclidean_write_all(const Euclidean &p, double base, double shift, double *out) {
    std::vector<double> parts(static_cast<size_t>(chunk_count(p.m)));
    over_chunks(p.m, p.threads, [&](int64_t k, int64_t begin, int64_t n) {
        parts[static_cast<size_t>(k)] = euclidean_write(p.z + begin, p.caps.weight.from(begin), p.copies.from(begin), n,
                                                        p.caps.scale, base, shift, out + begin);
    });
    double sum = 0;
    for (double part : parts) sum += part;
    return sum;
}

// What a bracket led to: tau if the bracket held it, and by how much the sum of the written d exceeds one.
struct EuclideanTrial {
    double tau = std::numeric_limits<double>::quiet_NaN(), excess = kInfinity;
    bool within(double tolerance) const { return std::fabs(excess) <= tolerance; }
};

inline EuclideanTrial euclidean_attempt(const Euclidean &p, double base, double low, double high, double *out) {
    std::vector<EuclideanMass> parts(static_cast<size_t>(chunk_count(p.m)));
    EuclideanBand band{out, {nullptr, 1.0}, {nullptr, p.copies.value}, std::move(parts), {}};
    std::unique_ptr<double[]> weights, copies;  // never cleared: only the pages that receive rows are touched
    if (!p.caps.equal()) weights.reset(new double[static_cast<size_t>(p.m)]);
    if (p.copies.data) copies.reset(new double[static_cast<size_t>(p.m)]);
    band.weight.data = weights.get();
    band.copies.data = copies.get();
    EuclideanRoom room{out, weights.get(), copies.get()};
    over_chunks(p.m, p.threads, [&](int64_t k, int64_t begin, int64_t n) {
        EuclideanRoom here = room.from(begin);
        euclidean_gather(p.z + begin, p.caps.weight.from(begin), p.copies.from(begin), n, p.caps.scale, base, low, high,
                         &here, &band.parts[static_cast<size_t>(k)]);
    });
    for (const auto &part : band.parts) band.outside.add(part);
    require(!std::isnan(band.outside.spoilt), "z must be finite, and its differences too.");
    auto solved = solve_shift(band, p.caps.scale, 1.0, low, high);
    if (!solved) return {};
    // A base next to tau makes the differences exact.
    double tau = base + *solved, shift = (base - tau) + *solved;
    return {tau, euclidean_write_all(p, tau, shift, out) - 1.0};
}

// Tries a guess, and once more from where it led if rounding is left; true when `out` holds the projection.
inline bool euclidean_refine(const Euclidean &p, double guess, double width, double *out, double *tau) {
    *tau = guess;
    for (double tolerance : {kSumTolerance, kLooseTolerance}) {
        EuclideanTrial trial = euclidean_attempt(p, *tau, -width, width, out);
        if (!std::isfinite(trial.tau)) return false;
        *tau = trial.tau;
        if (trial.within(tolerance)) return true;
    }
    return false;
}

// Half the width of a bracket around tau in which about one row in eight changes its status.
inline double euclidean_width(const Euclidean &p, double tau) {
    return eighth_nearest(p.m, [&](int64_t i) {
        require(std::isfinite(p.z[i]), "z must be finite.");
        double t = p.z[i] - tau;
        return std::min(std::fabs(t), std::fabs(t - p.caps[i]));
    });
}

// Tau of a sample whose rows stand for all of them.
inline double sampled_tau(const Euclidean &p) {
    auto rows = sample_rows(p.m, 1024);
    std::vector<double> t(rows.size()), weight(rows.size()), copies(rows.size());
    double low = kInfinity, high = -kInfinity, mass = 0, base = p.z[rows[0]];
    for (size_t k = 0; k < rows.size(); ++k) {
        require(std::isfinite(p.z[rows[k]]), "z must be finite.");
        t[k] = p.z[rows[k]] - base;
        weight[k] = p.caps[rows[k]];
        copies[k] = p.copies[rows[k]];
        mass += weight[k] * copies[k];
        low = std::min(low, t[k] - weight[k]);
        high = std::max(high, t[k]);
    }
    EuclideanBand band{
        t.data(), {weight.data(), 1.0}, {copies.data(), 1.0}, {{0, 0, 0, 0, static_cast<int64_t>(rows.size())}}, {}};
    return base + solve_shift(band, 1.0, p.caps.total / mass, low, high).value_or(0.0);
}

// The whole line: the sum is that of all caps at the lower end and zero at the upper one.
inline std::pair<double, double> euclidean_range(const Euclidean &p) {
    double low = kInfinity, high = -kInfinity;
    for (int64_t i = 0; i < p.m; ++i) {
        low = std::min(low, p.z[i] - p.caps[i]);
        high = std::max(high, p.z[i]);
    }
    return {low, high};
}

inline double euclidean_full(const Euclidean &p, double *out) {
    double tau = kInfinity, spoilt = 0;
    for (int64_t i = 0; i < p.m; ++i) {
        out[i] = p.caps[i];
        tau = std::min(tau, p.z[i] - p.caps[i]);
        spoilt += p.z[i] * 0.0;
    }
    require(!std::isnan(spoilt), "z must be finite.");
    return tau;
}

inline double euclidean_project(const Euclidean &p, double start, double *out) {
    if (p.caps.total <= 1.0 + kFullMass) return euclidean_full(p, out);
    double tau;
    for (bool sampled : {false, true}) {
        double guess = sampled ? sampled_tau(p) : start;
        if (std::isfinite(guess) && euclidean_refine(p, guess, euclidean_width(p, guess), out, &tau)) return tau;
    }
    auto [low, high] = euclidean_range(p);
    if (euclidean_refine(p, high, high - low, out, &tau)) return tau;
    throw std::runtime_error("The Euclidean projection did not reach a sum of one.");
}

}  // namespace dualboost::weights
