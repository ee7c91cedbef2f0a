// Real-valued trees: growing one for given row weights, reading it on binned rows.
#include "leaf_rounds.hpp"
#include "leaf_trees.hpp"
#include "search.hpp"

#include <mutex>

namespace dualboost {

namespace {

constexpr double kFixed = 1152921504606846976.0;  // 2^60: sums of numbers of total size 1 stay below 2^61

// A leaf that holds exactly the least share must not fail by the rounding of its rows.
int64_t fixed_least(double least) { return static_cast<int64_t>(least * (1 - 1e-9) * kFixed); }

template <class T> nb::object new_vector(const char *dtype, const std::vector<T> &values) {
    nb::object vector = nb::module_::import_("numpy").attr("empty")(values.size(), dtype);
    Py_buffer view;
    if (PyObject_GetBuffer(vector.ptr(), &view, PyBUF_WRITABLE) != 0) throw nb::python_error();
    if (!values.empty()) std::memcpy(view.buf, values.data(), values.size() * sizeof(T));
    PyBuffer_Release(&view);
    return vector;
}

nb::tuple exported(const std::vector<LeafNode> &nodes) {
    std::vector<int32_t> feature, cut, left, right;
    std::vector<uint8_t> missing, masks;
    std::vector<double> value;
    bool any = std::any_of(nodes.begin(), nodes.end(), [](const LeafNode &node) { return node.cut == kByMask; });
    for (const LeafNode &node : nodes) {
        feature.push_back(node.feature);
        cut.push_back(node.cut);
        missing.push_back(node.missing_right);
        left.push_back(node.left);
        right.push_back(node.right);
        value.push_back(node.value);
        if (any) masks.insert(masks.end(), node.mask.begin(), node.mask.end());
    }
    return nb::make_tuple(new_vector("int32", feature), new_vector("int32", cut), new_vector("uint8", missing),
                          new_vector("int32", left), new_vector("int32", right), new_vector("float64", value),
                          new_vector("uint8", masks).attr("reshape")(-1, sizeof(CodeMask)));
}

using Masks = Grid<const uint8_t>;

// A split of categories has a mask of their codes, any other split has a cut.
void check_split(const LeafTable &table, const LeafNode &node, bool masked) {
    auto f = static_cast<size_t>(node.feature);
    require((node.cut == kByMask) == (table.named[f] != 0) && (masked || node.cut != kByMask),
            "A split of categories needs a mask, and any other split a cut.");
    for (int code = table.cuts[f] + 1; code < kCodes; ++code)
        require(!holds(node.mask, code), "A mask holds a code that its feature does not have.");
}

// Children come after their parent, so every walk ends.
std::vector<LeafNode> imported(const LeafTable &table, const Ints &feature, const Ints &cut, const Bytes &missing_right,
                               const Ints &left, const Ints &right, const Doubles &value, const Masks &masks) {
    size_t n = feature.shape(0);
    require(n >= 1 && cut.shape(0) == n && missing_right.shape(0) == n && left.shape(0) == n && right.shape(0) == n &&
                value.shape(0) == n,
            "A tree has one entry per node in each of its arrays.");
    bool masked = masks.shape(0) == n;
    require(masks.shape(1) == sizeof(CodeMask) && (masked || masks.shape(0) == 0),
            "masks must have 32 bytes per node, or no row where no split is one of categories.");
    std::vector<LeafNode> nodes(n);
    for (size_t k = 0; k < n; ++k) {
        nodes[k] = {feature.data()[k],
                    cut.data()[k],
                    left.data()[k],
                    right.data()[k],
                    missing_right.data()[k],
                    value.data()[k],
                    {}};
        if (nodes[k].feature < 0) continue;
        auto in_order = [&](int32_t child) {
            return child > static_cast<int32_t>(k) && child < static_cast<int32_t>(n);
        };
        require(nodes[k].feature < table.features && in_order(nodes[k].left) && in_order(nodes[k].right),
                "A node of the tree points outside of it, or to a feature that does not exist.");
        if (masked) std::memcpy(nodes[k].mask.data(), masks.data() + k * sizeof(CodeMask), sizeof(CodeMask));
        check_split(table, nodes[k], masked);
    }
    return nodes;
}

class LeafSearch {
public:
    LeafSearch(const Grid<const uint8_t> &codes, const Ints &cut_counts, const Bytes &categorical) {
        table_.rows = static_cast<int64_t>(codes.shape(0));
        table_.features = static_cast<int64_t>(codes.shape(1));
        require(table_.rows >= 1 && table_.rows < (int64_t{1} << 31), "codes must have between 1 and 2^31 - 1 rows");
        require(static_cast<int64_t>(cut_counts.shape(0)) == table_.features,
                "cut_counts must have one entry per feature");
        table_.codes.assign(codes.data(), codes.data() + codes.size());
        table_.cuts.assign(cut_counts.data(), cut_counts.data() + table_.features);
        require(categorical.shape(0) == table_.cuts.size(), "categorical must have one entry per feature");
        table_.named.assign(categorical.data(), categorical.data() + categorical.shape(0));
        table_.start.assign(1, 0);
        for (int32_t cuts : table_.cuts) {
            require(cuts >= 0 && cuts < kMissing, "A feature has between 0 and 254 cuts");
            table_.start.push_back(table_.start.back() + cuts + 2);
        }
        for (size_t k = 0; k < table_.codes.size(); ++k) {
            int32_t cuts = table_.cuts[k % static_cast<size_t>(table_.features)];
            require(table_.codes[k] == kMissing || table_.codes[k] <= cuts, "A code exceeds the cuts of its feature");
            if (table_.codes[k] == kMissing) table_.codes[k] = static_cast<uint8_t>(cuts + 1);
        }
        growth_ = std::make_unique<LeafGrowth>(table_);
    }

