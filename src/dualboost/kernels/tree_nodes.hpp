// Trees as lists of nodes in preorder, and what they say about a block of coded rows: all splits at once, by masks.
#pragma once

#include "mask_sides.hpp"

namespace dualboost {

// A split sends a row right where its code is above the cut; a missing value (255) goes to its own side. A split of
// categories has the cut -1 and sends right the codes of its mask. A leaf has the feature -1 and its vote, -1 or +1, in
// the place of the cut.
struct TreeNode {
    int32_t feature, cut, missing_right;
    CodeMask mask{};

    bool leaf() const { return feature < 0; }
    bool by_mask() const { return feature >= 0 && cut < 0; }
    int vote() const { return cut; }
    uint8_t last() const { return missing_right ? 255 : 254; }  // the largest code that may go right
    bool goes_right(uint8_t code) const { return by_mask() ? holds(mask, code) : code > cut && code <= last(); }
};

// The first node behind a subtree.
inline const TreeNode *behind(const TreeNode *node) {
    for (int64_t open = 1; open > 0; ++node) open += node->leaf() ? -1 : 1;
    return node;
}

using NodeGrid = Grid<const int32_t>;

// Some trees: tree t is nodes [start[t], start[t + 1]). Checked once, so that no later loop needs a check.
class Forest {
public:
    static constexpr size_t kDeepest = 1024;  // more than any tree has that is grown here
    static constexpr size_t kPlain = 3, kMasked = kPlain + sizeof(CodeMask) / sizeof(int32_t);  // columns of nodes

    Forest(const NodeGrid &nodes, const Vector<const int64_t> &start)
        : Forest(nodes, std::vector<int64_t>(start.data(), start.data() + start.shape(0))) {}

    Forest(const NodeGrid &nodes, std::vector<int64_t> start) : start_(std::move(start)), nodes_(nodes.shape(0)) {
        size_t count = nodes.shape(0);
        require(nodes.shape(1) == kPlain || nodes.shape(1) == kMasked,
                "nodes must have three columns, feature, cut, missing_right, or with masks eleven");
        require(!start_.empty() && start_.front() == 0 && start_.back() == static_cast<int64_t>(count) &&
                    std::is_sorted(start_.begin(), start_.end()),
                "start must begin with 0, not decrease, and end with the number of nodes");
        for (size_t j = 0; j < count; ++j) {
            const int32_t *row = nodes.data() + nodes.shape(1) * j;
            nodes_[j] = {row[0], row[1], row[2]};
            require(row[2] == 0 || row[2] == 1, "missing_right must be 0 or 1");
            int lowest = nodes.shape(1) == kMasked ? -1 : 0;  // a cut of -1 says that there is a mask
            require(row[0] >= 0 ? row[1] >= lowest && row[1] <= kMaxCuts : row[1] == 1 || row[1] == -1,
                    "a split needs a cut between 0 and 254, a leaf a vote of -1 or +1");
            if (nodes_[j].by_mask()) std::memcpy(nodes_[j].mask.data(), row + kPlain, sizeof(CodeMask));
        }
        check_shapes();
    }

    // One tree.
    explicit Forest(std::vector<TreeNode> tree)
        : start_{0, static_cast<int64_t>(tree.size())}, nodes_(std::move(tree)) {
        check_shapes();
    }

    size_t size() const { return start_.size() - 1; }
    size_t levels() const { return levels_; }  // masks that are open at once, at most
    const TreeNode *tree(size_t t) const { return nodes_.data() + start_[t]; }
    const std::vector<TreeNode> &nodes() const { return nodes_; }

    // The features that occur, ascending; their nodes are renumbered to places in this list.
    std::vector<int32_t> number_features() {
        std::vector<int32_t> used;
        for (const TreeNode &node : nodes_)
            if (!node.leaf()) used.push_back(node.feature);
        std::sort(used.begin(), used.end());
        used.erase(std::unique(used.begin(), used.end()), used.end());
        for (TreeNode &node : nodes_)
            if (!node.leaf())
                node.feature =
                    static_cast<int32_t>(std::lower_bound(used.begin(), used.end(), node.feature) - used.begin());
        return used;
    }

private:
    std::vector<int64_t> start_;
    std::vector<TreeNode> nodes_;
    size_t levels_ = 1;

