// The edges of all stumps at once, and the margins of a weighting of all of them: a histogram pass, a lookup pass.
#pragma once

// Every stump is wanted here, not the best of each feature: the searching half of these sums stays unused.
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#endif
#include "stumps_sums.hpp"
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif
#include "stumps_rows.hpp"

#include <cstdlib>
#include <memory>

namespace dualboost::average {

constexpr int64_t kTile = 1 << 14;
constexpr int64_t kTallRows = 2 * kTile;  // above, all features of a panel go over one tile of rows together
constexpr size_t kPanel = 32;  // features that share a tile of rows: 32 histograms of 8 KB
constexpr int64_t kWorthThreads = 1 << 18;

// Stumps in index order: the constant, then (feature, cut, side) with the side last; a feature with missing values ends
// with "missing or not". `start[f]` is the first of feature f.
class StumpOrder {
public:
    explicit StumpOrder(const StumpLayout &layout) : layout_(layout), start_(layout.features() + 1) {
        int64_t next = 1;
        for (size_t f = 0; f < layout.features(); ++f) {
            start_[f] = next;
            next += int64_t{layout.cuts(f)} * sides(f) + (layout.missing(f) ? 1 : 0);
        }
        start_.back() = next;
    }

    int64_t size() const { return start_.back(); }
    int64_t start(size_t f) const { return start_[f]; }
    int64_t count(size_t f) const { return start_[f + 1] - start_[f]; }
    int sides(size_t f) const { return layout_.missing(f) ? 2 : 1; }

private:
    const StumpLayout &layout_;
    std::vector<int64_t> start_;
};

// Row weights in fixed point with their labels, and their sum.
class FixedWeights {
public:
    FixedWeights(const StumpLayout &layout, const double *d, int threads)
        : q_(static_cast<int64_t *>(std::calloc(static_cast<size_t>(layout.rows()), sizeof(int64_t))), &std::free) {
        if (!q_) throw std::bad_alloc();
        std::vector<RowSums> parts(static_cast<size_t>(chunk_count(layout.rows())));
        parallel(chunk_count(layout.rows()), layout.rows() < kWorthThreads ? 1 : threads, [&](int64_t c) {
            int64_t begin = c * kChunk, length = std::min(kChunk, layout.rows() - begin);
            quantise(d + begin, layout.y() + begin, q_.get() + begin, length, &parts[static_cast<size_t>(c)]);
        });
        double mass = 0;
        uint64_t total = 0;
        for (const RowSums &part : parts) {
            require(part.bad == 0, "d must be finite, not negative and at most one");
            mass += static_cast<double>(part.high) * 4294967296.0 + static_cast<double>(part.low);
            total += static_cast<uint64_t>(part.total);
        }
        require(mass <= kFixedOne * (1.0 + 1e-9) + static_cast<double>(layout.rows()),
                "d must not sum to more than one");
        total_ = static_cast<int64_t>(total);
    }

    const int64_t *data() const { return q_.get(); }
    int64_t total() const { return total_; }

private:
    std::unique_ptr<int64_t, decltype(&std::free)> q_;
    int64_t total_ = 0;
};

class StumpEdges {
public:
    StumpEdges(const StumpLayout &layout, const StumpOrder &order, const FixedWeights &q, double *out)
        : layout_(layout), order_(order), q_(q), out_(out) {
        for (size_t f = 0; f < layout.features(); ++f) {
            if (!layout.has_stumps(f)) continue;
            (layout.home(f) == Home::dense ? dense_ : sparse_).push_back(f);
        }
    }

    // All edges, and the largest |edge| as an integer.
    int64_t run(int threads) {
        out_[0] = static_cast<double>(q_.total()) / kFixedOne;
        int64_t work = layout_.rows() * static_cast<int64_t>(dense_.size() + 1);
        threads = work < kWorthThreads ? 1 : threads;
        std::vector<int64_t> largest(layout_.features() + 1, 0);
        largest.back() = magnitude(q_.total());
        if (layout_.rows() <= kTallRows)
            parallel(static_cast<int64_t>(dense_.size() + 1) / 2, threads, [&](int64_t k) { pair(k, largest); });
        else
            for (size_t first = 0; first < dense_.size(); first += kPanel) panel(first, threads, largest);
        parallel(static_cast<int64_t>(sparse_.size()), sparse_.size() < 64 ? 1 : threads, [&](int64_t s) {
            int64_t cells[kHistogram];
            size_t f = sparse_[static_cast<size_t>(s)];
            sum_sparse(layout_.sparse(f), q_.data(), q_.total(), layout_.cuts(f) + 1, cells);
            largest[f] = write(f, cells);
        });
        return *std::max_element(largest.begin(), largest.end());
    }

private:
    const StumpLayout &layout_;
    const StumpOrder &order_;
    const FixedWeights &q_;
    double *out_;
    std::vector<size_t> dense_, sparse_;

