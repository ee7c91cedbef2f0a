// Growing a tree for the edge: best node first, rows parted at each split, the larger side's histogram by subtraction.
#pragma once

#include "tree_split.hpp"

namespace dualboost {

struct TreeLimits {
    int depth;  // splits on a path
    int64_t leaves;  // in all

    bool only_depth() const { return depth < 62 && (int64_t{1} << depth) <= leaves; }
    bool one_split() const { return depth == 1 || leaves == 2; }
};

struct GrownTree {
    std::vector<TreeNode> nodes;  // in preorder; the first leaf votes -1, unless the tree is the constant +1
    int64_t edge = 0;  // signed

    void turn() {
        for (TreeNode &node : nodes)
            if (node.leaf()) node.cut = -node.cut;
        edge = -edge;
    }

    void turn_first_leaf() {
        auto first = std::find_if(nodes.begin(), nodes.end(), [](const TreeNode &node) { return node.leaf(); });
        if (first->vote() != (nodes.size() == 1 ? 1 : -1)) turn();
    }

    bool same(const GrownTree &other) const {
        auto equal = [](const TreeNode &x, const TreeNode &y) {
            return x.feature == y.feature && x.cut == y.cut && x.missing_right == y.missing_right && x.mask == y.mask;
        };
        return std::equal(nodes.begin(), nodes.end(), other.nodes.begin(), other.nodes.end(), equal);
    }
};

// The first stays first: it is the answer whatever k is. The others follow by their edges, each once.
inline std::vector<GrownTree> in_order(std::vector<GrownTree> trees) {
    std::vector<GrownTree> kept;
    for (GrownTree &tree : trees)
        if (std::none_of(kept.begin(), kept.end(), [&](const GrownTree &known) { return known.same(tree); }))
            kept.push_back(std::move(tree));
    std::stable_sort(kept.begin() + 1, kept.end(),
                     [](const GrownTree &a, const GrownTree &b) { return magnitude(a.edge) > magnitude(b.edge); });
    return kept;
}

// A node while the tree grows. Its rows are at [begin, begin + positives + negatives) of the buffer of its depth.
struct GrowingNode {
    LabelSums sums;
    int depth = 0;
    int64_t begin = 0, positives = 0, negatives = 0;
    std::vector<int64_t> cells;  // empty where they are no longer needed
    Split plan;  // to go on below
    Split twig;  // to end with
    int32_t left = -1, right = -1;
    bool ends_in_twig = false;

    bool tip() const { return left < 0; }
};

class TreeGrower {
public:
    explicit TreeGrower(const TreeLayout &layout) : layout_(layout), histograms_(layout), finder_(layout) {
        size_t rows = static_cast<size_t>(layout.layout.rows());
        for (Buffer &buffer : buffers_) buffer.resize(rows);
        spare_.resize(rows);
    }

    // Up to k trees, of the k best features at the root.
    std::vector<GrownTree> grow(const FixedWeights &weights, TreeLimits limits, size_t k, int threads) {
        limits_ = limits;
        threads_ = threads;
        plant(weights);
        std::vector<Split> roots;
        if (k > 1 && !root_.sums.pure()) roots = finder_.best_features(k, !limits_.one_split());
        std::vector<GrownTree> trees{grow_from(limits_.one_split() ? root_.twig : root_.plan)};
        for (const Split &root : roots) trees.push_back(grow_from(root));
        trees = in_order(std::move(trees));
        if (trees.size() > k) trees.resize(k);
        return trees;
    }

    // The largest |edge| that one split has.
    int64_t largest_stump() const { return largest_stump_; }

private:
    struct Buffer {
        std::vector<int32_t> rows;
        std::vector<int64_t> weights;
        void resize(size_t n) { rows.resize(n), weights.resize(n); }
    };

    const TreeLayout &layout_;
    TreeHistograms histograms_;
    SplitFinder finder_;
    TreeLimits limits_{1, 2};
    int threads_ = 1;
    int64_t largest_stump_ = 0;
    Buffer buffers_[3], spare_;  // of the root, of odd and of even depths
    std::vector<uint8_t> column_;
    GrowingNode root_;
    std::vector<GrowingNode> nodes_;
    std::vector<std::vector<int64_t>> free_;

    Buffer &buffer(int depth) { return buffers_[depth == 0 ? 0 : 1 + depth % 2]; }

    NodeRows rows_of(const GrowingNode &node) {
        const Buffer &from = buffer(node.depth);
        return {from.rows.data() + node.begin, from.weights.data() + node.begin, node.positives, node.negatives};
    }

    // ---- the root --------------------