    void check_shapes() {
        for (size_t t = 0; t < size(); ++t) check_shape(t);
    }

    void check_shape(size_t t) {
        int64_t open = 1;
        for (int64_t j = start_[t]; j < start_[t + 1]; ++j) {
            require(open > 0, "a tree has nodes after its last leaf");
            open += nodes_[static_cast<size_t>(j)].leaf() ? -1 : 1;
            levels_ = std::max(levels_, static_cast<size_t>(open));
        }
        require(open == 0, "a tree must be its nodes in preorder, each split followed by its left and right part");
        require(levels_ <= kDeepest, "a tree is too deep");
    }
};

constexpr int kTreeBlock = 512;  // rows whose masks are in the first-level cache together

// here and left: on entry the rows that reach a split; on return those that go right, and those that go left.
DUALBOOST_CLONES static void part_mask(const uint8_t *codes, uint8_t cut, uint8_t last, int n, uint8_t *here,
                                       uint8_t *left) {
    for (int i = 0; i < n; ++i) {
        uint8_t right = static_cast<uint8_t>((codes[i] > cut) & (codes[i] <= last) ? 255 : 0);
        left[i] = static_cast<uint8_t>(here[i] & ~right);
        here[i] = static_cast<uint8_t>(here[i] & right);
    }
}

// A split above two leaves of different votes: the rows that reach it and get the vote +1.
DUALBOOST_CLONES static void twig_mask(const uint8_t *codes, uint8_t cut, uint8_t last, uint8_t flip, int n,
                                       const uint8_t *here, uint8_t *positive) {
    for (int i = 0; i < n; ++i) {
        uint8_t right = static_cast<uint8_t>((codes[i] > cut) & (codes[i] <= last) ? 255 : 0);
        positive[i] = static_cast<uint8_t>(positive[i] | (here[i] & (right ^ flip)));
    }
}

// The same two for a split of categories, whose sides are read first.
DUALBOOST_CLONES static void part_sides(const uint8_t *right, int n, uint8_t *here, uint8_t *left) {
    for (int i = 0; i < n; ++i) {
        left[i] = static_cast<uint8_t>(here[i] & ~right[i]);
        here[i] = static_cast<uint8_t>(here[i] & right[i]);
    }
}

DUALBOOST_CLONES static void twig_sides(const uint8_t *right, uint8_t flip, int n, const uint8_t *here,
                                        uint8_t *positive) {
    for (int i = 0; i < n; ++i) positive[i] = static_cast<uint8_t>(positive[i] | (here[i] & (right[i] ^ flip)));
}

DUALBOOST_CLONES static void join_mask(const uint8_t *here, int n, uint8_t *positive) {
    for (int i = 0; i < n; ++i) positive[i] = static_cast<uint8_t>(positive[i] | here[i]);
}

DUALBOOST_CLONES static void mark_bit(const uint8_t *positive, uint8_t bit, int n, uint8_t *bits) {
    for (int i = 0; i < n; ++i) bits[i] = static_cast<uint8_t>(bits[i] | (positive[i] & bit));
}

// The votes of trees on one block of rows. codes[u] points to the block's codes of feature number u.
class BlockVotes {
public:
    explicit BlockVotes(const Forest &forest) : forest_(forest), stack_((forest.levels() + 1) * kTreeBlock) {}

    // positive[i] = 255 where tree t votes +1, else 0, for i < n <= kTreeBlock.
    void positive(size_t t, const uint8_t *const *codes, int n, uint8_t *positive) {
        const TreeNode *node = forest_.tree(t);
        uint8_t *top = stack_.data();
        std::memset(positive, 0, static_cast<size_t>(n));
        std::memset(top, 255, static_cast<size_t>(n));
        for (; top >= stack_.data(); ++node) {
            if (node->leaf()) {
                if (node->vote() > 0) join_mask(top, n, positive);
                top -= kTreeBlock;
            } else if (twig(node)) {
                end(*node, node[1].vote() > 0 ? 255 : 0, codes, n, top, positive);
                top -= kTreeBlock;
                node += 2;
            } else {
                part(*node, codes, n, top);
                top += kTreeBlock;
            }
        }
    }

private:
    const Forest &forest_;
    std::vector<uint8_t> stack_;
    uint8_t right_[kTreeBlock];

