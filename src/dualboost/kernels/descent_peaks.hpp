// Incremental descent: the histograms of a class of hypotheses, kept from round to round, and the best that they show.
#pragma once

#include "code_sums.hpp"
#include "descent_histograms.hpp"
#include "joint_search.hpp"

namespace dualboost::descent {

// The rows' whole numbers as they stand: their sums over both classes, what a unit of each class weighs, and the weight
// of the positive class minus that of the negative one.
struct Standing {
    int64_t units[2] = {0, 0};
    double scale[2] = {0.0, 0.0}, total = 0;
};

// The histograms of some columns, which the threads of a run may add to.
class KeptSums {
public:
    KeptSums(const StumpBlocks &blocks, int64_t m)
        : blocks_(blocks), histograms_(blocks, m), cells_(histograms_.size()) {}

    const StumpBlocks &blocks() const { return blocks_; }
    const Histograms &histograms() const { return histograms_; }
    const int64_t *cells() const { return cells_.data(); }
    size_t groups() const { return histograms_.groups(); }

    void clear() { std::fill(cells_.begin(), cells_.end(), int64_t{0}); }
    void add(size_t group, const Listed &listed) { histograms_.add(group, listed, cells_.data()); }

    // Each thread but the first has histograms of its own between `open` and `close`, which joins them.
    void open(size_t workers) {
        others_.resize(workers - 1);
        for (auto &own : others_) own.assign(cells_.size(), 0);
    }
    void add_all(size_t worker, const Listed &listed) {
        int64_t *cells = worker == 0 ? cells_.data() : others_[worker - 1].data();
        for (size_t g = 0; g < groups(); ++g) histograms_.add(g, listed, cells);
    }
    void close() {
        for (const auto &own : others_)
            for (size_t k = 0; k < own.size(); ++k) cells_[k] += own[k];
    }

    const Member &member_of(int32_t b, int32_t feature) const {
        const Member *members = blocks_.members(blocks_[b]);
        while (members->feature != feature) ++members;
        return *members;
    }

    // The whole numbers of class c, which sum to `all`, on the codes of a feature that `wanted` accepts.
    template <class Wanted> double units_where(int32_t feature, int c, int64_t all, const Wanted &wanted) const {
        int32_t b = blocks_.block_of(static_cast<size_t>(feature));
        const uint8_t *code_of = member_of(b, feature).code_of;
        int64_t units[kCodes] = {};
        histograms_.units(b, c, cells(), all, units);
        double sum = 0;
        for (int cell = 0; cell < kCodes; ++cell)
            if (wanted(code_of ? code_of[cell] : cell)) sum += static_cast<double>(units[cell]);
        return sum;
    }

    // What weighs in each code of a member of a block, whose own sums are in `sums`; `room` may be needed for it.
    const double *of_member(int32_t b, const Member &member, const double *sums, double *room) const {
        if (!member.code_of) return sums;
        std::fill(room, room + member.cuts + 1, 0.0);
        room[kMissing] = 0.0;
        for (int t = 0; t < blocks_[b].bins; ++t) room[member.code_of[t]] += sums[t];
        return room;
    }
    void join(int32_t b, const Standing &now, double *sums) const {
        histograms_.join(b, cells(), now.units, now.scale, sums);
    }

private:
    const StumpBlocks &blocks_;
    Histograms histograms_;
    std::vector<int64_t> cells_;
    std::vector<std::vector<int64_t>> others_;
};

// Runs of blocks, side by side where there are many.
template <class Look> void over_blocks(const std::vector<int32_t> &blocks, int threads, const Look &look) {
    auto count = static_cast<int64_t>(blocks.size());
    constexpr int64_t run = 16;
    parallel((count + run - 1) / run, count >= 512 ? threads : 1, [&](int64_t r) {
        for (int64_t k = r * run; k < std::min((r + 1) * run, count); ++k) look(blocks[static_cast<size_t>(k)]);
    });
}

// A hypothesis and its edge, in units of the standing.
struct Peak {
    Chosen chosen;
    double edge;
};

class StumpPeaks {
public:
    explicit StumpPeaks(const KeptSums &sums) : kept_(sums), peak_(sums.blocks().member_count()) {
        for (int32_t b = 0; b < static_cast<int32_t>(sums.blocks().size()); ++b)
            if (!sums.histograms().is_single(b)) scanned_.push_back(b);
    }

    // The lowest index among all stumps that tie with the best; the constant comes first.
    Peak best(const Standing &now, double tie, int threads) {
        now_ = now;
        // All but the sparse columns of one listed code, which need no sums and are judged together.
        over_blocks(scanned_, threads, [&](int32_t b) { scan(b); });
        const Histograms &histograms = kept_.histograms();
        const StumpBlocks &blocks = kept_.blocks();
        double reach = std::max(std::fabs(now.total), histograms.single_peak(kept_.cells(), now.scale, now.total));
        for (int32_t b : scanned_)
            for (int32_t j = 0; j < blocks[b].count; ++j)
                reach = std::max(reach, peak_[static_cast<size_t>(blocks[b].first + j)]);
        reach -= tie;
        if (std::fabs(now.total) >= reach) return {{{-1, 0, 0}}, now.total};
        int32_t feature = histograms.first_single(kept_.cells(), now.scale, now.total, reach);
        for (int32_t b : scanned_)
            for (int32_t j = 0; j < blocks[b].count; ++j)
                if (peak_[static_cast<size_t>(blocks[b].first + j)] >= reach)
                    feature = std::min(feature, blocks.members(blocks[b])[j].feature);
        return first_reaching(feature, reach - tie / 16);  // other sums, other rounding
    }

private:
    const KeptSums &kept_;
    std::vector<double> peak_;  // of a member
    std::vector<int32_t> scanned_;  // the blocks that are scanned one by one
    Standing now_;

