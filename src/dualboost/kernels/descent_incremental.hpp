// AdaBoost's rounds, where only what a stump changes is summed again.
//
// After a stump all rows of one class on one side of its cut have their weight multiplied by the same number. So each
// class has an offset: the larger side is moved by changing the offset, and only the rows of the smaller side are
// touched. A row of class c with margin z = offset[c] + v has the weight prior * e^-z = q * e^(-level[c] - offset[c])
// with the whole number q = rint(prior * e^(level[c] - v)). Histograms of q are kept from round to round, by class and
// code; a changed row adds the difference of its whole numbers. They are exact sums at any time: nothing drifts, and
// neither threads nor order matter. When a class grows or shrinks out of the range of its level, all is built anew.
#pragma once

#include "descent_histograms.hpp"
#include "descent_survey.hpp"
#include "large_memory.hpp"
#include "stumps_rows.hpp"

namespace dualboost::descent {

// The whole numbers of a class sum to something between these; they are built with the sum in between.
constexpr double kMostUnits = 2305843009213693952.0, kLeastUnits = 18014398509481984.0;  // 2^61, 2^54
constexpr double kFreshLog = 40.89567828304427;                                         // log(2^59)
constexpr int64_t kStrip = 256;     // rows whose weights are computed together
constexpr int64_t kAhead = 512;     // about as many rows as are looked through for a strip
constexpr double kTieEdge = 1e-12;  // |edges| closer than this count as equal: the lowest index wins
// With fewer rows the lists of all tiles are kept, and columns are the tasks; with more a tile is summed at once.
constexpr int64_t kListedRows = 1 << 17;

class IncrementalDescent : public Remembered {
public:
    // Rows enough that listing them pays.
    static bool suits(const StumpBlocks &blocks, int64_t m) { return blocks.size() > 0 && m >= 4096; }

    IncrementalDescent(const Problem &problem, const StumpBlocks &blocks, const double *z)
        : problem_(problem), blocks_(blocks), y_(problem.search->layout().y()), v_(z, z + problem.m),
          row_units_(static_cast<size_t>(problem.m)), log_share_(std::log(problem.share)), histograms_(blocks, problem.m) {
        cells_.resize(histograms_.size());
        peak_.resize(blocks_.member_count());
        make_lists();
        for (int32_t b = 0; b < static_cast<int32_t>(blocks_.size()); ++b)
            if (!histograms_.is_single(b)) scanned_.push_back(b);
        for (int64_t i = 0; i < problem.m; ++i) ++rows_of_[of(i)];
        if (problem.prior) {
            prior_.assign(problem.prior, problem.prior + problem.m);
            for (double share : prior_) log_prior_.push_back(std::log(share));
        }
        build();
    }

    // Whether these are the margins and the prior that it has arrived at; then it goes on with the other settings.
    bool takes_up(const Problem &problem, const double *z) {
        bool same = problem.share == problem_.share && (problem.prior != nullptr) == !prior_.empty();
        same = same && (!problem.prior || std::equal(prior_.begin(), prior_.end(), problem.prior));
        for (int64_t i = 0; same && i < problem.m; ++i) same = z[i] == margin(i);
        if (!same) return false;
        problem_ = problem;
        make_lists();
        return true;
    }

    Question ask() {
        double top = -std::numeric_limits<double>::infinity();
        for (int c = 0; c < 2; ++c)
            if (rows_of_[c]) top = std::max(top, -level_[c] - offset_[c]);
        for (int c = 0; c < 2; ++c) scale_[c] = rows_of_[c] ? std::exp(-level_[c] - offset_[c] - top) : 0.0;
        double negative = scale_[0] * static_cast<double>(units_[0]), positive = scale_[1] * static_cast<double>(units_[1]);
        total_ = positive - negative;
        double mass = positive + negative, value = std::exp(top) * mass;
        scan_all();
        Best best = choose(kTieEdge * mass);
        return {best.stump, best.edge / mass, value, value, value};
    }

    double step(const Question &asked) const { return closed_step(problem_, asked); }

