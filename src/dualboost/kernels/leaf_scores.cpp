// A finished vote of real-valued trees on raw values. A few rows are walked: numbers are compared, categories are coded
// and looked up in masks. Many rows are coded in blocks, on which all splits work at once.
#include "leaf_blocks.hpp"
#include "row_codes.hpp"

#include <map>
#include <mutex>

namespace dualboost {

namespace {

struct RawNode {
    double number;  // the threshold of a split, the value of a leaf
    int32_t feature, left, right;
    int32_t mask = -1;  // of a split of categories, whose feature is the place of its column among those
    uint8_t missing_right;
};

// The same trees for blocks of rows.
class LeafBlocks {
public:
    // Of no use where a column has too many thresholds for a byte, or a tree too many leaves.
    LeafBlocks(const std::vector<RawNode> &nodes, const std::vector<int64_t> &roots, const NamedColumns &named)
        : nodes_(nodes) {
        useful_ = find_columns(named) &&
                  std::all_of(roots.begin(), roots.end(), [this](int64_t root) { return add_tree(root); });
    }

    bool useful() const { return useful_; }
    const CodedColumns &columns() const { return columns_; }
    const std::vector<LeafProgram> &trees() const { return trees_; }

private:
    const std::vector<RawNode> &nodes_;
    bool useful_;
    CodedColumns columns_;
    std::map<int32_t, size_t> numbers_, names_;  // the place of the column of a feature, and of one with categories
    std::vector<LeafProgram> trees_;

    bool find_columns(const NamedColumns &named) {
        std::map<int32_t, std::vector<double>> cuts;
        for (const RawNode &node : nodes_) {
            if (node.feature < 0) continue;
            if (node.mask >= 0) names_.emplace(node.feature, 0);
            else if (node.number == std::numeric_limits<double>::infinity()) cuts[node.feature];
            else cuts[node.feature].push_back(node.number);
        }
        for (auto &[feature, own] : cuts) {
            if (!std::all_of(own.begin(), own.end(), [](double cut) { return std::isfinite(cut); })) return false;
            std::sort(own.begin(), own.end());
            own.erase(std::unique(own.begin(), own.end()), own.end());
            if (own.size() > kMaxCuts) return false;
            numbers_[feature] = columns_.size();
            columns_.push_back({feature, own});
        }
        for (auto &[place, column] : names_) {
            column = columns_.size();
            auto c = static_cast<size_t>(place);
            columns_.push_back({named.columns[c], {}, named.categories[c]});
        }
        return true;
    }

    bool add_tree(int64_t root) {
        trees_.emplace_back();
        return add_side(root, trees_.back()) != kTooMany;
    }

    static constexpr int32_t kSplit = -1, kTooMany = -2;

    // The number of the leaf, or kSplit after the splits of this side are listed. As soon as there are more than a tree
    // can have here, or a path is longer, the rest is not looked at.
    int32_t add_side(int64_t at, LeafProgram &tree, size_t above = 0) {
        const RawNode &node = nodes_[static_cast<size_t>(at)];
        if (node.feature < 0) {
            if (tree.values.size() == kMostLeaves) return kTooMany;
            tree.values.push_back(node.number);
            return static_cast<int32_t>(tree.values.size()) - 1;
        }
        if (above == kMostLeaves) return kTooMany;
        int32_t left = add_side(node.left, tree, above + 1);
        int32_t right = left == kTooMany ? kTooMany : add_side(node.right, tree, above + 1);
        if (right == kTooMany) return kTooMany;
        tree.splits.push_back(split(node, left, right));
        return kSplit;
    }

    LeafSplit split(const RawNode &node, int32_t left, int32_t right) const {
        auto last = static_cast<uint8_t>(node.missing_right ? kMissing : kMissing - 1);
        if (node.mask >= 0) return {names_.at(node.feature), 0, last, node.mask, left, right};
        size_t column = numbers_.at(node.feature);
        const std::vector<double> &cuts = columns_[column].cuts;
        auto cut = std::lower_bound(cuts.begin(), cuts.end(), node.number) - cuts.begin();
        return {column, static_cast<uint8_t>(cut), last, -1, left, right};
    }
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
            last_ = std::max(last_, feature.data()[k]);
        }
        std::vector<bool> met(n);
        for (size_t t = 0; t < roots_.size(); ++t) {
            int64_t end = t + 1 < roots_.size() ? roots_[t + 1] : static_cast<int64_t>(n);
            require(roots_[t] >= 0 && roots_[t] < end && end <= static_cast<int64_t>(n), "A root is not a node.");
            check_tree(roots_[t], end, met);
        }
    }

    // The splits of categories: node k sends right the codes of masks[mask[k]] where mask[k] is not -1. The categories
    // of column columns[c] are names[start[c]] to names[start[c + 1]].
    void add_categories(const Ints &mask, const Grid<const uint8_t> &masks, const Ints &columns, const Longs &start,
                        const Doubles &names, const Bytes &codes) {
        require(named_.empty() && masks_.empty(), "The categories of these trees are known already.");
        require(mask.shape(0) == nodes_.size(), "mask must have one entry per node.");
        require(masks.shape(1) == sizeof(CodeMask), "masks must have 32 bytes each.");
        named_ = NamedColumns(columns, start, names, codes);
        if (!named_.empty()) last_ = std::max(last_, named_.columns.back());
        for (size_t k = 0; k < nodes_.size(); ++k) {
            int32_t number = mask.data()[k];
            require(number >= -1 && number < static_cast<int64_t>(masks.shape(0)),
                    "A node has a mask that is not there.");
            if (number >= 0) add_mask(nodes_[k], masks.data() + static_cast<size_t>(number) * sizeof(CodeMask));
        }
    }