    // Rows without weight change nothing and are left out.
    void plant(const FixedWeights &weights) {
        int64_t all = 0, mass[2] = {0, 0}, count[2] = {0, 0};
        Buffer &root = buffers_[0];
        const int64_t *q = weights.q();
        const int8_t *y = layout_.layout.y();
        for (int32_t row : layout_.by_label()) {
            int64_t weight = magnitude(q[row]);
            size_t label = y[row] > 0 ? 0 : 1;
            root.rows[static_cast<size_t>(all)] = row;
            root.weights[static_cast<size_t>(all)] = weight;
            all += weight != 0;
            count[label] += weight != 0;
            mass[label] += weight;
        }
        give_cells(root_);
        root_ = GrowingNode{};
        root_.sums = {mass[0], mass[1]};
        root_.positives = count[0];
        root_.negatives = count[1];
        root_.cells = take_cells();
        histograms_.fill(rows_of(root_), root_.cells.data(), threads_);
        look(root_);
        largest_stump_ = root_.sums.pure() ? root_.sums.mass() : finder_.largest_edge();
    }

    // ---- growth --------------------

    GrownTree grow_from(const Split &root_split) {
        nodes_.clear();
        nodes_.push_back(GrowingNode{});
        GrowingNode &root = nodes_.front();
        root.sums = root_.sums;
        root.positives = root_.positives;
        root.negatives = root_.negatives;
        (limits_.one_split() ? root.twig : root.plan) = root_split;
        if (!limits_.one_split()) root.twig = root_.twig;
        for (int64_t leaves = 1; leaves < limits_.leaves; ++leaves) {
            int32_t next = best_tip();
            if (next < 0) break;
            develop(next);
            Breakable::look_up();
        }
        for (GrowingNode &node : nodes_) give_cells(node);
        return written();
    }

    bool last_split(const GrowingNode &node) const { return limits_.one_split() || node.depth + 1 == limits_.depth; }

    bool can_develop(const GrowingNode &node) const {
        if (!node.tip() || node.ends_in_twig || node.depth >= limits_.depth) return false;
        return last_split(node) ? node.twig.exists() : node.plan.exists();
    }

    // The tip that gains most by the criterion; where all may develop, the order does not matter.
    int32_t best_tip() const {
        int32_t best = -1;
        double most = -HUGE_VAL;
        for (size_t j = 0; j < nodes_.size(); ++j) {
            if (!can_develop(nodes_[j])) continue;
            if (limits_.only_depth()) return static_cast<int32_t>(j);
            if (nodes_[j].plan.gain > most + static_cast<double>(kTie)) {
                most = nodes_[j].plan.gain;
                best = static_cast<int32_t>(j);
            }
        }
        return best;
    }

    void develop(int32_t number) {
        if (last_split(nodes_[static_cast<size_t>(number)])) {
            nodes_[static_cast<size_t>(number)].ends_in_twig = true;
            return;
        }
        GrowingNode left, right;
        part(nodes_[static_cast<size_t>(number)], left, right);
        if (left.depth < limits_.depth) sum_and_look(nodes_[static_cast<size_t>(number)], left, right);
        give_cells(nodes_[static_cast<size_t>(number)]);
        nodes_[static_cast<size_t>(number)].left = static_cast<int32_t>(nodes_.size());
        nodes_[static_cast<size_t>(number)].right = static_cast<int32_t>(nodes_.size()) + 1;
        nodes_.push_back(std::move(left));
        nodes_.push_back(std::move(right));
    }

    // The histograms of both children: the one with fewer rows is summed, the other is what is left.
    void sum_and_look(const GrowingNode &parent, GrowingNode &left, GrowingNode &right) {
        const std::vector<int64_t> &whole = parent.depth == 0 ? root_.cells : parent.cells;
        bool left_first = left.positives + left.negatives <= right.positives + right.negatives;
        GrowingNode &fewer = left_first ? left : right, &more = left_first ? right : left;
        fewer.cells = take_cells();
        more.cells = take_cells();
        histograms_.fill(rows_of(fewer), fewer.cells.data(), threads_);
        histograms_.subtract(whole.data(), fewer.cells.data(), more.cells.data());
        for (GrowingNode *node : {&left, &right}) {
            look(*node);
            if (last_split(*node)) give_cells(*node);
        }
    }

    // Plans the node's split. A last split needs the criterion only to compete for the leaves that are left.
    void look(GrowingNode &node) {
        if (node.sums.pure()) return;
        bool criterion = !last_split(node) || !limits_.only_depth();
        finder_.scan(node.cells.data(), node.sums, criterion, threads_);
        node.twig = finder_.by_edge();
        if (criterion) node.plan = finder_.by_criterion();
    }

    // ---- rows --------------------

