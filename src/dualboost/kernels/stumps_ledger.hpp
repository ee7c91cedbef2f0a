// What sparse columns weigh, kept from call to call: upper bounds on their edges without a visit to their entries.
//
// A step of a booster multiplies the weights of most rows of a class by one number, or leaves them as they are (at a
// cap, say). So a row has an entry of whole units in one of three books: free rows of either class, whose units are
// worth a factor that is common to the book and moves with it, and settled rows, whose worth stays. As long as a row's
// weight is within a small share of what its units are worth, nothing is written; else the row is entered anew, which
// costs as many additions as it has entries. Columns hold the sums of units of their rows, so what the books say of a
// column is off by at most that share of what its free rows weigh. Factors are guesses: a bad one costs time, never a
// wrong bound.
#pragma once

#include "sparse_cells.hpp"
#include "stumps_bounds.hpp"
#include "stumps_ranking.hpp"

#include <memory>
#include <utility>

namespace dualboost {

namespace ledger {

enum Book : uint8_t { negative, positive, settled };

constexpr double kUnit = 17179869184.0;  // a fresh unit is worth 2^34 units of 2^-61: all weights together have 2^27
constexpr double kShare = 1.0 / 256;  // by which a free row may differ from its units
constexpr double kSettledShare = 1.0 / (int64_t{1} << 40);
constexpr double kSlack = 0.5 + 1e-6;  // units by which any row may differ: they are whole
constexpr double kMostDrift = 4.0;  // of a factor: beyond it sums of units might overflow
constexpr int64_t kMostRows = 1 << 24;  // with more, whole units would say little
constexpr int64_t kFewest = 16;  // entries of a column that is worth cells

// 1 where a row's weight is too far from what its units are worth; returns how many.
DUALBOOST_CLONES inline int64_t mark_strays(const int64_t *q, const double *units, const uint8_t *book, int64_t n,
                                            const double *worth, const double *share, uint8_t *marks) {
    int64_t count = 0;
    for (int64_t i = 0; i < n; ++i) {
        double is = std::fabs(static_cast<double>(q[i])), should = worth[book[i]] * units[i];
        uint8_t stray = std::fabs(is - should) > share[book[i]] * should + kSlack * worth[book[i]] ? 1 : 0;
        marks[i] = stray;
        count += stray;
    }
    return count;
}

}  // namespace ledger

class SparseLedger {
public:
    SparseLedger(const StumpBlocks &blocks, const StumpLayout &layout)
        : blocks_(blocks), y_(layout.y()), rows_(static_cast<size_t>(layout.rows())),
          places_(blocks, layout.rows(), ledger::kFewest) {}

    void forget() { open_ = false; }

    // Takes the weights q in; false where so many rows changed that the books are no use.
    bool follow(const int64_t *q) {
        if (pause_ > 0) {
            --pause_;
            return false;
        }
        bool begun = open_;
        if (!open_) open();
        guess_factors(q);
        if (drifted()) open();
        int64_t strays = ledger::mark_strays(q, units_.data(), book_.data(), rows(), worth_, kShares, marks_.data());
        bool use = !begun || 2 * strays <= rows();
        if (use) {
            enter_strays(q);
            patience_ = begun ? 0 : patience_;
        } else {
            open_ = false;
            patience_ = std::min(2 * patience_ + 1, 63);
            pause_ = patience_;
        }
        std::copy(q, q + rows(), last_.begin());
        return use;
    }

    bool knows(int32_t b) const { return places_.start(b) >= 0 && !blocks_.members(blocks_[b])->missing; }

