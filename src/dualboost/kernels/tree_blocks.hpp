// The training rows block by block, as the votes of trees need them.
#pragma once

#include "tree_layout.hpp"
#include "tree_nodes.hpp"

namespace dualboost {

constexpr int64_t kWorthTreeThreads = 1 << 18;

// For each chunk of rows work = make(), then work(begin, rows, codes of each used feature) for each of its blocks.
template <class Make>
void over_blocks(const TreeLayout &layout, const std::vector<int32_t> &used, size_t trees, int threads,
                 const Make &make) {
    int64_t rows = layout.layout.rows();
    int several = rows * static_cast<int64_t>(trees + 1) >= kWorthTreeThreads ? threads : 1;
    parallel(chunk_count(rows), several, [&](int64_t chunk) {
        std::vector<uint8_t> room(used.size() * kTreeBlock);
        std::vector<const uint8_t *> codes(used.size());
        int64_t end = std::min(rows, (chunk + 1) * kChunk);
        auto work = make();
        for (int64_t begin = chunk * kChunk; begin < end; begin += kTreeBlock) {
            int64_t stop = std::min(begin + kTreeBlock, end);
            for (size_t u = 0; u < used.size(); ++u)
                codes[u] = layout.codes(static_cast<size_t>(used[u]), begin, stop, &room[u * kTreeBlock]);
            work(begin, static_cast<int>(stop - begin), codes.data());
        }
    });
}

// mask[i] = 255 where the tree votes +1 on row i, else 0.
inline void vote_mask(const TreeLayout &layout, std::vector<TreeNode> tree, int threads, std::vector<uint8_t> &mask) {
    Forest forest(std::move(tree));
    std::vector<int32_t> used = forest.number_features();
    mask.resize(static_cast<size_t>(layout.layout.rows()));
    over_blocks(layout, used, 1, threads, [&] {
        return [&, votes = BlockVotes(forest)](int64_t begin, int n, const uint8_t *const *codes) mutable {
            votes.positive(0, codes, n, mask.data() + begin);
        };
    });
}

}  // namespace dualboost
