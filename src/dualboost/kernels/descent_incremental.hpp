// AdaBoost's rounds, where only what a stump changes is summed again.
//
// After a stump all rows of one class on one side of its cut have their weight multiplied by the same number. So each
// class has an offset: the larger side is moved by changing the offset, and only the rows of the smaller side are
// touched. A subset of categories does the same with the codes inside and outside of it. A row of class c with margin z
// = offset[c] + v has the weight prior * e^-z = q * e^(-level[c] - offset[c]) with the whole number q = rint(prior *
// e^(level[c] - v)). Histograms of q are kept from round to round, by class and code; a changed row adds the difference
// of its whole numbers. They are exact sums at any time: nothing drifts, and neither threads nor order matter. When a
// class grows or shrinks out of the range of its level, all is built anew.
#pragma once

#include "descent_peaks.hpp"
#include "descent_survey.hpp"
#include "large_memory.hpp"
#include "mask_sides.hpp"
#include "stumps_rows.hpp"

namespace dualboost::descent {

// The whole numbers of a class sum to something between these; they are built with the sum in between.
constexpr double kMostUnits = 2305843009213693952.0, kLeastUnits = 18014398509481984.0;  // 2^61, 2^54
constexpr double kFreshLog = 40.89567828304427;  // log(2^59)
constexpr int64_t kStrip = 256;  // rows whose weights are computed together
constexpr int64_t kAhead = 512;  // about as many rows as are looked through for a strip
constexpr double kTieEdge = 1e-12;  // |edges| closer than this count as equal: the lowest index wins
// With fewer rows the lists of all tiles are kept, and columns are the tasks; with more a tile is summed at once.
constexpr int64_t kListedRows = 1 << 17;

class IncrementalDescent : public Remembered {
public:
    // Rows enough that listing them pays.
    static bool suits(const JointSearch &search) {
        size_t blocks = search.stumps->columns().size() + (search.subsets ? search.subsets->columns().size() : 0);
        return blocks > 0 && search.layout().rows() >= 4096;
    }

    IncrementalDescent(const Problem &problem, const double *z)
        : problem_(problem), y_(problem.search.layout().y()), v_(z, z + problem.m),
          row_units_(static_cast<size_t>(problem.m)), log_share_(std::log(problem.share)),
          stumps_(problem.search.stumps->columns(), problem.m), stump_peaks_(stumps_) {
        if (problem.search.subsets && problem.search.subsets->columns().size() > 0) {
            subset_engine_ = problem.search.subsets->engine();
            subsets_.emplace(problem.search.subsets->columns(), problem.m);
            subset_peaks_.emplace(*subsets_);
        }
        make_lists();
        for (int64_t i = 0; i < problem.m; ++i) ++rows_of_[of(i)];
        if (problem.prior) {
            prior_.assign(problem.prior, problem.prior + problem.m);
            for (double share : prior_) log_prior_.push_back(std::log(share));
        }
        build();
    }

    // Whether these are the margins and the prior that it has arrived at; then it goes on with the other settings.
    bool takes_up(const Problem &problem, const double *z) {
        if (engine_of(problem) != subset_engine_) return false;
        bool same = problem.share == problem_.share && (problem.prior != nullptr) == !prior_.empty();
        same = same && (!problem.prior || std::equal(prior_.begin(), prior_.end(), problem.prior));
        for (int64_t i = 0; same && i < problem.m; ++i) same = z[i] == margin(i);
        if (!same) return false;
        problem_ = problem;
        make_lists();
        return true;
    }

    Question ask() {
        double top = -std::numeric_limits<double>::infinity(), *scale = now_.scale;
        for (int c = 0; c < 2; ++c)
            if (rows_of_[c]) top = std::max(top, -level_[c] - offset_[c]);
        for (int c = 0; c < 2; ++c) scale[c] = rows_of_[c] ? std::exp(-level_[c] - offset_[c] - top) : 0.0;
        double negative = scale[0] * static_cast<double>(now_.units[0]);
        double positive = scale[1] * static_cast<double>(now_.units[1]);
        now_.total = positive - negative;
        double mass = positive + negative, value = std::exp(top) * mass;
        Peak best = best_of_all(kTieEdge * mass, mass);
        return {best.chosen, best.edge / mass, value, value, value};
    }

    double step(const Question &asked) const {
        return nearly_perfect(problem_, asked) ? perfect_step(2 * wrong_weight(asked) / asked.mass)
                                               : closed_step(problem_, asked);
    }