    // Few rows: two whole columns at once, and no more cells than they need.
    void pair(int64_t k, std::vector<int64_t> &largest) const {
        size_t first = static_cast<size_t>(2 * k), count = std::min<size_t>(2, dense_.size() - first);
        size_t a = dense_[first], b = dense_[first + count - 1];
        bool crowded = std::max(layout_.crowding(a), layout_.crowding(b)) > 0.1;
        int planes = layout_.rows() < 4096 && !crowded ? 1 : kPlanes;
        int64_t cells[2 * kHistogram];
        clear_cells(cells, planes, layout_.cuts(a) + 1);
        clear_cells(cells + kHistogram, planes, layout_.cuts(b) + 1);
        add_columns(layout_.dense(a), count == 2 ? layout_.dense(b) : nullptr, q_.data(), layout_.rows(), planes, cells,
                    cells + kHistogram);
        for (size_t j = 0; j < count; ++j) {
            size_t f = dense_[first + j];
            int64_t *own = cells + j * kHistogram;
            if (planes > 1) join_planes(own, own + kCodes, planes - 1, layout_.cuts(f) + 1);
            largest[f] = write(f, own);
        }
    }

    // Some features over all rows, tile by tile: each worker has its own histograms, joined at the end.
    void panel(size_t first, int threads, std::vector<int64_t> &largest) {
        size_t count = std::min(kPanel, dense_.size() - first);
        int64_t tiles = (layout_.rows() + kTile - 1) / kTile;
        auto workers = static_cast<size_t>(std::min<int64_t>(threads, tiles));
        std::vector<std::vector<int64_t>> cells(workers, std::vector<int64_t>(count * kHistogram, 0));
        std::atomic<int64_t> next{0};
        parallel(static_cast<int64_t>(workers), static_cast<int>(workers), [&](int64_t worker) {
            std::vector<int64_t> &own = cells[static_cast<size_t>(worker)];
            for (int64_t tile; (tile = next.fetch_add(1, std::memory_order_relaxed)) < tiles;)
                sum_tile(first, count, tile * kTile, own.data());
        });
        for (size_t j = 0; j < count; ++j) {
            size_t f = dense_[first + j];
            int64_t *own = cells[0].data() + j * kHistogram;
            join_planes(own, own + kCodes, kPlanes - 1, kCodes);
            for (size_t worker = 1; worker < workers; ++worker)
                join_planes(own, cells[worker].data() + j * kHistogram, kPlanes, kCodes);
            own[kMissing] = layout_.missing(f) ? own[kMissing] : 0;
            largest[f] = write(f, own);
        }
    }

    void sum_tile(size_t first, size_t count, int64_t begin, int64_t *cells) const {
        int64_t length = std::min(kTile, layout_.rows() - begin);
        for (size_t j = 0; j < count; j += 2) {
            size_t a = dense_[first + j], b = dense_[first + std::min(j + 1, count - 1)];
            bool crowded = std::max(layout_.crowding(a), layout_.crowding(b)) > 0.1;
            add_columns(layout_.dense(a) + begin, j + 1 < count ? layout_.dense(b) + begin : nullptr, q_.data() + begin,
                        length, crowded ? kPlanes : 2, cells + j * kHistogram, cells + (j + 1) * kHistogram);
        }
    }

    // From a histogram to the edges of one feature; the largest |edge|.
    int64_t write(size_t f, const int64_t *cells) const {
        double *out = out_ + order_.start(f);
        int64_t total = q_.total(), gone = layout_.missing(f) ? cells[kMissing] : 0, left = 0, largest = 0;
        int cuts = layout_.cuts(f);
        auto note = [&](int64_t edge) {
            largest = std::max(largest, magnitude(edge));
            *out++ = static_cast<double>(edge) / kFixedOne;
        };
        for (int cut = 0; cut < cuts; ++cut) {
            left += cells[cut];
            note(total - 2 * gone - 2 * left);
            if (layout_.missing(f)) note(total - 2 * left);
        }
        if (layout_.missing(f)) note(total - 2 * (total - gone));
        return largest;
    }
};

// One table a feature from the weights of all stumps: a stump adds its weight right of its cut and takes it away left.
inline StumpTables tables_of(const StumpLayout &layout, const StumpOrder &order, const double *weights) {
    std::vector<int32_t> features;
    std::vector<double> tables;
    for (size_t f = 0; f < layout.features(); ++f) {
        const double *w = weights + order.start(f);
        if (std::all_of(w, w + order.count(f), [](double x) { return x == 0.0; })) continue;
        features.push_back(static_cast<int32_t>(f));
        tables.resize(tables.size() + kCodes, 0.0);
        double *table = &tables[tables.size() - kCodes], sum = 0.0, gone = 0.0;
        int cuts = layout.cuts(f), sides = order.sides(f);
        for (int cut = 0; cut < cuts; ++cut, w += sides) {
            table[cut] = sum;
            sum += sides == 2 ? w[0] + w[1] : w[0];
            gone += sides == 2 ? w[1] - w[0] : 0.0;
        }
        table[cuts] = sum;
        double last = sides == 2 ? w[0] : 0.0;  // "missing or not": -1 on every value
        for (int code = 0; code <= cuts; ++code) table[code] = 2 * table[code] - sum - last;
        if (sides == 2) table[kMissing] = gone + last;
    }
    return StumpTables(layout, weights[0], std::move(features), std::move(tables));
}

}  // namespace dualboost::average
