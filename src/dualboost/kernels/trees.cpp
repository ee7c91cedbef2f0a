// Decision trees on binned data: grown for the edge, or the best of all with two levels; their columns and margins.
#include "trees.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

namespace dualboost {

TreeSearch::TreeSearch(const StumpArrays &arrays, std::vector<uint8_t> categorical)
    : stored_(arrays), layout_(stored_, std::move(categorical)), contradictions_(layout_), weights_(stored_),
      grower_(layout_), polisher_(layout_) {}

// ---- The search --------------------

namespace {

template <class T> nb::object new_array(const char *dtype, size_t rows, size_t columns, const T *values) {
    nb::object shape = columns ? nb::object(nb::make_tuple(rows, columns)) : nb::object(nb::int_(rows));
    nb::object array = nb::module_::import_("numpy").attr("empty")(shape, dtype);
    Py_buffer view;
    if (PyObject_GetBuffer(array.ptr(), &view, PyBUF_WRITABLE) != 0) throw nb::python_error();
    if (view.len > 0) std::memcpy(view.buf, values, static_cast<size_t>(view.len));
    PyBuffer_Release(&view);
    return array;
}

// A node as a row of numbers: feature, cut and side of missing values, and its mask where there are any.
void append(const TreeNode &node, size_t width, std::vector<int32_t> &rows) {
    size_t at = rows.size();
    rows.resize(at + width);
    int32_t *row = &rows[at];
    row[0] = node.feature, row[1] = node.cut, row[2] = node.missing_right;
    if (width == Forest::kMasked) std::memcpy(row + Forest::kPlain, node.mask.data(), sizeof(CodeMask));
}

nb::tuple as_arrays(const std::vector<GrownTree> &trees, double bound, bool masks) {
    size_t width = masks ? Forest::kMasked : Forest::kPlain;
    std::vector<int32_t> nodes;
    std::vector<int64_t> start{0};
    std::vector<double> edges;
    for (const GrownTree &tree : trees) {
        for (const TreeNode &node : tree.nodes) append(node, width, nodes);
        start.push_back(static_cast<int64_t>(nodes.size() / width));
        edges.push_back(static_cast<double>(tree.edge) / kFixedOne);
    }
    return nb::make_tuple(new_array("int32", nodes.size() / width, width, nodes.data()),
                          new_array("int64", start.size(), 0, start.data()),
                          new_array("float64", edges.size(), 0, edges.data()), bound);
}

}  // namespace

nb::tuple TreeSearch::greedy(const Vector<const double> &d, std::pair<int, int64_t> most, bool polish, int64_t k,
                             int threads) {
    TreeLimits limits{most.first, most.second};
    check_question(d, k, threads);
    require(limits.depth >= 1 && limits.leaves >= 2, "a tree needs a depth of at least 1 and at least 2 leaves");
    require(limits.leaves <= static_cast<int64_t>(Forest::kDeepest), "a tree may have 1,024 leaves at most");
    std::vector<GrownTree> trees;
    double largest;
    Breakable call;
    {
        nb::gil_scoped_release release;
        std::lock_guard<std::mutex> lock(mutex_);
        weights_.load(d.data(), threads);
        trees = grower_.grow(weights_, limits, static_cast<size_t>(k), threads);
        for (GrownTree &tree : trees)
            if (polish && !limits.one_split()) tree = polisher_.polished(std::move(tree), weights_, threads);
        trees = in_order(std::move(trees));
        // One split: the best stump, which is known. Else: whatever contradictions leave.
        largest =
            bound(limits.one_split() ? grower_.largest_stump() : weights_.mass() - contradictions_.lost(weights_.q()));
    }
    return as_arrays(trees, largest, layout_.any_categories());
}

nb::tuple TreeSearch::optimal(const Vector<const double> &d, int64_t k, int threads) {
    check_question(d, k, threads);
    require(!layout_.any_categories(), "the optimal search is for thresholds, not for categories");
    std::vector<GrownTree> trees;
    double most;
    Breakable call;
    {
        nb::gil_scoped_release release;
        std::lock_guard<std::mutex> lock(mutex_);
        if (!pairs_) pairs_ = std::make_unique<PairSearch>(layout_);
        weights_.load(d.data(), threads);
        int64_t known = magnitude(grower_.grow(weights_, {2, 4}, 1, threads).front().edge);
        trees = pairs_->best(weights_, static_cast<size_t>(k), known, threads);
        most = bound(pairs_->largest());
    }
    return as_arrays(trees, most, false);
}

void TreeSearch::check_question(const Vector<const double> &d, int64_t k, int threads) const {
    require(static_cast<int64_t>(d.shape(0)) == stored_.rows(), "d must have n_rows entries");
    require(k >= 1, "k must be at least 1");
    require(threads >= 1, "threads must be at least 1");
}

// Each weight was rounded by at most half a unit; the next floats cover the rounding of this formula.
double TreeSearch::bound(int64_t largest) const {
    double fixed = static_cast<double>(largest) + static_cast<double>(stored_.rows() / 2 + 2);
    return std::nextafter(std::nextafter(fixed, HUGE_VAL), HUGE_VAL) / kFixedOne;
}

// ---- What trees say about rows --------------------

// The features that occur, by the numbers that the nodes then have.
std::vector<int32_t> TreeSearch::check_forest(Forest &forest) const {
    for (const TreeNode &node : forest.nodes())
        if (node.by_mask()) {
            require(static_cast<size_t>(node.feature) < stored_.features() &&
                        layout_.categorical(static_cast<size_t>(node.feature)),
                    "a mask needs a feature that holds categories");
            check_mask(stored_, static_cast<size_t>(node.feature), node.mask.data());
        } else if (!node.leaf()) {
            stored_.check({node.feature, node.cut, static_cast<uint8_t>(node.missing_right)});
        }
    return forest.number_features();
}

void TreeSearch::column(const NodeGrid &nodes, const Vector<int8_t> &out, int threads) const {
    Forest forest(nodes, {0, static_cast<int64_t>(nodes.shape(0))});
    std::vector<int32_t> used = check_forest(forest);
    require(static_cast<int64_t>(out.shape(0)) == stored_.rows(), "out must have n_rows entries");
    require(threads >= 1, "threads must be at least 1");
    int8_t *data = out.data();
    const int8_t *y = stored_.y();
    nb::gil_scoped_release release;
    over_blocks(layout_, used, 1, threads, [&] {
        return [&, votes = BlockVotes(forest)](int64_t begin, int n, const uint8_t *const *codes) mutable {
            uint8_t positive[kTreeBlock];
            votes.positive(0, codes, n, positive);
            for (int i = 0; i < n; ++i)
                data[begin + i] = static_cast<int8_t>(positive[i] ? y[begin + i] : -y[begin + i]);
        };
    });
}

void TreeSearch::margins(const NodeGrid &nodes, const Vector<const int64_t> &start, const Vector<const double> &weights,
                         const Vector<double> &out, int threads) const {
    Forest forest(nodes, start);
    std::vector<int32_t> used = check_forest(forest);
    require(weights.shape(0) == forest.size(), "weights must have one entry for each tree");
    require(static_cast<int64_t>(out.shape(0)) == stored_.rows(), "out must have n_rows entries");
    require(threads >= 1, "threads must be at least 1");
    double *data = out.data();
    const int8_t *y = stored_.y();
    Breakable call;
    nb::gil_scoped_release release;
    TreeTables tables(forest, weights.data());
    over_blocks(layout_, used, forest.size(), threads, [&] {
        return [&, votes = BlockVotes(forest)](int64_t begin, int n, const uint8_t *const *codes) mutable {
            tables.scores(votes, codes, n, data + begin);
            for (int i = 0; i < n; ++i) data[begin + i] *= y[begin + i];
        };
    });
}

// ---- Python --------------------

void bind_trees(nb::module_ &m) {
    nb::class_<TreeSearch>(m, "TreeSearch", "Decision trees with a large edge, for given row weights.")
        .def(
            "__init__",
            [](TreeSearch *self, int64_t n_rows, Vector<const int8_t> y, Vector<const int32_t> cut_counts,
               Vector<const uint8_t> has_missing, Grid<const uint8_t> dense_codes, Vector<const int32_t> dense_features,
               Vector<const int64_t> sparse_start, Vector<const int32_t> sparse_rows,
               Vector<const uint8_t> sparse_codes, Vector<const int32_t> sparse_features,
               Vector<const uint8_t> sparse_default, std::optional<Vector<const uint8_t>> categorical) {
                std::vector<uint8_t> names;
                if (categorical) names.assign(categorical->data(), categorical->data() + categorical->shape(0));
                StumpArrays arrays{
                    n_rows,       y,           cut_counts,   has_missing,     dense_codes,   dense_features,
                    sparse_start, sparse_rows, sparse_codes, sparse_features, sparse_default};
                nb::gil_scoped_release release;
                new (self) TreeSearch(arrays, std::move(names));
            },
            nb::arg("n_rows"), nb::arg("y").noconvert(), nb::arg("cut_counts").noconvert(),
            nb::arg("has_missing").noconvert(), nb::arg("dense_codes").noconvert(),
            nb::arg("dense_features").noconvert(), nb::arg("sparse_start").noconvert(),
            nb::arg("sparse_rows").noconvert(), nb::arg("sparse_codes").noconvert(),
            nb::arg("sparse_features").noconvert(), nb::arg("sparse_default").noconvert(),
            nb::arg("categorical").noconvert() = nb::none())
        .def("greedy", &TreeSearch::greedy, nb::arg("d").noconvert(), nb::arg("most"), nb::arg("polish") = false,
             nb::arg("k") = 1, nb::arg("threads") = 1,
             "(nodes, start, signed edges, bound): trees of the most (depth, leaves), for the k best features at the "
             "root.")
        .def("optimal", &TreeSearch::optimal, nb::arg("d").noconvert(), nb::arg("k") = 1, nb::arg("threads") = 1,
             "The same for trees of two levels: the best of all, and of each of the k best features at the root.")
        .def("column", &TreeSearch::column, nb::arg("nodes").noconvert(), nb::arg("out").noconvert(),
             nb::arg("threads") = 1, "out_i = y_i h(x_i) of one tree.")
        .def("margins", &TreeSearch::margins, nb::arg("nodes").noconvert(), nb::arg("start").noconvert(),
             nb::arg("weights").noconvert(), nb::arg("out").noconvert(), nb::arg("threads") = 1,
             "out_i = sum of w_t y_i h_t(x_i).")
        .def_prop_ro("contradictions", &TreeSearch::contradictions,
                     "Rows that share their codes with one of the other label.");
}

}  // namespace dualboost
