// A finished vote of real-valued trees on raw values: numbers are compared, categories are coded and looked up in
// masks.
#include "code_mask.hpp"
#include "search.hpp"

namespace dualboost {

namespace {

// The categories of one column, ascending, with the code of each. What is none of them counts as missing.
class CategoryCodes {
public:
    CategoryCodes(const double *names, const uint8_t *codes, int64_t count)
        : names_(names, names + count), codes_(codes, codes + count) {
        for (size_t k = 0; k < names_.size(); ++k)
            require(
                names_[k] >= (k ? names_[k - 1] + 1 : 0.0) && names_[k] < kMost && names_[k] == std::floor(names_[k]),
                "Categories must be whole numbers from 0 on that ascend.");
        if (names_.empty() || names_.back() >= kTable) return;
        table_.assign(static_cast<size_t>(names_.back()) + 1, kMissing);
        for (size_t k = 0; k < names_.size(); ++k) table_[static_cast<size_t>(names_[k])] = codes_[k];
    }

    uint8_t code(double x) const {
        if (names_.empty() || !(x >= 0 && x <= names_.back())) return kMissing;
        if (!table_.empty()) {
            auto whole = static_cast<size_t>(x);
            return static_cast<double>(whole) == x ? table_[whole] : kMissing;
        }
        auto found = std::lower_bound(names_.begin(), names_.end(), x);
        return *found == x ? codes_[static_cast<size_t>(found - names_.begin())] : kMissing;
    }

private:
    static constexpr double kMost = 2147483648.0, kTable = 4096;  // below kTable, a table takes the place of a search
    std::vector<double> names_;
    std::vector<uint8_t> codes_, table_;
};

struct RawNode {
    double number;  // the threshold of a split, the value of a leaf
    int32_t feature, left, right;
    int32_t mask = -1;  // of a split of categories, whose feature is the place of its column among those
    uint8_t missing_right;
};

// A vote of trees, checked once for many calls.
class LeafPredictor {
public:
    LeafPredictor(const Ints &feature, const Doubles &threshold, const Bytes &missing_right, const Ints &left,
                  const Ints &right, const Doubles &value, const Longs &roots)
        : roots_(roots.data(), roots.data() + roots.shape(0)), nodes_(feature.shape(0)) {
        size_t n = nodes_.size();
        require(threshold.shape(0) == n && missing_right.shape(0) == n && left.shape(0) == n && right.shape(0) == n &&
                    value.shape(0) == n,
                "Trees have one entry per node in each of their arrays.");
        for (size_t k = 0; k < n; ++k) {
            bool leaf = feature.data()[k] < 0;
            nodes_[k] = {leaf ? value.data()[k] : threshold.data()[k],
                         feature.data()[k],
                         left.data()[k],
                         right.data()[k],
                         -1,
                         missing_right.data()[k]};
            auto in_order = [&](int32_t child) {
                return child > static_cast<int32_t>(k) && child < static_cast<int32_t>(n);
            };
            require(leaf || (in_order(nodes_[k].left) && in_order(nodes_[k].right)),
                    "A node of a tree points outside of it.");
            last_ = std::max(last_, feature.data()[k]);
        }
        for (int64_t root : roots_) require(root >= 0 && root < static_cast<int64_t>(n), "A root is not a node.");
    }

    // The splits of categories: node k sends right the codes of masks[mask[k]] where mask[k] is not -1. The categories
    // of column columns[c] are names[start[c]] to names[start[c + 1]].
    void add_categories(const Ints &mask, const Grid<const uint8_t> &masks, const Ints &columns, const Longs &start,
                        const Doubles &names, const Bytes &codes) {
        require(columns_.empty() && masks_.empty(), "The categories of these trees are known already.");
        require(mask.shape(0) == nodes_.size(), "mask must have one entry per node.");
        require(masks.shape(1) == sizeof(CodeMask), "masks must have 32 bytes each.");
        add_columns(columns, start, names, codes);
        for (size_t k = 0; k < nodes_.size(); ++k) {
            int32_t number = mask.data()[k];
            require(number >= -1 && number < static_cast<int64_t>(masks.shape(0)),
                    "A node has a mask that is not there.");
            if (number >= 0) add_mask(nodes_[k], masks.data() + static_cast<size_t>(number) * sizeof(CodeMask));
        }
    }

