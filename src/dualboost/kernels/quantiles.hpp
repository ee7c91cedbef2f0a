// Where to cut a column: between all of its distinct values, or at quantiles over them. Columns of a few hundred rows
// take microseconds, so the loops over values and bins have no branch that depends on the data.
#pragma once

#include "cuts.hpp"

namespace dualboost {

// A threshold t with a <= t < b, also where the midpoint over- or underflows or rounds to b.
DUALBOOST_INLINE double between(double a, double b) {
    double width = b - a;
    double t = width <= std::numeric_limits<double>::max() ? a + width / 2 : a / 2 + b / 2;
    return t >= a && t < b ? t : a;
}

struct Heavy {
    int64_t count, mass;
};

// Of the values whose mass is at least `least`.
DUALBOOST_CLONES inline Heavy count_heavy(const int64_t *masses, size_t n, int64_t least) {
    int64_t count = 0, mass = 0;
    for (size_t i = 0; i < n; ++i) {
        int64_t all = masses[i] >= least ? -1 : 0;
        count -= all;
        mass += masses[i] & all;
    }
    return {count, mass};
}

// One object cuts column after column.
class Quantiles {
public:
    std::vector<double> cuts(const Distinct &distinct, int max_bins) {
        start(distinct, max_bins);
        if (n_ <= static_cast<size_t>(max_bins))
            for (size_t i = 1; i < n_; ++i) cut_before(i);
        else cut_crowded();
        std::vector<double> cuts(cut_count_);
        for (size_t k = 0; k < cut_count_; ++k) cuts[k] = between(values_[before_[k] - 1], values_[before_[k]]);
        return cuts;
    }

    // The first value above each cut.
    const uint32_t *before() const { return before_.data(); }

private:
    // A run of light values between heavy ones; it needs at least one bin of its own.
    struct Segment {
        size_t begin, end;
        int64_t mass;
        int bins;
        double crowd;

        // What a bin holds; nothing where every value has its own.
        void measure() { crowd = static_cast<int64_t>(end - begin) > bins ? static_cast<double>(mass) / bins : 0.0; }
        void widen() { ++bins, measure(); }
    };

    void start(const Distinct &distinct, int bins) {
        values_ = distinct.value.data(), masses_ = distinct.mass.data();
        bins_ = bins, n_ = distinct.size();
        cut_count_ = 0;
        before_.resize(static_cast<size_t>(bins));
    }

    void cut_before(size_t i) { before_[cut_count_++] = static_cast<uint32_t>(i); }

    // There are more values than bins.
    void cut_crowded() {
        add_up();
        find_heavy();
        find_segments();
        if (!each_segment_has_a_bin()) {
            keep_heaviest((bins_ - 1) / 2);  // now each has: there is at most one segment more than heavy values
            find_segments();
        }
        share_bins();
        cut_all();
    }

    void add_up() {
        below_.resize(n_ + 1), middle_.resize(n_ + kProbes);
        below_[0] = 0;
        for (size_t i = 0; i < n_; ++i) {
            below_[i + 1] = below_[i] + masses_[i];
            middle_[i] = below_[i] + below_[i + 1];
        }
        std::fill(middle_.end() - kProbes, middle_.end(), 2 * below_[n_]);
    }

    // Values heavier than a bin's share of what the still heavier ones leave; removing them lowers the share, so
    // repeat.
    void find_heavy() {
        int64_t least = std::numeric_limits<int64_t>::max(), rest = below_[n_], count = 0, most = bins_ - 1;
        while (count < most) {
            double share = static_cast<double>(rest) / static_cast<double>(bins_ - count) * kTolerant;
            auto enough = static_cast<int64_t>(std::ceil(share));
            Heavy heavy = count_heavy(masses_, n_, enough);
            if (enough >= least || heavy.count == count) break;
            if (heavy.count > most) return list_some(least, enough, most - count);
            count = heavy.count;
            rest = below_[n_] - heavy.mass;
            least = enough;
        }
        list_heavy(least);
    }

    void list_heavy(int64_t least) {
        heavy_.resize(n_ + 1);
        size_t count = 0;
        for (size_t i = 0; i < n_; ++i) {
            heavy_[count] = static_cast<uint32_t>(i);
            count += masses_[i] >= least;
        }
        heavy_.resize(count);
    }

    // Those of mass `least` or more, and of mass `enough` the first, up to `more` of them.
    void list_some(int64_t least, int64_t enough, int64_t more) {
        heavy_.clear();
        for (size_t i = 0; i < n_; ++i) {
            bool fresh = masses_[i] < least && masses_[i] >= enough && more > 0;
            if (fresh || masses_[i] >= least) heavy_.push_back(static_cast<uint32_t>(i));
            more -= fresh;
        }
    }

    void find_segments() {
        segments_.clear();
        size_t begin = 0;
        for (uint32_t heavy : heavy_) {
            add_segment(begin, heavy);
            begin = heavy + size_t{1};
        }
        add_segment(begin, n_);
    }