    void move(const Stump &stump, double step) {
        double shift[2] = {0.0, 0.0};
        const uint8_t *codes = nullptr;
        Side side{0, 254, {0, 0}};
        if (stump.feature < 0) {  // all rows are on the right: the offsets are everything
            for (int c = 0; c < 2; ++c) offset_[c] += c ? step : -step;
            return;
        }
        codes = codes_of(static_cast<size_t>(stump.feature));
        side.cut = static_cast<uint8_t>(stump.cut);
        side.last = stump.missing_right ? 255 : 254;
        choose_sides(codes, side);
        for (int c = 0; c < 2; ++c) {
            double on_right = c ? step : -step, listed = side.right[c] ? on_right : -on_right;
            offset_[c] -= listed;
            shift[c] = 2 * listed;
        }
        bool stays = in_range(stump, side, shift);
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
    struct Best {
        Stump stump;
        double edge;
    };

    Problem problem_;
    const StumpBlocks &blocks_;
    const int8_t *y_;
    LargeVector<double> v_;
    LargeVector<int64_t> row_units_;         // q
    std::vector<double> prior_, log_prior_;  // empty where all rows have the same
    double log_share_;
    double offset_[2] = {0.0, 0.0}, level_[2] = {0.0, 0.0}, scale_[2] = {0.0, 0.0};
    int64_t rows_of_[2] = {0, 0}, units_[2] = {0, 0};
    double total_ = 0;

    Histograms histograms_;
    std::vector<int64_t> cells_;
    std::vector<uint8_t> spread_;  // the codes of a sparse column, row by row
    std::vector<Listed> lists_;
    std::vector<std::vector<int64_t>> private_;  // histograms of the other threads
    std::vector<double> peak_;                   // of a member
    std::vector<int32_t> scanned_;               // the blocks that are scanned one by one

    void make_lists() { lists_.resize(static_cast<size_t>(keeps_lists() ? tiles() : workers())); }
    int64_t tiles() const { return (problem_.m + kTileRows - 1) / kTileRows; }
    bool keeps_lists() const { return problem_.m <= kListedRows; }
    int workers() const { return problem_.m >= 4 * kTileRows || blocks_.size() >= 64 ? problem_.threads : 1; }

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
            units_[c] = 0;
        }
        std::fill(cells_.begin(), cells_.end(), int64_t{0});
        over_tiles([&](Listed &listed) {
            list_all(listed);
            weigh(listed, nullptr);
        });
    }

    int of(int64_t i) const { return y_[i] > 0 ? 1 : 0; }
    double margin(int64_t i) const { return v_[static_cast<size_t>(i)] + offset_[of(i)]; }
    double log_prior(int64_t i) const { return prior_.empty() ? log_share_ : log_prior_[static_cast<size_t>(i)]; }
    double exponent(int64_t i) const { return log_prior(i) - v_[static_cast<size_t>(i)]; }

    // ---- A stump --------------------

    const uint8_t *codes_of(size_t feature) {
        const StumpLayout &layout = problem_.search->layout();
        if (layout.home(feature) == Home::dense) return layout.dense(feature);
        spread_.resize(static_cast<size_t>(problem_.m));
        SparseUnits::codes(layout.sparse(feature), spread_);
        return spread_.data();
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
    bool in_range(const Stump &stump, const Side &side, const double *shift) const {
        int32_t b = blocks_.block_of(static_cast<size_t>(stump.feature));
        const uint8_t *code_of = member_of(b, stump.feature).code_of;
        bool fine = true;
        for (int c = 0; c < 2; ++c) {
            double listed = 0;
            int64_t units[kCodes] = {};
            histograms_.units(b, c, cells_.data(), units_[c], units);
            for (int cell = 0; cell < kCodes; ++cell)
                if (goes_right(stump, code_of ? code_of[cell] : cell) == (side.right[c] != 0))
                    listed += static_cast<double>(units[cell]);
            double now = static_cast<double>(units_[c]), next = now + listed * std::expm1(-shift[c]);
            fine &= rows_of_[c] == 0 || (next < kMostUnits && next > kLeastUnits);
        }
        return fine;
    }

    const Member &member_of(int32_t b, int32_t feature) const {
        const Member *members = blocks_.members(blocks_[b]);
        while (members->feature != feature) ++members;
        return *members;
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
                for (int64_t k = 0; k < rows.count; ++k) v_[static_cast<size_t>(listed.begin + rows.rows[k])] += shift[c];
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
        double *v = v_.data() + begin, from = level_[c] + (prior_.empty() ? log_share_ : 0.0), moved = shift ? shift[c] : 0.0;
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
            parallel(static_cast<int64_t>(histograms_.groups()), workers(), [&](int64_t g) {
                for (const Listed &listed : lists_) histograms_.add(static_cast<size_t>(g), listed, cells_.data());
            });
        } else {
            sum_tiles(fill, units);
        }
        for (int c = 0; c < 2; ++c) units_[c] += units[c];
    }

    template <class Fill> static void fill_tile(const Fill &fill, Listed &listed, int64_t t, int64_t *units) {
        listed.begin = t * kTileRows;
        fill(listed);
        for (int c = 0; c < 2; ++c) units[c] += listed.units[c];
    }

    // A task is a tile; each thread but the first has histograms of its own, which are joined at the end.
    template <class Fill> void sum_tiles(const Fill &fill, int64_t *units) {
        auto count = static_cast<size_t>(workers());
        private_.resize(count - 1);
        for (auto &own : private_) own.assign(cells_.size(), 0);
        std::vector<std::array<int64_t, 2>> sums(count, {0, 0});
        std::atomic<int64_t> next{0};
        parallel(static_cast<int64_t>(count), static_cast<int>(count), [&](int64_t w) {
            auto worker = static_cast<size_t>(w);
            int64_t *cells = worker == 0 ? cells_.data() : private_[worker - 1].data();
            for (int64_t t; (t = next.fetch_add(1, std::memory_order_relaxed)) < tiles();) {
                fill_tile(fill, lists_[worker], t, sums[worker].data());
                for (size_t g = 0; g < histograms_.groups(); ++g) histograms_.add(g, lists_[worker], cells);
            }
        });
        for (const auto &own : private_)
            for (size_t k = 0; k < own.size(); ++k) cells_[k] += own[k];
        for (const auto &part : sums)
            for (size_t c = 0; c < 2; ++c) units[c] += part[c];
    }