    void scores(const Grid<const double> &X, const Vector<double> &out, int threads) const {
        auto rows = static_cast<int64_t>(X.shape(0)), features = static_cast<int64_t>(X.shape(1));
        require(last_ < features, "A tree splits a feature that X does not have.");
        require(static_cast<int64_t>(out.shape(0)) == rows && threads >= 1, "out must have one entry per row of X");
        nb::gil_scoped_release release;
        parallel(chunk_count(rows), rows < kChunk ? 1 : threads, [&](int64_t chunk) {
            std::vector<uint8_t> codes(columns_.size());
            for (int64_t i = chunk * kChunk; i < std::min(rows, (chunk + 1) * kChunk); ++i)
                out.data()[i] = score(X.data() + i * features, codes.data());
        });
    }

private:
    std::vector<int64_t> roots_;
    std::vector<RawNode> nodes_;
    std::vector<CodeMask> masks_;  // with the side of missing values
    std::vector<int32_t> columns_;
    std::vector<CategoryCodes> categories_;
    int32_t last_ = -1;  // the largest feature

    void add_columns(const Ints &columns, const Longs &start, const Doubles &names, const Bytes &codes) {
        size_t count = columns.shape(0);
        require(start.shape(0) == count + 1 && start.data()[0] == 0 &&
                    std::is_sorted(start.data(), start.data() + count + 1) &&
                    start.data()[count] == static_cast<int64_t>(names.shape(0)) && codes.shape(0) == names.shape(0),
                "The categories do not fit to their columns.");
        for (size_t c = 0; c < count; ++c) {
            int64_t first = start.data()[c];
            require(columns.data()[c] >= (c ? columns.data()[c - 1] + 1 : 0), "The columns of categories must ascend.");
            categories_.emplace_back(names.data() + first, codes.data() + first, start.data()[c + 1] - first);
            last_ = std::max(last_, columns.data()[c]);
        }
        columns_.assign(columns.data(), columns.data() + count);
    }

    void add_mask(RawNode &node, const uint8_t *bytes) {
        auto column = std::lower_bound(columns_.begin(), columns_.end(), node.feature);
        require(node.feature >= 0 && column != columns_.end() && *column == node.feature,
                "A split has a mask, and its column holds no categories.");
        CodeMask mask;
        std::copy_n(bytes, sizeof(CodeMask), mask.begin());
        take_out(mask, kMissing);
        put_if(mask, kMissing, node.missing_right != 0);
        node.feature = static_cast<int32_t>(column - columns_.begin());
        node.mask = static_cast<int32_t>(masks_.size());
        masks_.push_back(mask);
    }

    bool goes_right(const RawNode &node, const double *x, const uint8_t *codes) const {
        if (node.mask >= 0) return holds(masks_[static_cast<size_t>(node.mask)], codes[node.feature]);
        double value = x[node.feature];
        return std::isnan(value) ? node.missing_right != 0 : value > node.number;
    }

    double score(const double *x, uint8_t *codes) const {
        for (size_t c = 0; c < columns_.size(); ++c) codes[c] = categories_[c].code(x[columns_[c]]);
        double sum = 0;
        for (int64_t root : roots_) {
            const RawNode *node = &nodes_[static_cast<size_t>(root)];
            while (node->feature >= 0)
                node = &nodes_[static_cast<size_t>(goes_right(*node, x, codes) ? node->right : node->left)];
            sum += node->number;
        }
        return sum;
    }
};

}  // namespace

void bind_leaf_scores(nb::module_ &m) {
    using namespace nb::literals;
    nb::class_<LeafPredictor>(m, "LeafPredictor", "A vote of trees with real leaves, ready for raw values.")
        .def(nb::init<const Ints &, const Doubles &, const Bytes &, const Ints &, const Ints &, const Doubles &,
                      const Longs &>(),
             "feature"_a, "threshold"_a, "missing_right"_a, "left"_a, "right"_a, "value"_a, "roots"_a)
        .def("add_categories", &LeafPredictor::add_categories, "mask"_a, "masks"_a, "columns"_a, "start"_a, "names"_a,
             "codes"_a, "Which nodes split categories by which mask of codes, and what the codes of each column are.")
        .def("scores", &LeafPredictor::scores, "X"_a, "out"_a.noconvert(), "threads"_a,
             "out[i] = the sum of what the trees say about row i of X.");
}

}  // namespace dualboost