    nb::tuple grow(const Doubles &g, const Doubles &h, int64_t leaves, double least, double ridge, double features,
                   uint64_t seed, double row) {
        check_rows(g.shape(0));
        check_rows(h.shape(0));
        require(leaves >= 1, "leaves must be at least 1");
        require(least >= 0 && least <= 1 && ridge >= 0, "least must lie in [0, 1] and ridge must not be negative");
        require(features > 0, "features is a share of the features above 0");
        require(row >= 0 && row <= 1, "row is a share of h in [0, 1]");
        std::unique_lock<std::mutex> lock(mutex_, std::defer_lock);
        const std::vector<LeafNode> *nodes = nullptr;
        Breakable call;
        {
            nb::gil_scoped_release release;
            lock.lock();
            fixed(g.data(), -1, g_);
            fixed(h.data(), 0, h_);
            LeafLimits limits{leaves, fixed_least(least), ridge * kFixed, features, seed, row * kFixed};
            nodes = &growth_->grow(g_.data(), h_.data(), limits);
        }
        return exported(*nodes);
    }

    // Rounds of leveraging on the difference of logistic losses, one tree a round; see leaf_rounds.hpp.
    nb::tuple rounds(const Vector<const int8_t> &y, const Doubles &prior, const Vector<double> &z, double mu,
                     double shrink, const Grid<double> &path, int64_t leaves, double least, double features,
                     uint64_t seed, bool newton, double row) {
        check_rows(y.shape(0));
        check_rows(prior.shape(0));
        check_rows(z.shape(0));
        check_rows(path.shape(1));
        auto count = static_cast<int64_t>(path.shape(0));
        require(mu > 0 && shrink > 0 && shrink <= 1, "mu must be positive and shrink in (0, 1]");
        require(leaves >= 1 && least >= 0 && least <= 1 && features > 0, "leaves, least or features is out of range");
        require(row >= 0 && row <= 1, "row is a share of h in [0, 1]");
        for (size_t i = 0; i < y.shape(0); ++i)
            require(std::abs(y.data()[i]) == 1 && std::isfinite(z.data()[i]), "y must be +1 or -1 and z finite");
        std::unique_lock<std::mutex> lock(mutex_, std::defer_lock);
        std::vector<LeafNode> trees;
        std::vector<int32_t> sizes;
        std::vector<double> amounts, losses;
        Breakable call;
        {
            nb::gil_scoped_release release;
            lock.lock();
            fixed(prior.data(), 0, h_);
            g_.resize(h_.size());
            LeafLimits limits{leaves, fixed_least(least), 0.0, features, seed, row * kFixed};
            LeafRounds run(table_, *growth_, {y.data(), prior.data(), z.data(), mu, shrink, kFixed, newton});
            for (int64_t t = 0; t < count && run.play(g_, h_, limits); ++t) {
                trees.insert(trees.end(), run.tree().begin(), run.tree().end());
                sizes.push_back(static_cast<int32_t>(run.tree().size()));
                amounts.push_back(run.amount());
                losses.push_back(run.loss());
                std::copy_n(z.data(), table_.rows, path.data() + t * table_.rows);
            }
        }
        return nb::make_tuple(exported(trees), new_vector("int32", sizes), new_vector("float64", amounts),
                              new_vector("float64", losses));
    }