    // The largest |edge| of a column that it knows lies between these; the constant has the edge `total`.
    struct Range {
        int64_t least, most;
    };
    Range peak(int32_t b, int64_t total) const {
        const int32_t *cells = cells_.data() + places_.start(b);
        const SparseColumn &column = *blocks_[b].sparse;
        double sum = static_cast<double>(total), peak = 0, mass = 0;
        if (places_.is_single(b)) {
            peak = std::fabs(sum - 2 * weight(cells));
            mass = free_mass(cells);
        } else {
            int bins = blocks_[b].bins;
            double rest = sum, left = 0;
            for (int code = 0; code < bins; ++code) rest -= weight(cells + code), mass += free_mass(cells + code);
            for (int cut = 0; cut + 1 < bins; ++cut) {
                left += weight(cells + cut) + (cut == column.fallback ? rest : 0.0);
                peak = std::max(peak, std::fabs(sum - 2 * left));
            }
        }
        double slack = ledger::kSlack * *std::max_element(worth_, worth_ + 3);
        double off = 2 * (ledger::kShare * mass + slack * static_cast<double>(column.count)) + kRounding;
        return {static_cast<int64_t>(peak - off), static_cast<int64_t>(peak + off)};
    }

private:
    static constexpr double kShares[3] = {ledger::kShare, ledger::kShare, ledger::kSettledShare};
    // For settled rows' share, and for sums in floating point.
    static constexpr double kRounding = 4.0 * (int64_t{1} << (kFixedBits - 40));

    const StumpBlocks &blocks_;
    const int8_t *y_;
    size_t rows_;
    const SparseCells places_;
    bool open_ = false;
    int patience_ = 0, pause_ = 0;
    double worth_[3] = {ledger::kUnit, ledger::kUnit, ledger::kUnit};  // of a unit, in units of 2^-61
    std::vector<int32_t> cells_;  // units in each cell: those of the three books
    std::vector<double> units_;  // of a row; whole numbers
    std::vector<uint8_t> book_, marks_;
    std::vector<int64_t> last_;  // the weights followed before
    std::vector<double> ratios_;
    std::vector<int32_t> strays_;

    int64_t rows() const { return static_cast<int64_t>(rows_); }

    double weight(const int32_t *cells) const {
        int64_t size = places_.size();
        return worth_[ledger::positive] * static_cast<double>(cells[size]) -
               worth_[ledger::negative] * static_cast<double>(cells[0]) +
               worth_[ledger::settled] * static_cast<double>(cells[2 * size]);
    }
    double free_mass(const int32_t *cells) const {
        return worth_[ledger::positive] * static_cast<double>(cells[places_.size()]) +
               worth_[ledger::negative] * static_cast<double>(cells[0]);
    }

    // Empty books.
    void open() {
        cells_.assign(3 * static_cast<size_t>(places_.size()), 0);
        units_.assign(rows_, 0.0);
        marks_.resize(rows_);
        last_.resize(rows_, 0);
        book_.resize(rows_);
        for (size_t i = 0; i < rows_; ++i) book_[i] = y_[i] > 0 ? ledger::positive : ledger::negative;
        std::fill(worth_, worth_ + 3, ledger::kUnit);
        open_ = true;
    }

    bool drifted() const {
        auto within = [](double worth) {
            return worth < ledger::kUnit * ledger::kMostDrift && worth > ledger::kUnit / ledger::kMostDrift;
        };
        return !(within(worth_[ledger::negative]) && within(worth_[ledger::positive]));
    }

    // By which number most free rows of a class were multiplied: the median of a sample.
    void guess_factors(const int64_t *q) {
        constexpr int64_t sample = 512;
        for (ledger::Book book : {ledger::negative, ledger::positive}) {
            ratios_.clear();
            for (int64_t k = 0; k < sample; ++k) {
                auto i = static_cast<size_t>(k * rows() / sample);
                if (book_[i] == book && last_[i] != 0 && q[i] != 0 && q[i] != last_[i])
                    ratios_.push_back(static_cast<double>(q[i]) / static_cast<double>(last_[i]));
            }
            if (ratios_.empty()) continue;
            auto middle = ratios_.begin() + static_cast<std::ptrdiff_t>(ratios_.size() / 2);
            std::nth_element(ratios_.begin(), middle, ratios_.end());
            worth_[book] *= *middle;
        }
    }