    void move(const Chosen &chosen, double step) {
        if (chosen.stump.feature < 0) {  // all rows are on the right: the offsets are everything
            for (int c = 0; c < 2; ++c) offset_[c] += c ? step : -step;
            return;
        }
        double shift[2] = {0.0, 0.0};
        Side side{0, 254, {0, 0}};
        const uint8_t *codes = codes_of(chosen, side);
        choose_sides(codes, side);
        for (int c = 0; c < 2; ++c) {
            double on_right = c ? step : -step, listed = side.right[c] ? on_right : -on_right;
            offset_[c] -= listed;
            shift[c] = 2 * listed;
        }
        bool stays = in_range(chosen, side, shift);
        update(codes, side, shift, stays);
        if (!stays) build();
    }

    void margins(double *z) const {
        for (int64_t i = 0; i < problem_.m; ++i) z[i] = margin(i);
    }

    Survey survey() const {
        std::vector<Survey> parts(static_cast<size_t>(chunk_count(problem_.m)));
        weights::over_chunks(problem_.m, problem_.threads, [&](int64_t k, int64_t begin, int64_t n) {
            const double *prior = prior_.empty() ? nullptr : prior_.data() + begin;
            parts[static_cast<size_t>(k)] = survey_rows({v_.data() + begin, y_ + begin, prior}, n, offset_);
        });
        return joined(parts, prior_.empty() ? problem_.share : 1.0);
    }

private:
    Problem problem_;
    const int8_t *y_;
    LargeVector<double> v_;
    LargeVector<int64_t> row_units_;  // q
    std::vector<double> prior_, log_prior_;  // empty where all rows have the same
    double log_share_;
    double offset_[2] = {0.0, 0.0}, level_[2] = {0.0, 0.0};
    int64_t rows_of_[2] = {0, 0};
    Standing now_;

    KeptSums stumps_;
    StumpPeaks stump_peaks_;
    std::shared_ptr<const SubsetEngine> subset_engine_;  // it may be kept longer than the search that it came with
    std::optional<KeptSums> subsets_;
    std::optional<SubsetPeaks> subset_peaks_;
    std::vector<uint8_t> spread_, sides_;  // row by row: the codes of a sparse column; of a subset, inside or not
    std::vector<Listed> lists_;

    static std::shared_ptr<const SubsetEngine> engine_of(const Problem &problem) {
        const SubsetSearch *subsets = problem.search.subsets;
        return subsets && subsets->columns().size() > 0 ? subsets->engine() : nullptr;
    }

    void make_lists() { lists_.resize(static_cast<size_t>(keeps_lists() ? tiles() : workers())); }
    int64_t tiles() const { return (problem_.m + kTileRows - 1) / kTileRows; }
    bool keeps_lists() const { return problem_.m <= kListedRows; }
    int workers() const { return problem_.m >= 4 * kTileRows || stumps_.blocks().size() >= 64 ? problem_.threads : 1; }

    // ---- All anew --------------------

