// The search for the best stumps: which blocks to sum, in which order, and which to skip without changing the answer.
#pragma once

#include "stumps_bounds.hpp"
#include "stumps_filter.hpp"
#include "stumps_joint.hpp"
#include "stumps_ledger.hpp"
#include "stumps_limits.hpp"
#include "stumps_ranking.hpp"

namespace dualboost {

struct Found {
    Stump stump;
    int64_t edge;
};

class StumpEngine {
public:
    explicit StumpEngine(const StumpArrays &arrays)
        : layout(arrays), blocks_(layout), bounds_(blocks_), joint_(layout, blocks_), ledger_(blocks_, layout) {
        q_.assign(static_cast<size_t>(layout.rows()), 0);
        row_sums_.resize(static_cast<size_t>(chunk_count(layout.rows())));
        peak_.assign(blocks_.member_count(), 0);
        spot_.assign(layout.features(), Spot{0, 0, 0});
        stamp_.assign(blocks_.size(), 0);
        judged_.assign(blocks_.size(), 0);
    }

    const StumpLayout layout;

    void forget() {
        bounds_.forget();
        leaders_.clear();
        ledger_.forget();
        joint_.forget();
    }

    int64_t looked() const { return looked_; }
    int64_t summed() const { return summed_; }
    size_t blocks() const { return blocks_.size(); }
    const StumpBlocks &columns() const { return blocks_; }
    int64_t largest() const { return ranking_.largest(); }
    const std::vector<Found> &found() const { return found_; }

    // Row weights: all of them, or chunk by chunk and then `loaded`.
    void load(const double *d, int threads) {
        int64_t chunks = chunk_count(layout.rows());
        if (threads > 1 && layout.rows() >= kWorthThreads)
            parallel(chunks, threads, [&](int64_t c) { load_chunk(d, c); });
        else
            for (int64_t c = 0; c < chunks; ++c) load_chunk(d, c);
        loaded();
    }

    void load_chunk(const double *d, int64_t c) {
        int64_t begin = c * kChunk, length = std::min(kChunk, layout.rows() - begin);
        quantise(d + begin, layout.y() + begin, q_.data() + begin, length, &row_sums_[static_cast<size_t>(c)]);
    }

    void loaded() {
        RowSums sum;
        for (const RowSums &part : row_sums_) sum.add(part);
        accept(sum);
    }

    // Finds the best hypothesis of each of the k best groups under the loaded weights, best first. Nothing is found
    // that does not reach `lowest`.
    void best(size_t k, int threads, int64_t lowest = 0) {
        // The leaders' edges give a threshold that may spare most other blocks; where the last call showed that it does
        // not, a rough look at all of them is better from the start.
        bool rough_start = filtered_ && looked_ > kGroup;
        int64_t edge = found_.empty() ? lowest : magnitude(found_.front().edge);  // about what to expect
        start(std::min(k, blocks_.member_count() + 1), lowest);
        bool follows = ledger_.follow(q_.data()), only_one = k == 1;
        if (joint_.survey(q_.data())) look(joint_.columns().data(), joint_.columns().size(), threads);
        else if (lowest == 0 && !rough_start && !at_once_ && !leaders_.empty() && !(follows && only_one))
            look(leaders_.data(), leaders_.size(), threads);
        int64_t floor = ranking_.threshold();
        if (follows) floor = ledger_.sharpen(bounds_, total_, floor, only_one);
        size_t count = bounds_.sort(floor);
        filtered_ = worth_filter(count) && filter_.load(q_.data(), layout.rows(), edge);
        if (filtered_) {
            judge(count, only_one, threads);
            count = bounds_.sort(std::max(floor, ranking_.threshold()));
        } else if (joint_.surveyed() && 2 * count > joint_.columns().size()) {
            count = judge_pairs(floor, threads);
        }
        at_once_ && !filtered_ ? look_at_all(count, threads) : walk(count, threads);
        at_once_ = layout.rows() > kTallRows && !filtered_ && few_spared(count);
        joint_.settle(joint_looks_);
        answer();
    }

private:
    const StumpBlocks blocks_;
    StumpBounds bounds_;
    JointBounds joint_;

    LargeVector<int64_t> q_;
    std::vector<RowSums> row_sums_;
    int64_t total_ = 0;

    std::vector<int32_t> leaders_;  // blocks of the last answer: looked at first, they give a good threshold

