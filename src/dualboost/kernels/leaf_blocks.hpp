// Trees with real leaves on blocks of coded rows: the number of the leaf that each row reaches, from the leaves to the
// root. A split chooses between the numbers of its two sides for all rows at once.
#pragma once

#include "mask_sides.hpp"

namespace dualboost {

constexpr int kLeafBlock = 512;  // rows whose codes and numbers are in the first-level cache together
constexpr size_t kMostLeaves = 256;  // numbers are bytes

DUALBOOST_CLONES static void above_cut(const uint8_t *codes, uint8_t cut, uint8_t last, int n, uint8_t *right) {
    for (int i = 0; i < n; ++i) right[i] = static_cast<uint8_t>((codes[i] > cut) & (codes[i] <= last) ? 255 : 0);
}

DUALBOOST_CLONES static void choose_leaf(const uint8_t *right, uint8_t if_left, uint8_t if_right, int n, uint8_t *out) {
    auto differ = static_cast<uint8_t>(if_left ^ if_right);
    for (int i = 0; i < n; ++i) out[i] = static_cast<uint8_t>(if_left ^ (right[i] & differ));
}

// out holds the numbers of one side; those of the other are one number...
DUALBOOST_CLONES static void choose_left_leaf(const uint8_t *right, uint8_t if_left, int n, uint8_t *out) {
    for (int i = 0; i < n; ++i) out[i] = static_cast<uint8_t>(if_left ^ (right[i] & (out[i] ^ if_left)));
}

DUALBOOST_CLONES static void choose_right_leaf(const uint8_t *right, uint8_t if_right, int n, uint8_t *out) {
    for (int i = 0; i < n; ++i) out[i] = static_cast<uint8_t>(out[i] ^ (right[i] & (out[i] ^ if_right)));
}

// ...or come from a split, too. out holds those of the left side.
DUALBOOST_CLONES static void choose_side(const uint8_t *right, const uint8_t *if_right, int n, uint8_t *out) {
    for (int i = 0; i < n; ++i) out[i] = static_cast<uint8_t>(out[i] ^ (right[i] & (out[i] ^ if_right[i])));
}

// A split sends right the codes above its cut and not above `last`, or those of its mask. A side that is a leaf has its
// number, another one is -1: its numbers were worked out before.
struct LeafSplit {
    size_t column;
    uint8_t cut, last;
    int32_t mask;  // the place of the mask, or -1
    int32_t left, right;
};

// One tree: its splits, those of the left side of each, those of the right side, then itself.
struct LeafProgram {
    std::vector<LeafSplit> splits;
    std::vector<double> values;  // of each leaf
};

// The sums of trees on one block of rows. codes[u] points to the block's codes of column u.
class BlockLeaves {
public:
    explicit BlockLeaves(const std::vector<CodeMask> &masks) : masks_(masks) {}

    // out[i] += what the tree says of row i, for i < n <= kLeafBlock.
    void add(const LeafProgram &tree, const uint8_t *const *codes, int n, double *out) {
        size_t depth = 0;
        for (const LeafSplit &split : tree.splits) depth = step(split, codes, n, depth);
        const double *values = tree.values.data();
        if (depth == 0)
            for (int i = 0; i < n; ++i) out[i] += values[0];
        else
            for (int i = 0; i < n; ++i) out[i] += values[stack_[static_cast<size_t>(i)]];
    }

private:
    const std::vector<CodeMask> &masks_;
    std::vector<uint8_t> stack_;  // numbers that wait for the split above them
    uint8_t right_[kLeafBlock];

    // Returns how many numbers a row has then.
    size_t step(const LeafSplit &split, const uint8_t *const *codes, int n, size_t depth) {
        if (split.mask >= 0) read_sides(codes[split.column], masks_[static_cast<size_t>(split.mask)], n, right_);
        else above_cut(codes[split.column], split.cut, split.last, n, right_);
        if (split.left >= 0 && split.right >= 0) {
            choose_leaf(right_, number(split.left), number(split.right), n, at(depth));
            return depth + 1;
        }
        if (split.left >= 0) choose_left_leaf(right_, number(split.left), n, at(depth - 1));
        else if (split.right >= 0) choose_right_leaf(right_, number(split.right), n, at(depth - 1));
        else {
            choose_side(right_, at(depth - 1), n, at(depth - 2));
            return depth - 1;
        }
        return depth;
    }

    static uint8_t number(int32_t leaf) { return static_cast<uint8_t>(leaf); }

    uint8_t *at(size_t place) {
        if (stack_.size() < (place + 1) * kLeafBlock) stack_.resize((place + 1) * kLeafBlock);
        return stack_.data() + place * kLeafBlock;
    }
};

}  // namespace dualboost