    void enter_strays(const int64_t *q) {
        constexpr size_t kAhead = 4;
        strays_.clear();
        for (int64_t i = 0; i < rows(); i += 8) {
            uint64_t eight = 0;
            std::memcpy(&eight, marks_.data() + i, static_cast<size_t>(std::min<int64_t>(8, rows() - i)));
            if (eight == 0) continue;
            for (int64_t k = i; k < std::min(i + 8, rows()); ++k)
                if (marks_[static_cast<size_t>(k)]) strays_.push_back(static_cast<int32_t>(k));
        }
        for (size_t k = 0; k < strays_.size(); ++k) {
            if (k + kAhead < strays_.size()) places_.prefetch(strays_[k + kAhead]);
            enter(strays_[k], q[strays_[k]]);
        }
    }

    // A row that has not changed since the last call, though its book has, is settled.
    void enter(int64_t row, int64_t q) {
        auto i = static_cast<size_t>(row);
        ledger::Book own = y_[i] > 0 ? ledger::positive : ledger::negative;
        ledger::Book from = static_cast<ledger::Book>(book_[i]), to = q == last_[i] && q != 0 ? ledger::settled : own;
        double units = std::nearbyint(std::fabs(static_cast<double>(q)) / worth_[to]);
        int32_t out = signed_units(from, own, units_[i]), in = signed_units(to, own, units);
        int32_t *old_cells = cells_.data() + from * places_.size(), *new_cells = cells_.data() + to * places_.size();
        if (from == to) places_.each(row, [&, change = in - out](int32_t cell) { new_cells[cell] += change; });
        else
            places_.each(row, [&](int32_t cell) {
                old_cells[cell] -= out;
                new_cells[cell] += in;
            });
        units_[i] = units;
        book_[i] = to;
    }

    // Settled rows of both classes share a book.
    static int32_t signed_units(ledger::Book book, ledger::Book own, double units) {
        auto whole = static_cast<int32_t>(units);
        return book == ledger::settled && own == ledger::negative ? -whole : whole;
    }
};

// A ledger where one pays, made when it is first of use.
class KeptLedger {
public:
    KeptLedger(const StumpBlocks &blocks, const StumpLayout &layout) : blocks_(blocks), layout_(layout) {
        int64_t entries = 0;
        for (int32_t b = 0; b < static_cast<int32_t>(blocks.size()); ++b)
            entries += blocks[b].sparse ? blocks[b].sparse->count : 0;
        suits_ = entries >= StumpBlocks::kLedgerEntries * layout.rows() && layout.rows() <= ledger::kMostRows;
    }

    void forget() {
        if (ledger_) ledger_->forget();
        asked_ = false;
    }

    // Whether it knows of the weights q. The first call after `forget` would not pay for the books.
    bool follow(const int64_t *q) {
        if (!suits_ || !std::exchange(asked_, true)) return false;
        if (!ledger_) ledger_ = std::make_unique<SparseLedger>(blocks_, layout_);
        return ledger_->follow(q);
    }

    // Sharpens the bounds of sparse columns; returns what the answer must reach, at least `floor`. The columns with
    // most entries come first: what they surely reach, where only one hypothesis is wanted, spares the others.
    int64_t sharpen(StumpBounds &bounds, int64_t total, int64_t floor, bool only_one) const {
        constexpr int32_t run = 128;
        for (int32_t b = 0; static_cast<size_t>(b) < bounds.reaching(floor >> kCoarse);)
            for (int32_t end = std::min(b + run, static_cast<int32_t>(blocks_.size())); b < end; ++b) {
                if (!ledger_->knows(b)) continue;
                SparseLedger::Range peak = ledger_->peak(b, total);
                bounds.sharpen(b, peak.most);
                if (only_one) floor = std::max(floor, peak.least - kTie);
            }
        return floor;
    }

private:
    const StumpBlocks &blocks_;
    const StumpLayout &layout_;
    std::unique_ptr<SparseLedger> ledger_;
    bool suits_, asked_ = false;
};

}  // namespace dualboost