    void values(const Ints &feature, const Ints &cut, const Bytes &missing_right, const Ints &left, const Ints &right,
                const Doubles &value, const Masks &masks, const Vector<double> &out) const {
        check_rows(out.shape(0));
        auto nodes = imported(table_, feature, cut, missing_right, left, right, value, masks);
        nb::gil_scoped_release release;
        for (int64_t i = 0; i < table_.rows; ++i) out.data()[i] = leaf_value(table_, nodes.data(), table_.row(i));
    }

private:
    LeafTable table_;
    std::unique_ptr<LeafGrowth> growth_;
    std::vector<int64_t> g_, h_;
    std::mutex mutex_;

    void check_rows(size_t n) const { require(static_cast<int64_t>(n) == table_.rows, "One entry per row is needed"); }
    void fixed(const double *x, double least, std::vector<int64_t> &out) const {
        out.resize(static_cast<size_t>(table_.rows));
        for (size_t i = 0; i < out.size(); ++i) {
            require(x[i] >= least && x[i] <= 1,
                    "g must lie within [-1, 1] and h within [0, 1]; scale them to a total size of 1");
            out[i] = std::llrint(x[i] * kFixed);
        }
    }
};

}  // namespace

void bind_leaf_trees(nb::module_ &m) {
    using namespace nb::literals;
    nb::class_<LeafSearch>(m, "LeafSearch")
        .def(nb::init<const Grid<const uint8_t> &, const Ints &, const Bytes &>(), "codes"_a, "cut_counts"_a,
             "categorical"_a)
        .def("grow", &LeafSearch::grow, "g"_a, "h"_a, "leaves"_a, "least"_a, "ridge"_a, "features"_a, "seed"_a,
             "row"_a = 0.0,
             "The greedy tree for sums of g^2 / (h + ridge); (feature, cut, missing_right, left, right, value, masks).")
        .def("rounds", &LeafSearch::rounds, "y"_a, "prior"_a, "z"_a.noconvert(), "mu"_a, "shrink"_a,
             "path"_a.noconvert(), "leaves"_a, "least"_a, "features"_a, "seed"_a, "newton"_a = true, "row"_a = 0.0,
             "Rounds of leveraging, one tree each: (trees, nodes of each, weight of each, loss after each). Moves the "
             "margins z of all rows and writes them after each round to a row of path, which says how many rounds; "
             "rows of prior 0 are only told the votes.")
        .def("values", &LeafSearch::values, "feature"_a, "cut"_a, "missing_right"_a, "left"_a, "right"_a, "value"_a,
             "masks"_a, "out"_a.noconvert(), "What a tree says about each row.");
}

}  // namespace dualboost