    KeptLedger ledger_;

    // Work of one call; the vectors keep their memory from call to call.
    Ranking ranking_;
    uint32_t call_ = 0;
    std::vector<uint32_t> stamp_, judged_;  // the call in which a block was last looked at, or judged by the filter
    StumpFilter filter_;
    bool filtered_ = false;  // in the last call
    bool at_once_ = false;  // whether the next call looks at all blocks together
    std::vector<Judged> columns_;
    std::vector<int64_t> rough_;
    std::vector<int32_t> batch_, dense_batch_, sparse_batch_;
    std::vector<int64_t> peak_;  // of a member, when last looked at
    std::vector<Spot> spot_;  // of a feature: the first hypothesis that ties with its best
    std::vector<std::vector<int64_t>> cells_;  // one workspace for each thread
    std::vector<Found> found_;
    int64_t looked_ = 0, summed_ = 0;  // features
    size_t joint_looks_ = 0;  // of the columns that have joint bounds

    // ---- weights --------------------

    void accept(const RowSums &sum) {
        double mass = static_cast<double>(sum.high) * 4294967296.0 + static_cast<double>(sum.low);
        double most = kFixedOne * (1.0 + 1e-9) + static_cast<double>(layout.rows());
        if (sum.bad != 0 || !(mass <= most)) {
            forget();  // q holds the bad weights now: no distance to it means anything
            require(sum.bad == 0, "d must be finite, not negative and at most one");
            require(false, "d must not sum to more than one");
        }
        total_ = sum.total;
        int64_t exact_mass = sum.high * (int64_t{1} << 32) + sum.low;
        bounds_.travel(sum.travelled, total_, exact_mass, q_.data(), layout.rows());
    }

    void start(size_t wanted, int64_t lowest) {
        looked_ = summed_ = 0;
        joint_looks_ = 0;
        if (++call_ == 0) {
            std::fill(stamp_.begin(), stamp_.end(), 0u);
            std::fill(judged_.begin(), judged_.end(), 0u);
            call_ = 1;
        }
        ranking_.start(wanted, lowest);
        ranking_.offer(-1, magnitude(total_));
    }

    // ---- order --------------------

    // Looks at batches: large enough to share a tile or to feed the threads, small enough that a threshold raised by
    // one batch spares part of the next. The bounds of judged blocks are sharp: the first is most likely the best.
    void walk(size_t count, int threads) {
        bool serial = threads == 1 && layout.rows() <= kTallRows;
        int64_t budget = serial ? 2 * layout.rows() : std::max(2 * layout.rows(), 4 * kWorthThreads);
        int64_t no_knowledge = bounds_.most();
        constexpr int64_t kLargestBudget = int64_t{1} << 40;  // there may be many batches
        size_t next = 0, most = kPanel;
        while (next < count) {
            int64_t floor = ranking_.threshold() >> kCoarse, work = 0;
            batch_.clear();
            for (; next < count && work < budget && batch_.size() < most; ++next) {
                auto [b, bound] = bounds_.order()[next];
                if (bound < floor || stamp_[static_cast<size_t>(b)] == call_) continue;
                batch_.push_back(b);
                if (judged_[static_cast<size_t>(b)] == call_) work = budget;
                work += serial || bound < no_knowledge ? blocks_[b].work : 0;
            }
            if (!batch_.empty()) look(batch_.data(), batch_.size(), threads);
            if (!serial) budget = std::min(2 * budget, kLargestBudget);
            most = std::min(2 * most, blocks_.size());
        }
    }

    // Batches read the rows' weights from memory each time: where the last call could have spared few blocks, all go
    // over the rows together.
    void look_at_all(size_t count, int threads) {
        batch_.clear();
        for (size_t k = 0; k < count; ++k) batch_.push_back(bounds_.order()[k].block);
        if (!batch_.empty()) look(batch_.data(), batch_.size(), threads);
    }

    // Whether nearly all blocks had bounds that the best edge does not rule out.
    bool few_spared(size_t count) const {
        int64_t floor = ranking_.threshold() >> kCoarse;
        size_t needed = 0;
        for (size_t k = 0; k < count; ++k) needed += bounds_.order()[k].bound >= floor ? 1 : 0;
        return 32 * needed >= 31 * blocks_.size();
    }

    // ---- rough edges ----
    bool worth_filter(size_t survivors) const {
        return std::min(survivors, blocks_.plain_count()) >=
               (layout.rows() <= kTallRows ? kWorthFilter : 4 * kWorthFilter);
    }

