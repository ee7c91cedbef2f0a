// Tree ensembles on raw values: a block of rows is coded by the cuts of the ensemble, then all splits work on bytes.
#include "row_codes.hpp"
#include "tree_nodes.hpp"

namespace dualboost {

namespace {

template <class T> std::vector<T> copied(const Vector<const T> &array) {
    return {array.data(), array.data() + array.shape(0)};
}

// Checked and prepared once, for many calls. Feature number u of the nodes is column features[u] with the cuts
// [cut_start[u], cut_start[u + 1]), at most 254; met_missing[u] tells whether it was missing somewhere in training. A
// tree abstains where it was not, and now is.
struct TreeModel {
    Forest forest;
    std::vector<double> weights;
    TreeTables tables;
    CodedColumns columns;
    std::vector<uint8_t> met_missing;
    int32_t last;  // the largest feature

    TreeModel(const NodeGrid &nodes, const Longs &start, const Doubles &weights_in, const Ints &features,
              const Longs &cut_start, const Doubles &cuts, const Bytes &met_missing_in)
        : forest(nodes, start), weights(checked_weights(forest, weights_in)), tables(forest, weights.data()),
          columns(checked_columns(features, cut_start, cuts)), met_missing(copied(met_missing_in)),
          last(largest_feature(columns)) {
        require(met_missing.size() == used(), "met_missing must have one entry for each feature.");
        for (const TreeNode &node : forest.nodes())
            require(node.leaf() || static_cast<size_t>(node.feature) < used(),
                    "A split uses a feature that is not listed.");
    }
    TreeModel(const TreeModel &) = delete;  // the tables point to the forest
    TreeModel &operator=(const TreeModel &) = delete;

    size_t used() const { return columns.size(); }

    // The cuts of such a column are between the codes of categories.
    void add_categories(const Ints &named, const Longs &start, const Doubles &names, const Bytes &codes) {
        NamedColumns known(named, start, names, codes);
        for (CodedColumn &column : columns)
            if (const CategoryCodes *own = known.find(column.feature))
                column.categories = own->changed([&](uint8_t code) { return column.code_of_number(code); });
    }

    void check_columns(int64_t n_features) const {
        require(last < n_features, "A feature number of the model is out of range.");
    }

private:
    static std::vector<double> checked_weights(const Forest &forest, const Doubles &weights) {
        require(weights.shape(0) == forest.size(), "weights must have one entry for each tree.");
        return copied(weights);
    }

    static CodedColumns checked_columns(const Ints &features, const Longs &cut_start, const Doubles &cuts) {
        size_t used = features.shape(0);
        const int64_t *start = cut_start.data();
        require(cut_start.shape(0) == used + 1 && start[0] == 0 && start[used] == static_cast<int64_t>(cuts.shape(0)) &&
                    std::is_sorted(start, start + used + 1),
                "cut_start must have one entry more than features, begin with 0, not decrease, and end with the number "
                "of cuts.");
        CodedColumns columns;
        for (size_t u = 0; u < used; ++u) {
            require(features.data()[u] >= 0, "A feature number of the model is out of range.");
            require(start[u + 1] - start[u] <= kMaxCuts, "A feature may have 254 cuts at most.");
            std::vector<double> own(cuts.data() + start[u], cuts.data() + start[u + 1]);
            bool ascend = own.empty() || own[0] == own[0];
            for (size_t k = 1; k < own.size(); ++k) ascend = ascend && own[k - 1] < own[k];
            require(ascend, "The cuts of a feature must ascend.");
            columns.push_back({features.data()[u], std::move(own)});
        }
        return columns;
    }
};

// The codes of one block, feature by feature.
class CodedBlock {
public:
    CodedBlock(const TreeModel &model, int64_t rows)
        : model_(model), length_(static_cast<size_t>(filled_up(static_cast<int>(std::min<int64_t>(rows, kTreeBlock))))),
          codes_(model.used() * length_), column_(model.used()), sums_(length_) {
        for (size_t u = 0; u < model.used(); ++u) column_[u] = column(u);
        if (rows > kFewRows) votes_.emplace(model.forest);
    }

    uint8_t *column(size_t u) { return codes_.data() + u * length_; }

    // A row's score has the same bits in every block: few rows are walked to the same bytes of votes.
    void scores(int n, double *out) {
        auto codes_of = [this](int i) { return [this, i](int32_t u) { return column_[static_cast<size_t>(u)][i]; }; };
        auto known = [this](int32_t u) { return model_.met_missing[static_cast<size_t>(u)] != 0; };
        if (votes_) {
            model_.tables.scores(*votes_, column_.data(), filled_up(n), sums_.data());
            std::copy_n(sums_.begin(), n, out);
        } else
            for (int i = 0; i < n; ++i) out[i] = model_.tables.score(codes_of(i));
        for (int i : surprising(n)) out[i] = model_.tables.walk(codes_of(i), known);
    }

private:
    const TreeModel &model_;
    std::optional<BlockVotes> votes_;
    size_t length_;
    std::vector<uint8_t> codes_;
    std::vector<const uint8_t *> column_;
    std::vector<double> sums_;

