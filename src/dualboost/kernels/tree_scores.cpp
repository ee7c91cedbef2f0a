// Tree ensembles on raw values: a block of rows is coded by the cuts of the ensemble, then all splits work on bytes.
#include "search.hpp"
#include "tree_nodes.hpp"

namespace dualboost {

namespace {

// Feature number u of the nodes is column features[u] with the cuts [cut_start[u], cut_start[u + 1]), at most 254;
// met_missing[u] tells whether it was missing somewhere in training. A tree abstains where it was not, and now is.
struct TreeModel {
    Forest forest;
    TreeTables tables;
    size_t used;
    const int32_t *features;
    const int64_t *cut_start;
    const double *cuts;
    const uint8_t *met_missing;

    TreeModel(int64_t n_features, const NodeGrid &nodes, const Longs &start, const Doubles &weights, const Ints &features,
              const Longs &cut_start, const Doubles &cuts, const Bytes &met_missing)
        : forest(nodes, start), tables(forest, checked_weights(forest, weights)), used(features.shape(0)),
          features(features.data()), cut_start(cut_start.data()), cuts(cuts.data()), met_missing(met_missing.data()) {
        require(cut_start.shape(0) == used + 1 && this->cut_start[0] == 0 &&
                    this->cut_start[used] == static_cast<int64_t>(cuts.shape(0)) &&
                    std::is_sorted(this->cut_start, this->cut_start + used + 1),
                "cut_start must have one entry more than features, begin with 0, not decrease, and end with the number "
                "of cuts.");
        require(met_missing.shape(0) == used, "met_missing must have one entry for each feature.");
        for (size_t u = 0; u < used; ++u) {
            require(features.data()[u] >= 0 && features.data()[u] < n_features,
                    "A feature number of the model is out of range.");
            require(count_of(u) <= kMaxCuts, "A feature may have 254 cuts at most.");
        }
        for (const TreeNode &node : forest.nodes())
            require(node.leaf() || static_cast<size_t>(node.feature) < used, "A split uses a feature that is not listed.");
    }

    int64_t count_of(size_t u) const { return cut_start[u + 1] - cut_start[u]; }
    uint8_t code(size_t u, double x) const {
        return static_cast<uint8_t>(x == x ? count_below(cuts + cut_start[u], count_of(u), x) : kMissing);
    }

private:
    static const double *checked_weights(const Forest &forest, const Doubles &weights) {
        require(weights.shape(0) == forest.size(), "weights must have one entry for each tree.");
        return weights.data();
    }
};

// The codes of one block, feature by feature.
class CodedBlock {
public:
    explicit CodedBlock(const TreeModel &model)
        : model_(model), votes_(model.forest), codes_(model.used * kTreeBlock), column_(model.used) {
        for (size_t u = 0; u < model.used; ++u) column_[u] = column(u);
    }

    uint8_t *column(size_t u) { return &codes_[u * kTreeBlock]; }

    void scores(int n, double *out) {
        if (!surprising(n)) return model_.tables.scores(votes_, column_.data(), n, out);
        auto known = [&](int32_t u) { return model_.met_missing[u] != 0; };
        for (int i = 0; i < n; ++i)
            out[i] = model_.tables.walk([&](int32_t u) { return column(static_cast<size_t>(u))[i]; }, known);
    }

private:
    const TreeModel &model_;
    BlockVotes votes_;
    std::vector<uint8_t> codes_;
    std::vector<const uint8_t *> column_;