    // Levels from the margins as they are, then every row's whole number into the histograms.
    void build() {
        margins(v_.data());
        offset_[0] = offset_[1] = 0.0;
        double top[2] = {-std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
        double sum[2] = {0.0, 0.0};
        for (int64_t i = 0; i < problem_.m; ++i) top[of(i)] = std::max(top[of(i)], exponent(i));
        for (int64_t i = 0; i < problem_.m; ++i) sum[of(i)] += fast_exp(exponent(i) - top[of(i)]);
        for (int c = 0; c < 2; ++c) {
            level_[c] = rows_of_[c] ? kFreshLog - top[c] - std::log(sum[c]) : 0.0;
            now_.units[c] = 0;
        }
        stumps_.clear();
        if (subsets_) subsets_->clear();
        over_tiles([&](Listed &listed) {
            list_all(listed);
            weigh(listed, nullptr);
        });
    }

    int of(int64_t i) const { return y_[i] > 0 ? 1 : 0; }
    double margin(int64_t i) const { return v_[static_cast<size_t>(i)] + offset_[of(i)]; }
    double log_prior(int64_t i) const { return prior_.empty() ? log_share_ : log_prior_[static_cast<size_t>(i)]; }
    double exponent(int64_t i) const { return log_prior(i) - v_[static_cast<size_t>(i)]; }

    // The weight of the rows that the answer gets wrong, summed by itself: of whole numbers the smallest are 0.
    double wrong_weight(const Question &asked) const {
        std::vector<int8_t> column(static_cast<size_t>(problem_.m));
        problem_.search.column(asked.chosen, 0, problem_.m, column.data());
        double sum = 0;
        for (int64_t i = 0; i < problem_.m; ++i)
            if (asked.edge * static_cast<double>(column[static_cast<size_t>(i)]) < 0)
                sum += std::exp(log_prior(i) - margin(i));
        return sum;
    }

    // ---- A hypothesis --------------------

    // Bytes whose values from side.cut + 1 to side.last are on the right.
    const uint8_t *codes_of(const Chosen &chosen, Side &side) {
        auto feature = static_cast<size_t>(chosen.stump.feature);
        const StumpLayout &layout = chosen.subset() ? problem_.search.subsets->layout() : problem_.search.layout();
        bool dense = layout.home(feature) == Home::dense;
        if (!chosen.subset()) {
            side.cut = static_cast<uint8_t>(chosen.stump.cut);
            side.last = chosen.stump.missing_right ? 255 : 254;
            if (dense) return layout.dense(feature);
        }
        spread_.resize(dense ? 0 : static_cast<size_t>(problem_.m));
        if (!dense) SparseUnits::codes(layout.sparse(feature), spread_);
        if (!chosen.subset()) return spread_.data();
        side = {0, 255, {0, 0}};
        return sides_of(dense ? layout.dense(feature) : spread_.data(), chosen.mask);
    }

    // 255 inside of the subset, 0 outside.
    const uint8_t *sides_of(const uint8_t *codes, const CodeMask &mask) {
        sides_.resize(static_cast<size_t>(problem_.m));
        parallel(tiles(), workers(), [&](int64_t t) {
            int64_t begin = t * kTileRows;
            read_sides(codes + begin, mask, std::min(kTileRows, problem_.m - begin), sides_.data() + begin);
        });
        return sides_.data();
    }

    // The side with fewer rows is listed, for each class.
    void choose_sides(const uint8_t *codes, Side &side) const {
        std::vector<std::array<int64_t, 2>> parts(static_cast<size_t>(tiles()), {0, 0});
        parallel(tiles(), workers(), [&](int64_t t) {
            int64_t begin = t * kTileRows, n = std::min(kTileRows, problem_.m - begin);
            count_right(codes + begin, y_ + begin, n, side.cut, side.last, parts[static_cast<size_t>(t)].data());
        });
        for (size_t c = 0; c < 2; ++c) {
            int64_t right = 0;
            for (const auto &part : parts) right += part[c];
            side.right[c] = 2 * right <= rows_of_[c] ? 1 : 0;
        }
    }

    // Whether the whole numbers of both classes keep a sum of the right size when the listed rows' margins shift.
    bool in_range(const Chosen &chosen, const Side &side, const double *shift) const {
        const KeptSums &kept = chosen.subset() ? *subsets_ : stumps_;
        bool fine = true;
        for (int c = 0; c < 2; ++c) {
            double listed = kept.units_where(chosen.stump.feature, c, now_.units[c], [&](int code) {
                bool right = chosen.subset() ? holds(chosen.mask, code) : goes_right(chosen.stump, code);
                return right == (side.right[c] != 0);
            });
            double now = static_cast<double>(now_.units[c]), next = now + listed * std::expm1(-shift[c]);
            fine &= rows_of_[c] == 0 || (next < kMostUnits && next > kLeastUnits);
        }
        return fine;
    }

    // The listed rows' margins shift; with `sums` their change goes into the histograms.
    void update(const uint8_t *codes, const Side &side, const double *shift, bool sums) {
        auto list = [&](Listed &listed) { list_side(listed, codes, side); };
        if (sums) {
            over_tiles([&](Listed &listed) {
                list(listed);
                weigh(listed, shift);
            });
            return;
        }
        for (int64_t t = 0; t < tiles(); ++t) {
            Listed &listed = lists_[0];
            listed.begin = t * kTileRows;
            list(listed);
            for (int c = 0; c < 2; ++c) {
                Changes rows = listed.of_class(c);
                for (int64_t k = 0; k < rows.count; ++k)
                    v_[static_cast<size_t>(listed.begin + rows.rows[k])] += shift[c];
            }
        }
    }

    void list_side(Listed &listed, const uint8_t *codes, const Side &side) const {
        int64_t begin = listed.begin, n = std::min(kTileRows, problem_.m - begin);
        uint8_t marks[kTileRows];
        for (int c = 0; c < 2; ++c) {
            mark_rows(codes + begin, y_ + begin, n, side, c ? 1 : -1, marks);
            for (int64_t i = n; i % 8 != 0; ++i) marks[i] = 0;
            listed.count[c] = list_marked(marks, n, listed.rows.data() + listed.first(c));
        }
    }

    void list_all(Listed &listed) const {
        int64_t n = std::min(kTileRows, problem_.m - listed.begin), k = 0;
        for (int c = 0; c < 2; ++c) {
            for (int64_t i = 0; i < n; ++i)
                if (of(listed.begin + i) == c) listed.rows[static_cast<size_t>(k++)] = static_cast<uint16_t>(i);
            listed.count[c] = k - listed.first(c);
        }
    }

    // The change of each listed row's whole number when its margin shifts; without a shift the number itself.
    void weigh(Listed &listed, const double *shift) {
        for (int c = 0; c < 2; ++c) {
            int64_t first = listed.first(c), *change = listed.change.data() + first;
            const uint16_t *rows = listed.rows.data() + first;
            listed.units[c] = 0;
            for (int64_t k = 0; k < listed.count[c]; k += kStrip) {
                int64_t n = std::min(kStrip, listed.count[c] - k);
                listed.units[c] += weigh_strip(listed.begin, rows + k, n, c, shift, change + k);
            }
        }
    }

    int64_t weigh_strip(int64_t begin, const uint16_t *rows, int64_t n, int c, const double *shift, int64_t *change) {
        std::array<double, kStrip> exponents{};
        int64_t now[kStrip], sum = 0, *units = row_units_.data() + begin;
        double *v = v_.data() + begin, from = level_[c] + (prior_.empty() ? log_share_ : 0.0),
               moved = shift ? shift[c] : 0.0;
        for (int64_t k = 0; k < n; ++k) {
            size_t row = rows[k];
            prefetch(units + row);  // needed below
            v[row] += moved;
            exponents[static_cast<size_t>(k)] = from - v[row];
        }
        if (!prior_.empty())
            for (int64_t k = 0; k < n; ++k)
                exponents[static_cast<size_t>(k)] += log_prior_[static_cast<size_t>(begin + rows[k])];
        whole_exponentials(exponents.data(), n, now);
        for (int64_t k = 0; k < n; ++k) {
            size_t row = rows[k];
            change[k] = now[k] - (shift ? units[row] : 0);
            units[row] = now[k];
            sum += change[k];
            prefetch(v + row + kAhead);
        }
        return sum;
    }

    // ---- Into the histograms --------------------

    // Fills every tile's list by `fill` and adds it up. Sums of whole numbers: the order does not matter.
    template <class Fill> void over_tiles(const Fill &fill) {
        int64_t units[2] = {0, 0};
        if (keeps_lists()) {
            for (int64_t t = 0; t < tiles(); ++t) fill_tile(fill, lists_[static_cast<size_t>(t)], t, units);
            size_t first = stumps_.groups(), groups = first + (subsets_ ? subsets_->groups() : 0);
            parallel(static_cast<int64_t>(groups), workers(), [&](int64_t task) {
                auto g = static_cast<size_t>(task);
                for (const Listed &listed : lists_)
                    g < first ? stumps_.add(g, listed) : subsets_->add(g - first, listed);
            });
        } else {
            sum_tiles(fill, units);
        }
        for (int c = 0; c < 2; ++c) now_.units[c] += units[c];
    }

    template <class Fill> static void fill_tile(const Fill &fill, Listed &listed, int64_t t, int64_t *units) {
        listed.begin = t * kTileRows;
        fill(listed);
        for (int c = 0; c < 2; ++c) units[c] += listed.units[c];
    }

    // A task is a tile; each thread but the first has histograms of its own, which are joined at the end.
    template <class Fill> void sum_tiles(const Fill &fill, int64_t *units) {
        auto count = static_cast<size_t>(workers());
        stumps_.open(count);
        if (subsets_) subsets_->open(count);
        std::vector<std::array<int64_t, 2>> sums(count, {0, 0});
        std::atomic<int64_t> next{0};
        parallel(static_cast<int64_t>(count), static_cast<int>(count), [&](int64_t w) {
            auto worker = static_cast<size_t>(w);
            for (int64_t t; (t = next.fetch_add(1, std::memory_order_relaxed)) < tiles();) {
                fill_tile(fill, lists_[worker], t, sums[worker].data());
                stumps_.add_all(worker, lists_[worker]);
                if (subsets_) subsets_->add_all(worker, lists_[worker]);
            }
        });
        stumps_.close();
        if (subsets_) subsets_->close();
        for (const auto &part : sums)
            for (size_t c = 0; c < 2; ++c) units[c] += part[c];
    }

    // ---- The best --------------------

    Peak best_of_all(double tie, double mass) {
        Peak stump = stump_peaks_.best(now_, tie, problem_.threads);
        if (!subset_peaks_) return stump;
        Peak subset = subset_peaks_->best(now_, tie, problem_.threads);
        return stump_wins(stump.edge / mass, subset.edge / mass) ? stump : subset;
    }
};

}  // namespace dualboost::descent