    const uint8_t *right_of(const uint8_t *column, const CodeMask &mask, int n) {
        read_sides(column, mask, n, right_);
        return right_;
    }

    void part(const TreeNode &node, const uint8_t *const *codes, int n, uint8_t *top) {
        const uint8_t *column = codes[node.feature];
        if (node.by_mask()) part_sides(right_of(column, node.mask, n), n, top, top + kTreeBlock);
        else part_mask(column, static_cast<uint8_t>(node.cut), node.last(), n, top, top + kTreeBlock);
    }

    void end(const TreeNode &node, uint8_t flip, const uint8_t *const *codes, int n, const uint8_t *here,
             uint8_t *positive) {
        const uint8_t *column = codes[node.feature];
        if (node.by_mask()) twig_sides(right_of(column, node.mask, n), flip, n, here, positive);
        else twig_mask(column, static_cast<uint8_t>(node.cut), node.last(), flip, n, here, positive);
    }

    static bool twig(const TreeNode *node) {
        return node[1].leaf() && node[2].leaf() && node[1].vote() != node[2].vote();
    }
};

// Weighted votes: eight trees make one byte a row, and a table tells what that byte is worth.
class TreeTables {
public:
    TreeTables(const Forest &forest, const double *weights) : forest_(forest), weights_(weights) {
        tables_.assign((forest.size() + 7) / 8 * 256, 0.0);
        for (size_t t = 0; t < forest.size(); ++t)
            for (size_t byte = 0; byte < 256; ++byte)
                tables_[t / 8 * 256 + byte] += (byte >> (t % 8)) & 1u ? weights[t] : -weights[t];
    }

    // out[i] = sum of w_t h_t(x_i), for i < n <= kTreeBlock.
    void scores(BlockVotes &votes, const uint8_t *const *codes, int n, double *out) const {
        uint8_t positive[kTreeBlock], bits[kTreeBlock];
        std::fill(out, out + n, 0.0);
        for (size_t first = 0; first < forest_.size(); first += 8) {
            std::memset(bits, 0, static_cast<size_t>(n));
            for (size_t t = first; t < std::min(first + 8, forest_.size()); ++t) {
                votes.positive(t, codes, n, positive);
                mark_bit(positive, static_cast<uint8_t>(1u << (t - first)), n, bits);
            }
            const double *table = &tables_[first / 8 * 256];
            for (int i = 0; i < n; ++i) out[i] += table[bits[i]];
        }
    }

    // The same for one row, to the bit, by walking.
    template <class CodeOf> double score(const CodeOf &code_of) const {
        auto always = [](int32_t) { return true; };
        double score = 0.0;
        for (size_t first = 0; first < forest_.size(); first += 8) {
            size_t bits = 0;
            for (size_t t = first; t < std::min(first + 8, forest_.size()); ++t)
                bits |= static_cast<size_t>(vote(forest_.tree(t), code_of, always) > 0) << (t - first);
            score += tables_[first / 8 * 256 + bits];
        }
        return score;
    }

    // One row by walking, where a tree may abstain: known(feature number) tells whether a missing value was
    // met in training.
    template <class CodeOf, class Known> double walk(const CodeOf &code_of, const Known &known) const {
        double score = 0.0;
        for (size_t t = 0; t < forest_.size(); ++t) score += weights_[t] * vote(forest_.tree(t), code_of, known);
        return score;
    }

private:
    const Forest &forest_;
    const double *weights_;
    std::vector<double> tables_;

    template <class CodeOf, class Known>
    static int vote(const TreeNode *node, const CodeOf &code_of, const Known &known) {
        while (!node->leaf()) {
            uint8_t code = code_of(node->feature);
            if (code == kMissing && !known(node->feature)) return 0;
            ++node;
            if (node[-1].goes_right(code)) node = behind(node);
        }
        return node->vote();
    }
};

}  // namespace dualboost