    // ---- The best stump --------------------

    // All but the sparse columns of one listed code, which need no sums and are judged together.
    void scan_all() {
        auto count = static_cast<int64_t>(scanned_.size());
        constexpr int64_t run = 16;
        parallel((count + run - 1) / run, count >= 512 ? problem_.threads : 1, [&](int64_t r) {
            for (int64_t k = r * run; k < std::min((r + 1) * run, count); ++k) scan(scanned_[static_cast<size_t>(k)]);
        });
    }

    void scan(int32_t b) {
        const Member *members = blocks_.members(blocks_[b]);
        if (blocks_[b].sparse && !members->missing) {
            double peak = histograms_.sparse_peak(b, cells_.data(), units_, scale_, total_);
            peak_[static_cast<size_t>(blocks_[b].first)] = peak;
            return;
        }
        double sums[kCodes], own[kCodes];
        histograms_.join(b, cells_.data(), units_, scale_, sums);
        for (int32_t j = 0; j < blocks_[b].count; ++j) {
            const double *mine = members[j].code_of ? split(members[j], sums, blocks_[b].bins, own) : sums;
            peak_[static_cast<size_t>(blocks_[b].first + j)] = peak_edge(members[j], mine);
        }
    }

    static const double *split(const Member &member, const double *sums, int tuples, double *own) {
        std::fill(own, own + member.cuts + 1, 0.0);
        own[kMissing] = 0.0;
        for (int t = 0; t < tuples; ++t) own[member.code_of[t]] += sums[t];
        return own;
    }

    // With L the weight left of a cut and missing rows (weight M) on the left as well the edge is total - 2 M - 2 L; with
    // them on the right total - 2 L, where L may also be everything present.
    double peak_edge(const Member &member, const double *sums) const {
        double left = 0, low = std::numeric_limits<double>::infinity(), high = -low;
        for (int cut = 0; cut < member.cuts; ++cut) {
            left += sums[cut];
            low = left < low ? left : low;
            high = left > high ? left : high;
        }
        double peak = 0;
        if (member.cuts > 0) peak = std::max(std::fabs(total_ - 2 * low), std::fabs(total_ - 2 * high));
        if (!member.missing) return peak;
        double shifted = total_ - 2 * sums[kMissing];
        if (member.cuts > 0)
            peak = std::max(peak, std::max(std::fabs(shifted - 2 * low), std::fabs(shifted - 2 * high)));
        return std::max(peak, std::fabs(total_ - 2 * (left + sums[member.cuts])));
    }

    // The lowest index among all that tie with the best; the constant comes first.
    Best choose(double tie) const {
        double reach = std::max(std::fabs(total_), histograms_.single_peak(cells_.data(), scale_, total_));
        for (int32_t b : scanned_)
            for (int32_t j = 0; j < blocks_[b].count; ++j)
                reach = std::max(reach, peak_[static_cast<size_t>(blocks_[b].first + j)]);
        reach -= tie;
        if (std::fabs(total_) >= reach) return {{-1, 0, 0}, total_};
        int32_t feature = histograms_.first_single(cells_.data(), scale_, total_, reach);
        for (int32_t b : scanned_)
            for (int32_t j = 0; j < blocks_[b].count; ++j)
                if (peak_[static_cast<size_t>(blocks_[b].first + j)] >= reach)
                    feature = std::min(feature, blocks_.members(blocks_[b])[j].feature);
        return first_reaching(feature, reach - tie / 16);  // other sums, other rounding
    }

    Best first_reaching(int32_t feature, double reach) const {
        int32_t b = blocks_.block_of(static_cast<size_t>(feature));
        const Member &member = member_of(b, feature);
        double sums[kCodes], own[kCodes], left = 0;
        histograms_.join(b, cells_.data(), units_, scale_, sums);
        const double *mine = member.code_of ? split(member, sums, blocks_[b].bins, own) : sums;
        double outside = member.missing ? mine[kMissing] : 0.0;
        for (int32_t cut = 0;; ++cut) {
            left += mine[cut];
            double right = total_ - 2 * left, missing_left = right - 2 * outside;
            if (cut < member.cuts && std::fabs(missing_left) >= reach) return {{feature, cut, 0}, missing_left};
            if (cut >= member.cuts || (member.missing && std::fabs(right) >= reach)) return {{feature, cut, 1}, right};
        }
    }
};

}  // namespace dualboost::descent