    void part(const GrowingNode &parent, GrowingNode &left, GrowingNode &right) {
        TreeNode split = parent.plan.node();
        int64_t all = layout_.layout.rows();
        column_.resize(static_cast<size_t>(all));
        const uint8_t *codes = layout_.codes(static_cast<size_t>(split.feature), 0, all, column_.data());
        NodeRows from = rows_of(parent);
        Buffer &to = buffer(parent.depth + 1);
        int64_t l = parent.begin, r = 0;
        part_rows(from, 0, from.positives, codes, split, to, l, r);
        left.positives = l - parent.begin;
        right.positives = r;
        part_rows(from, from.positives, from.size(), codes, split, to, l, r);
        left.negatives = l - parent.begin - left.positives;
        right.negatives = r - right.positives;
        std::copy_n(spare_.rows.begin(), r, to.rows.begin() + l);
        std::copy_n(spare_.weights.begin(), r, to.weights.begin() + l);
        left.begin = parent.begin;
        right.begin = l;
        left.depth = right.depth = parent.depth + 1;
        left.sums = parent.plan.left;
        right.sums = parent.sums - parent.plan.left;
    }

    void part_rows(const NodeRows &from, int64_t begin, int64_t end, const uint8_t *codes, const TreeNode &split,
                   Buffer &to, int64_t &l, int64_t &r) {
        if (split.by_mask()) {
            uint8_t side[kCodes];
            for (int code = 0; code < kCodes; ++code) side[code] = holds(split.mask, code) ? 1 : 0;
            part_run(from, begin, end, codes, [&side](uint8_t code) { return int64_t{side[code]}; }, to, l, r);
        } else {
            uint8_t cut = static_cast<uint8_t>(split.cut), last = split.last();
            auto above = [cut, last](uint8_t code) { return int64_t{(code > cut) & (code <= last)}; };
            part_run(from, begin, end, codes, above, to, l, r);
        }
    }

    // Rows that go left follow each other at `l`, those that go right wait in the spare buffer at `r`.
    template <class Right>
    void part_run(const NodeRows &from, int64_t begin, int64_t end, const uint8_t *codes, const Right &right_of,
                  Buffer &to, int64_t &l, int64_t &r) {
        int32_t *left_rows = to.rows.data(), *right_rows = spare_.rows.data();
        int64_t *left_weights = to.weights.data(), *right_weights = spare_.weights.data();
        int64_t left = l, right = r;
        for (int64_t i = begin; i < end; ++i) {
            int32_t row = from.rows[i];
            int64_t weight = from.weights[i];
            int64_t goes_right = right_of(codes[row]);
            left_rows[left] = row;
            left_weights[left] = weight;
            right_rows[right] = row;
            right_weights[right] = weight;
            left += 1 - goes_right;
            right += goes_right;
        }
        l = left;
        r = right;
    }

    // ---- memory --------------------

    std::vector<int64_t> take_cells() {
        if (free_.empty()) return std::vector<int64_t>(histograms_.size());
        std::vector<int64_t> cells = std::move(free_.back());
        free_.pop_back();
        return cells;
    }

    void give_cells(GrowingNode &node) {
        if (!node.cells.empty()) free_.push_back(std::move(node.cells));
        node.cells.clear();
    }

    // ---- the tree as a list --------------------

    GrownTree written() {
        GrownTree tree;
        write(0, 1, tree);
        tree.turn_first_leaf();
        return tree;
    }

    // Leaves vote for their heavier label, or as their parent would where there is none. A split below which all vote
    // the same is no split.
    void write(int32_t number, int usual, GrownTree &tree) const {
        const GrowingNode &node = nodes_[static_cast<size_t>(number)];
        int vote = vote_of(node.sums, usual);
        bool on_tips = !node.tip() && is_leaf(node.left) && is_leaf(node.right);
        if (node.ends_in_twig || on_tips) return write_twig(node, vote, tree);
        if (node.tip()) return write_leaf(node.sums, vote, tree);
        size_t here = tree.nodes.size();
        tree.nodes.push_back(node.plan.node());
        write(node.left, vote, tree);
        size_t middle = tree.nodes.size();
        write(node.right, vote, tree);
        bool leaves = middle == here + 2 && tree.nodes.size() == here + 3;
        if (leaves && tree.nodes[here + 1].vote() == tree.nodes[here + 2].vote()) {
            tree.nodes[here] = tree.nodes[here + 1];
            tree.nodes.resize(here + 1);
        }
    }

    bool is_leaf(int32_t number) const {
        const GrowingNode &node = nodes_[static_cast<size_t>(number)];
        return node.tip() && !node.ends_in_twig;
    }

    static void write_twig(const GrowingNode &node, int vote, GrownTree &tree) {
        if (!node.twig.exists()) return write_leaf(node.sums, vote, tree);
        tree.nodes.push_back(node.twig.node());
        write_leaf(node.twig.left, vote_of(node.twig.left, vote), tree);
        LabelSums right = node.sums - node.twig.left;
        write_leaf(right, vote_of(right, vote), tree);
    }

    static void write_leaf(const LabelSums &sums, int vote, GrownTree &tree) {
        tree.nodes.push_back({-1, vote, 0});
        tree.edge += vote * sums.edge();
    }

    static int vote_of(const LabelSums &sums, int usual) { return sums.edge() == 0 ? usual : sums.edge() > 0 ? 1 : -1; }
};

}  // namespace dualboost