    // Sharpens the upper bounds of the plain dense blocks among the first `count` in the order, eight at a time. Where
    // only one hypothesis is wanted, a rough edge that surely is reached spares blocks with lower bounds.
    void judge(size_t count, bool only_one, int threads) {
        size_t groups_at_once = filter_.work() * kGroup * threads >= kWorthThreads ? static_cast<size_t>(threads) : 1;
        int64_t floor = ranking_.threshold();
        const std::vector<Survivor> &order = bounds_.order();
        for (size_t next = 0; next < count;) {
            batch_.clear();
            for (; next < count && batch_.size() < kGroup * groups_at_once; ++next)
                if (order[next].bound >= floor >> kCoarse && blocks_.plain(order[next].block))
                    batch_.push_back(order[next].block);
            judge_batch(groups_at_once);
            for (size_t k = 0; k < batch_.size(); ++k) {
                bounds_.sharpen(batch_[k], rough_[k] + filter_.delta());
                judged_[static_cast<size_t>(batch_[k])] = call_;
                if (only_one) floor = std::max(floor, rough_[k] - filter_.delta() - kTie);
            }
            looked_ += static_cast<int64_t>(batch_.size());
        }
    }

    // Rough peaks of the blocks of batch_.
    void judge_batch(size_t groups_at_once) {
        columns_.clear();
        for (int32_t b : batch_) {
            const Member &member = blocks_.members(blocks_[b])[0];
            columns_.push_back({blocks_[b].codes, member.cuts, member.missing});
        }
        filter_.judge_all(columns_, groups_at_once, rough_);
    }

    // ---- joint bounds --------------------

    // Sharpens the upper bounds of all columns that share histograms; returns how many blocks are left in the order.
    size_t judge_pairs(int64_t floor, int threads) {
        bool alone = static_cast<int64_t>(joint_.columns().size()) * layout.rows() < 2 * kWorthThreads;
        joint_.judge(q_.data(), total_, alone ? 1 : threads, rough_);
        for (size_t k = 0; k < rough_.size(); ++k) {
            int32_t b = joint_.columns()[k];
            bounds_.sharpen(b, rough_[k]);
            if (stamp_[static_cast<size_t>(b)] == call_) continue;
            judged_[static_cast<size_t>(b)] = call_;
            ++looked_;
        }
        return bounds_.sort(std::max(floor, ranking_.threshold()));
    }

    // ---- sums --------------------

    void look(const int32_t *batch, size_t count, int threads) {
        dense_batch_.clear();
        sparse_batch_.clear();
        int64_t sparse_work = 0;
        for (size_t k = 0; k < count; ++k) {
            const Block &block = blocks_[batch[k]];
            (block.sparse ? sparse_batch_ : dense_batch_).push_back(batch[k]);
            if (block.sparse) sparse_work += block.work;
        }
        bool tall = layout.rows() > kTallRows;
        int64_t dense_work = static_cast<int64_t>(dense_batch_.size()) * layout.rows();
        int dense_threads = dense_work >= kWorthThreads ? threads : 1;
        int sparse_threads = sparse_work >= kWorthThreads ? threads : 1;
        make_room(std::max(dense_threads, sparse_threads), tall ? kPanel : 2);
        int64_t floor = ranking_.threshold();
        if (tall)
            for (size_t k = 0; k < dense_batch_.size(); k += kPanel) look_tall(k, dense_threads, floor);
        else look_short(dense_threads, floor);
        look_sparse(sparse_threads, floor);
        for (size_t k = 0; k < count; ++k) record(batch[k]);
    }

    void make_room(int threads, size_t histograms) {
        if (cells_.size() < static_cast<size_t>(threads)) cells_.resize(static_cast<size_t>(threads));
        for (auto &cells : cells_)
            if (cells.size() < histograms * kHistogram) cells.resize(histograms * kHistogram);
    }

    void record(int32_t b) {
        const Block &block = blocks_[b];
        const Member *members = blocks_.members(block);
        const int64_t *peaks = &peak_[static_cast<size_t>(block.first)];
        int64_t highest = 0;
        for (int32_t j = 0; j < block.count; ++j) {
            highest = std::max(highest, peaks[j]);
            ranking_.offer(members[j].feature, peaks[j]);
        }
        bounds_.learn(b, highest);
        stamp_[static_cast<size_t>(b)] = call_;
        joint_looks_ += joint_.has(b) ? 1 : 0;
        looked_ += judged_[static_cast<size_t>(b)] == call_ ? 0 : block.count;
        summed_ += block.count;
    }