    // Whether a value is missing in a feature that had none missing in training.
    bool surprising(int n) const {
        for (size_t u = 0; u < model_.used; ++u)
            if (!model_.met_missing[u] && std::memchr(column_[u], kMissing, static_cast<size_t>(n))) return true;
        return false;
    }
};

// Calls code(block, first row, rows) and then scores, for all blocks.
template <class Code> void score_blocks(const TreeModel &model, int64_t rows, double *out, int threads, const Code &code) {
    threads = rows * static_cast<int64_t>(model.forest.size() + 1) < (1 << 16) ? 1 : threads;
    parallel(chunk_count(rows), threads, [&](int64_t chunk) {
        CodedBlock block(model);
        int64_t end = std::min(rows, (chunk + 1) * kChunk);
        for (int64_t begin = chunk * kChunk; begin < end; begin += kTreeBlock) {
            int n = static_cast<int>(std::min<int64_t>(kTreeBlock, end - begin));
            code(block, begin, n);
            block.scores(n, out + begin);
        }
    });
}

void check_room(const Vector<double> &out, int64_t rows, int threads) {
    require(static_cast<int64_t>(out.shape(0)) == rows, "out must have one entry for each row of X.");
    require(threads >= 1, "threads must be at least 1.");
}

// ---- Dense -----------------------------------------------------------------------------------------------------

void code_dense(const TreeModel &model, const std::vector<CutIndex> &index, const Matrix &x, int64_t first, int n,
                CodedBlock &block) {
    Tile tile;
    for (int from = 0; from < n; from += kTileRows) {
        int rows = std::min(kTileRows, n - from);
        int64_t start = first + from;
        for (size_t u = 0; u < model.used; u += kTileColumns) {
            int width = static_cast<int>(std::min<size_t>(kTileColumns, model.used - u));
            load_tile(x, [start](int i) { return start + i; }, rows, model.features + u, width, tile);
            for (int c = 0; c < width; ++c) {
                uint8_t *codes = block.column(u + static_cast<size_t>(c)) + from;
                for_codes(index[u + static_cast<size_t>(c)], tile[c], rows,
                          [codes](int i, int32_t code) { codes[i] = static_cast<uint8_t>(code); });
            }
        }
    }
}

void predict_trees_dense(const AnyMatrix &array, const NodeGrid &nodes, const Longs &start, const Doubles &weights,
                         const Ints &features, const Longs &cut_start, const Doubles &cuts, const Bytes &met_missing,
                         const Vector<double> &out, int threads) {
    constexpr int64_t kFewRows = 128;  // below, preparing the cuts costs more than it saves
    Matrix x = view(array);
    TreeModel model(x.columns, nodes, start, weights, features, cut_start, cuts, met_missing);
    check_room(out, x.rows, threads);
    nb::gil_scoped_release released;
    if (x.rows < kFewRows)
        return score_blocks(model, x.rows, out.data(), 1, [&](CodedBlock &block, int64_t first, int n) {
            for (size_t u = 0; u < model.used; ++u)
                for (int i = 0; i < n; ++i) block.column(u)[i] = model.code(u, value_at(x, first + i, model.features[u]));
        });
    std::vector<CutIndex> index;
    for (size_t u = 0; u < model.used; ++u)
        index.push_back(make_cut_index(model.cuts + model.cut_start[u], model.count_of(u), x.rows, kMissing));
    score_blocks(model, x.rows, out.data(), threads, [&](CodedBlock &block, int64_t first, int n) {
        code_dense(model, index, x, first, n, block);
    });
}

// ---- Sparse ----------------------------------------------------------------------------------------------------

template <class Index, class Value>
void predict_trees_sparse(int64_t n_features, const Vector<const Index> &indptr, const Vector<const Index> &indices,
                          const Vector<const Value> &data, const NodeGrid &nodes, const Longs &start,
                          const Doubles &weights, const Ints &features, const Longs &cut_start, const Doubles &cuts,
                          const Bytes &met_missing, const Vector<double> &out, int threads) {
    require(n_features >= 0 && n_features < (int64_t{1} << 31), "n_features must lie between 0 and 2^31 - 1.");
    TreeModel model(n_features, nodes, start, weights, features, cut_start, cuts, met_missing);
    auto rows = static_cast<int64_t>(indptr.shape(0)) - 1, entries = static_cast<int64_t>(indices.shape(0));
    const Index *row_start = indptr.data(), *columns = indices.data();
    const Value *values = data.data();
    require(rows >= 0 && static_cast<int64_t>(data.shape(0)) == entries && row_start[0] == 0 &&
                static_cast<int64_t>(row_start[rows]) == entries && std::is_sorted(row_start, row_start + rows + 1),
            "indptr, indices and data do not fit together.");
    for (size_t u = 1; u < model.used; ++u)
        require(model.features[u - 1] < model.features[u], "The features of the model must ascend.");
    for (int64_t k = 0; k < entries; ++k)
        require(columns[k] >= 0 && columns[k] < n_features, "A column number of the sparse matrix is out of range.");
    check_room(out, rows, threads);
    nb::gil_scoped_release released;
    std::vector<uint8_t> at_zero(model.used);
    for (size_t u = 0; u < model.used; ++u) at_zero[u] = model.code(u, 0.0);
    const int32_t *known = model.features, *known_end = known + model.used;
    score_blocks(model, rows, out.data(), threads, [&](CodedBlock &block, int64_t first, int n) {
        for (size_t u = 0; u < model.used; ++u) std::memset(block.column(u), at_zero[u], static_cast<size_t>(n));
        for (int i = 0; i < n; ++i)
            for (int64_t k = row_start[first + i]; k < static_cast<int64_t>(row_start[first + i + 1]); ++k) {
                const int32_t *place = std::lower_bound(known, known_end, static_cast<int32_t>(columns[k]));
                if (place == known_end || *place != columns[k]) continue;
                size_t u = static_cast<size_t>(place - known);
                block.column(u)[i] = model.code(u, static_cast<double>(values[k]));
            }
    });
}

template <class Index, class Value> void bind_trees_sparse(nb::module_ &m) {
    using namespace nb::literals;
    m.def("predict_trees_sparse", &predict_trees_sparse<Index, Value>, "n_features"_a, "indptr"_a, "indices"_a, "data"_a,
          "nodes"_a, "start"_a, "weights"_a, "features"_a, "cut_start"_a, "cuts"_a, "met_missing"_a, "out"_a.noconvert(),
          "threads"_a, "The same for compressed rows without duplicates; what is not listed is zero.");
}

}  // namespace

void bind_tree_scores(nb::module_ &m) {
    using namespace nb::literals;
    m.def("predict_trees_dense", &predict_trees_dense, "X"_a, "nodes"_a, "start"_a, "weights"_a, "features"_a,
          "cut_start"_a, "cuts"_a, "met_missing"_a, "out"_a.noconvert(), "threads"_a,
          "out[i] = sum of weights[t] * vote of tree t on row i of X; a tree abstains on a value missing for the first time.");
    bind_trees_sparse<int32_t, double>(m);
    bind_trees_sparse<int64_t, double>(m);
    bind_trees_sparse<int32_t, float>(m);
    bind_trees_sparse<int64_t, float>(m);
}

}  // namespace dualboost