    void scan(int32_t b) {
        const Block &block = kept_.blocks()[b];
        const Member *members = kept_.blocks().members(block);
        if (block.sparse && !members->missing) {
            peak_[static_cast<size_t>(block.first)] =
                kept_.histograms().sparse_peak(b, kept_.cells(), now_.units, now_.scale, now_.total);
            return;
        }
        double sums[kCodes], room[kCodes];
        kept_.join(b, now_, sums);
        for (int32_t j = 0; j < block.count; ++j)
            peak_[static_cast<size_t>(block.first + j)] =
                peak_edge(members[j], kept_.of_member(b, members[j], sums, room));
    }

    // With L the weight left of a cut and missing rows (weight M) on the left as well the edge is total - 2 M - 2 L;
    // with them on the right total - 2 L, where L may also be everything present.
    double peak_edge(const Member &member, const double *sums) const {
        double left = 0, low = std::numeric_limits<double>::infinity(), high = -low, total = now_.total;
        for (int cut = 0; cut < member.cuts; ++cut) {
            left += sums[cut];
            low = left < low ? left : low;
            high = left > high ? left : high;
        }
        double peak = 0;
        if (member.cuts > 0) peak = std::max(std::fabs(total - 2 * low), std::fabs(total - 2 * high));
        if (!member.missing) return peak;
        double shifted = total - 2 * sums[kMissing];
        if (member.cuts > 0)
            peak = std::max(peak, std::max(std::fabs(shifted - 2 * low), std::fabs(shifted - 2 * high)));
        return std::max(peak, std::fabs(total - 2 * (left + sums[member.cuts])));
    }

    Peak first_reaching(int32_t feature, double reach) const {
        int32_t b = kept_.blocks().block_of(static_cast<size_t>(feature));
        const Member &member = kept_.member_of(b, feature);
        double sums[kCodes], room[kCodes], left = 0;
        kept_.join(b, now_, sums);
        const double *mine = kept_.of_member(b, member, sums, room);
        double outside = member.missing ? mine[kMissing] : 0.0;
        for (int32_t cut = 0;; ++cut) {
            left += mine[cut];
            double right = now_.total - 2 * left, missing_left = right - 2 * outside;
            if (cut < member.cuts && std::fabs(missing_left) >= reach) return {{{feature, cut, 0}}, missing_left};
            if (cut >= member.cuts || (member.missing && std::fabs(right) >= reach))
                return {{{feature, cut, 1}}, right};
        }
    }
};

// The same for subsets of categories, of which a column's best is told by the signs of its sums.
class SubsetPeaks {
public:
    explicit SubsetPeaks(const KeptSums &sums) : kept_(sums), peak_(sums.blocks().member_count()) {
        for (int32_t b = 0; b < static_cast<int32_t>(sums.blocks().size()); ++b) all_.push_back(b);
    }

    // The lowest subset of the lowest column among all that tie with the best.
    Peak best(const Standing &now, double tie, int threads) {
        const StumpBlocks &blocks = kept_.blocks();
        over_blocks(all_, threads, [&](int32_t b) {
            double sums[kCodes], room[kCodes];
            kept_.join(b, now, sums);
            for (int32_t j = 0; j < blocks[b].count; ++j)
                peak_[static_cast<size_t>(blocks[b].first + j)] =
                    of(b, blocks.members(blocks[b])[j], sums, room).peak();
        });
        double reach = *std::max_element(peak_.begin(), peak_.end()) - tie;
        int32_t feature = std::numeric_limits<int32_t>::max();
        for (int32_t b : all_)
            for (int32_t j = 0; j < blocks[b].count; ++j)
                if (peak_[static_cast<size_t>(blocks[b].first + j)] >= reach)
                    feature = std::min(feature, blocks.members(blocks[b])[j].feature);
        int32_t b = blocks.block_of(static_cast<size_t>(feature));
        double sums[kCodes], room[kCodes];
        kept_.join(b, now, sums);
        CodeSums<double> mine = of(b, kept_.member_of(b, feature), sums, room);
        CodeMask mask = mine.lowest(reach);
        return {{{feature, -1, 0}, mask}, mine.edge(mask)};
    }

private:
    const KeptSums &kept_;
    std::vector<double> peak_;  // of a member
    std::vector<int32_t> all_;

    CodeSums<double> of(int32_t b, const Member &member, const double *sums, double *room) const {
        return {kept_.of_member(b, member, sums, room), member.cuts, member.missing};
    }
};

}  // namespace dualboost::descent