    // Few rows: a task is two whole columns.
    void look_short(int threads, int64_t floor) {
        std::atomic<size_t> next{0};
        with_workers(threads, [&](int64_t worker) {
            int64_t *cells = cells_[static_cast<size_t>(worker)].data();
            for (size_t k; (k = next.fetch_add(2, std::memory_order_relaxed)) < dense_batch_.size();) {
                size_t pair = std::min<size_t>(2, dense_batch_.size() - k);
                int planes = sum_pair(dense_batch_.data() + k, pair, cells);
                for (size_t j = 0; j < pair; ++j)
                    finish(blocks_[dense_batch_[k + j]], cells + j * kHistogram, planes, floor);
            }
        });
    }

    // Histograms of one or two blocks over all rows; returns the number of planes used.
    int sum_pair(const int32_t *pair, size_t count, int64_t *cells) const {
        const Block &a = blocks_[pair[0]], &b = blocks_[pair[count - 1]];
        // Clearing and joining four planes costs as much as a few thousand rows.
        bool one_plane = layout.rows() < 4096 && !a.crowded() && !b.crowded();
        int planes = one_plane ? 1 : kPlanes;
        clear_cells(cells, planes, a.bins);
        if (count == 2) clear_cells(cells + kHistogram, planes, b.bins);
        add_columns(a.codes, count == 2 ? b.codes : nullptr, q_.data(), layout.rows(), planes, cells,
                    cells + kHistogram);
        return planes;
    }

    // Many rows: a task is a tile of rows for a panel of blocks, summed by each thread for itself and joined at the
    // end.
    void look_tall(size_t first, int threads, int64_t floor) {
        size_t count = std::min(kPanel, dense_batch_.size() - first);
        const int32_t *panel = dense_batch_.data() + first;
        std::atomic<int64_t> next{0};
        with_workers(threads, [&](int64_t worker) {
            sum_tiles(panel, count, cells_[static_cast<size_t>(worker)].data(), next);
        });
        int64_t *cells = cells_[0].data();
        for (size_t j = 0; j < count; ++j, cells += kHistogram) {
            const Block &block = blocks_[panel[j]];
            for (int worker = 1; worker < threads; ++worker)
                join_planes(cells, cells_[static_cast<size_t>(worker)].data() + j * kHistogram, kPlanes, block.bins);
            finish(block, cells, kPlanes, floor);
        }
    }

    void sum_tiles(const int32_t *panel, size_t count, int64_t *cells, std::atomic<int64_t> &next) const {
        std::memset(cells, 0, count * kHistogram * sizeof(int64_t));
        for (int64_t begin; (begin = next.fetch_add(1, std::memory_order_relaxed) * kTile) < layout.rows();) {
            int64_t length = std::min(kTile, layout.rows() - begin);
            for (size_t j = 0; j < count; j += 2) {
                const Block &a = blocks_[panel[j]], &b = blocks_[panel[std::min(j + 1, count - 1)]];
                // Two planes are enough where codes differ, and leave more of the first-level cache to the rows.
                int planes = a.crowded() || b.crowded() ? kPlanes : 2;
                int64_t *target = cells + j * kHistogram;
                add_columns(a.codes + begin, j + 1 < count ? b.codes + begin : nullptr, q_.data() + begin, length,
                            planes, target, target + kHistogram);
            }
        }
    }

    // A task is a run of sparse columns: most are too short to be worth a visit to the shared counter.
    void look_sparse(int threads, int64_t floor) {
        constexpr size_t run = 16, kAhead = 4;
        if (sparse_batch_.empty()) return;
        std::atomic<size_t> next{0};
        with_workers(threads, [&](int64_t worker) {
            int64_t *cells = cells_[static_cast<size_t>(worker)].data();
            for (size_t k; (k = next.fetch_add(run, std::memory_order_relaxed)) < sparse_batch_.size();)
                for (size_t j = k; j < std::min(k + run, sparse_batch_.size()); ++j) {
                    if (j + kAhead < sparse_batch_.size()) prefetch(*blocks_[sparse_batch_[j + kAhead]].sparse);
                    look_sparse_block(blocks_[sparse_batch_[j]], cells, floor);
                }
        });
    }