    // The rows with a missing value in a feature that had none missing in training.
    std::vector<int> surprising(int n) const {
        std::vector<int> rows;
        for (size_t u = 0; u < model_.used(); ++u)
            if (!model_.met_missing[u] && std::memchr(column_[u], kMissing, static_cast<size_t>(n)))
                for (int i = 0; i < n; ++i)
                    if (column_[u][i] == kMissing) rows.push_back(i);
        std::sort(rows.begin(), rows.end());
        rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
        return rows;
    }
};

// Calls code(block, first row, rows) and then scores, for all blocks.
template <class Code> void score_blocks(const TreeModel &model, int64_t rows, double *out, int threads,
                                        const Code &code) {
    threads = rows * static_cast<int64_t>(model.forest.size() + 1) < (1 << 16) ? 1 : threads;
    parallel(chunk_count(rows), threads, [&](int64_t chunk) {
        CodedBlock block(model, rows);
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

void score_dense(const TreeModel &model, const AnyMatrix &array, const Vector<double> &out, int threads) {
    Matrix x = view(array);
    model.check_columns(x.columns);
    check_room(out, x.rows, threads);
    nb::gil_scoped_release released;
    DenseCodes codes(model.columns, x);
    score_blocks(model, x.rows, out.data(), threads, [&](CodedBlock &block, int64_t first, int n) {
        codes.read(first, n, [&block](size_t u) { return block.column(u); });
    });
}

// ---- Sparse ----------------------------------------------------------------------------------------------------

template <class Index, class Value>
void score_sparse(const TreeModel &model, int64_t n_features, const Vector<const Index> &indptr,
                  const Vector<const Index> &indices, const Vector<const Value> &data, const Vector<double> &out,
                  int threads) {
    require(n_features >= 0 && n_features < (int64_t{1} << 31), "n_features must lie between 0 and 2^31 - 1.");
    model.check_columns(n_features);
    auto rows = static_cast<int64_t>(indptr.shape(0)) - 1, entries = static_cast<int64_t>(indices.shape(0));
    const Index *row_start = indptr.data(), *columns = indices.data();
    const Value *values = data.data();
    require(rows >= 0 && static_cast<int64_t>(data.shape(0)) == entries && row_start[0] == 0 &&
                static_cast<int64_t>(row_start[rows]) == entries && std::is_sorted(row_start, row_start + rows + 1),
            "indptr, indices and data do not fit together.");
    for (size_t u = 1; u < model.used(); ++u)
        require(model.columns[u - 1].feature < model.columns[u].feature, "The features of the model must ascend.");
    for (int64_t k = 0; k < entries; ++k)
        require(columns[k] >= 0 && columns[k] < n_features, "A column number of the sparse matrix is out of range.");
    check_room(out, rows, threads);
    nb::gil_scoped_release released;
    std::vector<uint8_t> at_zero;
    std::vector<int32_t> known;
    for (const CodedColumn &column : model.columns) {
        at_zero.push_back(column.code(0.0));
        known.push_back(column.feature);
    }
    score_blocks(model, rows, out.data(), threads, [&](CodedBlock &block, int64_t first, int n) {
        for (size_t u = 0; u < model.used(); ++u) std::memset(block.column(u), at_zero[u], static_cast<size_t>(n));
        for (int i = 0; i < n; ++i)
            for (int64_t k = row_start[first + i]; k < static_cast<int64_t>(row_start[first + i + 1]); ++k) {
                auto place = std::lower_bound(known.begin(), known.end(), static_cast<int32_t>(columns[k]));
                if (place == known.end() || *place != columns[k]) continue;
                size_t u = static_cast<size_t>(place - known.begin());
                block.column(u)[i] = model.columns[u].code(static_cast<double>(values[k]));
            }
    });
}

template <class Index, class Value> void bind_sparse(nb::class_<TreeModel> &predictor) {
    using namespace nb::literals;
    predictor.def("sparse", &score_sparse<Index, Value>, "n_features"_a, "indptr"_a, "indices"_a, "data"_a,
                  "out"_a.noconvert(), "threads"_a,
                  "The same for compressed rows without duplicates; what is not listed is zero.");
}

}  // namespace

void bind_tree_scores(nb::module_ &m) {
    using namespace nb::literals;
    auto predictor = nb::class_<TreeModel>(m, "TreePredictor", "A vote of trees, ready for raw values.");
    predictor.def(nb::init<const NodeGrid &, const Longs &, const Doubles &, const Ints &, const Longs &,
                           const Doubles &, const Bytes &>(),
                  "nodes"_a, "start"_a, "weights"_a, "features"_a, "cut_start"_a, "cuts"_a, "met_missing"_a);
    predictor.def("add_categories", &TreeModel::add_categories, "columns"_a, "start"_a, "names"_a, "codes"_a,
                  "What the codes of columns that hold categories are; any other value counts as missing.");
    predictor.def(
        "dense", &score_dense, "X"_a, "out"_a.noconvert(), "threads"_a,
        "out[i] = sum of weights[t] * vote of tree t on row i of X; a tree abstains on a value missing for the "
        "first time.");
    bind_sparse<int32_t, double>(predictor);
    bind_sparse<int64_t, double>(predictor);
    bind_sparse<int32_t, float>(predictor);
    bind_sparse<int64_t, float>(predictor);
}

}  // namespace dualboost