    void add_segment(size_t begin, size_t end) {
        if (begin < end) segments_.push_back({begin, end, below_[end] - below_[begin], 1, 0.0});
    }

    bool each_segment_has_a_bin() const { return segments_.size() + heavy_.size() <= static_cast<size_t>(bins_); }

    void keep_heaviest(int keep) {
        std::vector<int64_t> masses;
        for (uint32_t heavy : heavy_) masses.push_back(masses_[heavy]);
        std::sort(masses.rbegin(), masses.rend());
        // Strictly above the first one that must go: equal values are treated alike.
        double limit = static_cast<double>(masses[static_cast<size_t>(keep)]) / kTolerant;
        auto light = [&](uint32_t heavy) { return static_cast<double>(masses_[heavy]) <= limit; };
        heavy_.erase(std::remove_if(heavy_.begin(), heavy_.end(), light), heavy_.end());
    }

    // Every further bin goes where a bin holds most.
    void share_bins() {
        int spare = bins_ - static_cast<int>(heavy_.size() + segments_.size());
        spare -= share_surely(spare);
        for (Segment &segment : segments_) segment.measure();
        while (spare > 0) {
            double most = 0.0;
            for (const Segment &segment : segments_) most = std::max(most, segment.crowd);
            if (most == 0.0) return;
            spare -= nearly_as_full(most) ? share_one() : share_among(most, spare);
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
            auto given = static_cast<int>(
                std::max<int64_t>(1, std::min(wanted, static_cast<int64_t>(segment.end - segment.begin))));
            shared += given - segment.bins;
            segment.bins = given;
        }
        return shared;
    }

    // Whether the slack decides which segment counts as the fullest.
    bool nearly_as_full(double most) const {
        return std::any_of(segments_.begin(), segments_.end(),
                           [most](const Segment &s) { return s.crowd < most && s.crowd > most * (1 - 10 * kSlack); });
    }

    int share_one() {
        Segment *fullest = nullptr;
        double limit = 0.0;
        for (Segment &segment : segments_) {
            if (segment.crowd <= limit) continue;
            fullest = &segment;
            limit = segment.crowd * (1 + kSlack);
        }
        fullest->widen();
        return 1;
    }

    // One bin for each of the equally full ones: it makes them clearly less full, so each comes before any has a
    // second.
    int share_among(double most, int spare) {
        int shared = 0;
        for (Segment &segment : segments_)
            if (segment.crowd == most && shared < spare) segment.widen(), ++shared;
        return shared;
    }

    // Heavy values stand alone, between the segments.
    void cut_all() {
        size_t next = 0;
        for (const Segment &segment : segments_) {
            for (; next < segment.begin; ++next) cut_alone(next);
            cut_segment(segment);
            next = segment.end;
        }
        for (; next < n_; ++next) cut_alone(next);
    }

    void cut_alone(size_t i) {
        if (i > 0) cut_before(i);
    }

    // Closes a bin before value i when that comes nearer to the bin's share than taking i in; each bin that is left
    // needs a value. The share hardly changes from bin to bin: the place is found with an old one, then tested with the
    // exact one.
    void cut_segment(const Segment &segment) {
        cut_alone(segment.begin);
        int64_t share = 0;
        for (size_t begin = segment.begin, bins = static_cast<size_t>(segment.bins); bins > 1; --bins) {
            size_t last = segment.end - bins + 1;
            auto exact = static_cast<int64_t>(2 * tolerant_share(below_[segment.end] - below_[begin], bins));
            size_t next = end_of_bin(begin, last, share);
            int64_t limit = exact + 2 * below_[begin];
            bool early = (next < last) & (middle_[next] <= limit),
                 late = (next > begin + 1) & (middle_[next - 1] > limit);
            if (early | late) next = end_of_bin(begin, last, share = exact);
            cut_before(begin = next);
        }
    }

    // The first value, after the first of the bin, whose middle lies above twice the share; at most `last`.
    size_t end_of_bin(size_t begin, size_t last, int64_t share) const {
        int64_t limit = share + 2 * below_[begin];
        size_t next = begin + 1;
        for (; next < last; next += kProbes) {
            size_t inside = 0;
            for (size_t k = 0; k < kProbes; ++k) inside += middle_[next + k] <= limit;
            if (inside < kProbes) return std::min(next + inside, last);
        }
        return last;
    }

    static double tolerant_share(int64_t mass, size_t bins) {
        return static_cast<double>(mass) / static_cast<double>(bins) * (1 + kSlack);
    }

    // Decisions that are ties in exact arithmetic must not depend on how scaled weights were rounded.
    static constexpr double kSlack = 1e-10, kTolerant = 1 - kSlack;
    static constexpr size_t kProbes = 4;  // values looked at together

    const double *values_ = nullptr;
    const int64_t *masses_ = nullptr;
    int bins_ = 0;
    size_t n_ = 0, cut_count_ = 0;
    std::vector<int64_t> below_, middle_;  // the mass of all values below one, and twice that up to its middle
    std::vector<uint32_t> heavy_, before_;
    std::vector<Segment> segments_;
};

}  // namespace dualboost