    void look_sparse_block(const Block &block, int64_t *cells, int64_t floor) {
        const SparseColumn &column = *block.sparse;
        if (block.one_sum) {
            int64_t listed = sum_listed(column.rows, column.count, q_.data());
            note_two_valued(block, 0, column.fallback == 0 ? total_ - listed : listed, floor);
        } else {
            sum_sparse(column, q_.data(), total_, block.bins, cells);
            note(block, 0, cells, floor);
        }
    }

    // From a histogram to the best of each member.
    void finish(const Block &block, int64_t *cells, int planes, int64_t floor) {
        if (planes > 1) join_planes(cells, cells + kCodes, planes - 1, block.bins);
        const Member *members = blocks_.members(block);
        if (members[0].code_of == nullptr) return note(block, 0, cells, floor);
        int64_t *own = cells + kCodes;  // the second plane is free after the join
        for (int32_t j = 0; j < block.count; ++j)
            if (members[j].two_valued()) {
                note_two_valued(block, j, sum_code_zero(cells, members[j].code_of, block.bins), floor);
            } else {
                split_tuples(cells, members[j].code_of, block.bins, members[j].cuts + 1, own);
                note(block, j, own, floor);
            }
    }

    // The best of one member from its histogram, which is used up; its place only where it may be part of the answer.
    void note(const Block &block, int32_t j, int64_t *cells, int64_t floor) {
        const Member &member = blocks_.members(block)[j];
        Extent left = accumulate(cells, member.cuts);
        if (joint_.surveying()) joint_.remember(blocks_.block_of(static_cast<size_t>(member.feature)), cells);
        int64_t peak = peak_edge(cells, left, member.cuts, member.missing, total_);
        peak_[static_cast<size_t>(block.first + j)] = peak;
        if (peak < floor) return;
        Spot spot = first_reaching(cells, member.cuts, member.missing, total_, peak - kTie);
        spot_[static_cast<size_t>(member.feature)] = spot;
    }

    // One cut and nothing missing: there is one hypothesis, and `left` is the sum over the rows with code 0.
    void note_two_valued(const Block &block, int32_t j, int64_t left, int64_t floor) {
        int64_t edge = total_ - 2 * left;
        peak_[static_cast<size_t>(block.first + j)] = magnitude(edge);
        if (magnitude(edge) >= floor) spot_[static_cast<size_t>(blocks_.members(block)[j].feature)] = {edge, 0, 0};
    }

    // ---- the answer --------------------

    void answer() {
        found_.clear();
        ranking_.settle([this](int32_t feature, int64_t reach) {
            if (feature < 0) found_.push_back({{-1, 0, 0}, total_});
            else take(static_cast<size_t>(feature), reach);
        });
        if (found_.empty()) return;  // the leaders of earlier calls may lead again
        leaders_.clear();
        for (const Found &found : found_)
            if (found.stump.feature >= 0)
                leaders_.push_back(blocks_.block_of(static_cast<size_t>(found.stump.feature)));
        std::sort(leaders_.begin(), leaders_.end());  // features of one block lead together
        leaders_.erase(std::unique(leaders_.begin(), leaders_.end()), leaders_.end());
    }

    void take(size_t f, int64_t reach) {
        // The noted place ties with its own feature's best, but perhaps not with a slightly better one elsewhere.
        Spot spot = magnitude(spot_[f].edge) >= reach ? spot_[f] : find_again(f, reach);
        found_.push_back({{static_cast<int32_t>(f), spot.cut, spot.missing_right}, spot.edge});
    }

    // Rare: sums the stored column once more.
    Spot find_again(size_t f, int64_t reach) {
        make_room(1, 2);
        int64_t *cells = cells_[0].data();
        int bins = layout.cuts(f) + 1;
        if (layout.home(f) == Home::dense) {
            clear_cells(cells, kPlanes, bins);
            add_columns(layout.dense(f), nullptr, q_.data(), layout.rows(), kPlanes, cells, nullptr);
            join_planes(cells, cells + kCodes, kPlanes - 1, bins);
        } else {
            sum_sparse(layout.sparse(f), q_.data(), total_, bins, cells);
        }
        accumulate(cells, layout.cuts(f));
        return first_reaching(cells, layout.cuts(f), layout.missing(f), total_, reach);
    }
};

}  // namespace dualboost