    void scores(const AnyMatrix &array, const Vector<double> &out, int threads) const {
        Matrix x = view(array);
        require(last_ < x.columns, "A tree splits a feature that X does not have.");
        require(static_cast<int64_t>(out.shape(0)) == x.rows && threads >= 1, "out must have one entry per row of X");
        nb::gil_scoped_release release;
        if (x.rows > kFewRows && blocks().useful()) score_blocks(x, out.data(), threads);
        else over_chunks(x.rows, threads, [&](int64_t begin, int64_t end) { walk(x, begin, end, out.data()); });
    }

private:
    std::vector<int64_t> roots_;
    std::vector<RawNode> nodes_;
    std::vector<CodeMask> masks_;  // with the side of missing values
    NamedColumns named_;
    int32_t last_ = -1;  // the largest feature
    mutable std::once_flag asked_;
    mutable std::optional<LeafBlocks> blocks_;

    // Made where they are first needed: a single row has no use for them.
    const LeafBlocks &blocks() const {
        std::call_once(asked_, [this] { blocks_.emplace(nodes_, roots_, named_); });
        return *blocks_;
    }

    // Children come after their parent, and have no other: whoever follows all paths would never end.
    void check_tree(int64_t begin, int64_t end, std::vector<bool> &met) const {
        for (int64_t k = begin; k < end; ++k) {
            const RawNode &node = nodes_[static_cast<size_t>(k)];
            if (node.feature < 0) continue;
            for (int64_t child : {int64_t{node.left}, int64_t{node.right}}) {
                require(child > k && child < end, "A node of a tree points outside of it.");
                require(!met[static_cast<size_t>(child)], "A node of a tree is the child of two.");
                met[static_cast<size_t>(child)] = true;
            }
        }
    }

    template <class Work> static void over_chunks(int64_t rows, int threads, const Work &work) {
        parallel(chunk_count(rows), threads,
                 [&](int64_t chunk) { work(chunk * kChunk, std::min(rows, (chunk + 1) * kChunk)); });
    }

    // Tree by tree, as walks add them up: the bits do not depend on the way.
    void score_blocks(const Matrix &x, double *out, int threads) const {
        const LeafBlocks &ready = blocks();
        DenseCodes coded(ready.columns(), x);
        over_chunks(x.rows, threads, [&](int64_t begin, int64_t end) {
            BlockLeaves leaves(masks_);
            std::vector<uint8_t> room(ready.columns().size() * kLeafBlock);
            std::vector<const uint8_t *> codes;
            double sums[kLeafBlock];
            for (size_t u = 0; u < ready.columns().size(); ++u) codes.push_back(room.data() + u * kLeafBlock);
            for (; begin < end; begin += kLeafBlock) {
                int n = static_cast<int>(std::min<int64_t>(kLeafBlock, end - begin));
                coded.read(begin, n, [&](size_t u) { return room.data() + u * kLeafBlock; });
                std::fill_n(sums, filled_up(n), 0.0);
                for (const LeafProgram &tree : ready.trees()) leaves.add(tree, codes.data(), filled_up(n), sums);
                std::copy_n(sums, n, out + begin);
            }
        });
    }

    void walk(const Matrix &x, int64_t begin, int64_t end, double *out) const {
        std::vector<uint8_t> codes(named_.columns.size());
        std::vector<double> row(static_cast<size_t>(last_) + 1);
        for (int64_t i = begin; i < end; ++i) {
            for (int64_t j = 0; j <= last_; ++j) row[static_cast<size_t>(j)] = value_at(x, i, j);
            out[i] = score(row.data(), codes.data());
        }
    }

    void add_mask(RawNode &node, const uint8_t *bytes) {
        require(node.feature >= 0 && named_.find(node.feature),
                "A split has a mask, and its column holds no categories.");
        CodeMask mask;
        std::copy_n(bytes, sizeof(CodeMask), mask.begin());
        take_out(mask, kMissing);
        put_if(mask, kMissing, node.missing_right != 0);
        node.feature = static_cast<int32_t>(named_.find(node.feature) - named_.categories.data());
        node.mask = static_cast<int32_t>(masks_.size());
        masks_.push_back(mask);
    }

    bool goes_right(const RawNode &node, const double *x, const uint8_t *codes) const {
        if (node.mask >= 0) return holds(masks_[static_cast<size_t>(node.mask)], codes[node.feature]);
        double value = x[node.feature];
        return std::isnan(value) ? node.missing_right != 0 : value > node.number;
    }

    double score(const double *x, uint8_t *codes) const {
        for (size_t c = 0; c < named_.columns.size(); ++c) codes[c] = named_.categories[c].code(x[named_.columns[c]]);
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
