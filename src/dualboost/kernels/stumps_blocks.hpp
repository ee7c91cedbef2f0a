// Blocks: what the stump search sums at once and skips at once.
//
// A block is a stored column, or several columns with few codes packed into one: as long as no more than 256 tuples of
// their codes occur, one byte tells the tuple, and one histogram serves all of them. Eight binary columns, two columns
// of 16 bins or a whole set of one-hot columns then cost as much as one column.
#pragma once

#include "stumps_layout.hpp"

#include <array>
#include <deque>
#include <memory>

namespace dualboost {

struct Member {
    int32_t feature;
    int32_t cuts;
    bool missing;
    const uint8_t *code_of;  // the feature's code in each tuple; null where the block's codes are the feature's own

    bool two_valued() const { return cuts == 1 && !missing; }
};

struct Block {
    const uint8_t *codes;  // of a dense or packed column, else null
    const SparseColumn *sparse;  // else null
    int32_t bins;  // codes 0..bins-1, and 255
    int32_t first, count;  // members
    int64_t work;  // additions that a look costs
    double crowding;  // dense: the share of the rows that one code holds, packed: perhaps all
    bool one_sum;  // sparse: one cut, and all listed rows lie on the other side than the rest

    // Whether adds to one cell would wait for each other where little else is done between them.
    bool crowded() const { return crowding > 0.1; }
};

// Columns being packed: `joint` tells the tuple of each row.
class Pack {
public:
    static constexpr size_t kMaxLocal = 16;  // codes of a member, a missing value included

    Pack(const StumpLayout &layout, size_t limit) : layout_(layout), limit_(limit) {}

    static bool suits(const StumpLayout &layout, size_t feature) {
        int last = layout.cuts(feature) + (layout.missing(feature) ? 1 : 0);
        return layout.has_stumps(feature) && last < static_cast<int>(kMaxLocal);
    }

    // Takes the feature in, unless too many tuples would occur. Tuples are numbered as they appear; at one too many the
    // rows done so far get their old numbers back.
    bool add(size_t feature) {
        constexpr uint16_t unknown = 0xffff;
        const uint8_t *codes = layout_.dense(feature);
        size_t n = static_cast<size_t>(layout_.rows());
        std::array<uint8_t, kCodes> local = local_codes(feature);
        std::vector<uint16_t> number(tuples_ * kMaxLocal, unknown);
        std::vector<size_t> origin;  // (old tuple, local code) of each new tuple
        joint_.resize(n, 0);
        for (size_t i = 0; i < n; ++i) {
            size_t pair = joint_[i] * kMaxLocal + local[codes[i]];
            if (number[pair] == unknown) {
                if (origin.size() == limit_) {
                    for (size_t k = 0; k < i; ++k) take_back(joint_[k], origin);
                    return false;
                }
                number[pair] = static_cast<uint16_t>(origin.size());
                origin.push_back(pair);
            }
            joint_[i] = static_cast<uint8_t>(number[pair]);
        }
        renumber(origin, feature);
        return true;
    }

    // The same for a sparse column: rows that are not listed keep their tuple, in which the column has its default
    // code.
    bool add_listed(size_t feature) {
        constexpr uint16_t unknown = 0xffff;
        const SparseColumn &column = layout_.sparse(feature);
        std::array<uint8_t, kCodes> local = local_codes(feature);
        std::vector<uint16_t> number(tuples_ * kMaxLocal, unknown);
        std::vector<size_t> origin(tuples_);
        for (size_t tuple = 0; tuple < tuples_; ++tuple) {
            origin[tuple] = tuple * kMaxLocal + local[column.fallback];
            number[origin[tuple]] = static_cast<uint16_t>(tuple);
        }
        joint_.resize(static_cast<size_t>(layout_.rows()), 0);
        for (int64_t k = 0; k < column.count; ++k) {
            uint8_t &joint = joint_[static_cast<size_t>(column.rows[k])];
            size_t pair = joint * kMaxLocal + local[column.codes[k]];
            if (number[pair] == unknown) {
                if (origin.size() == limit_) {
                    for (int64_t j = 0; j < k; ++j) take_back(joint_[static_cast<size_t>(column.rows[j])], origin);
                    return false;
                }
                number[pair] = static_cast<uint16_t>(origin.size());
                origin.push_back(pair);
            }
            joint = static_cast<uint8_t>(number[pair]);
        }
        renumber(origin, feature);
        return true;
    }

    size_t size() const { return features_.size(); }
    int32_t tuples() const { return static_cast<int32_t>(tuples_); }
    const std::vector<size_t> &features() const { return features_; }
    const std::array<uint8_t, kCodes> &table(size_t member) const { return tables_[member]; }
    std::vector<uint8_t> release() { return std::move(joint_); }

private:
    const StumpLayout &layout_;
    size_t limit_, tuples_ = 1;
    std::vector<size_t> features_;
    std::vector<std::array<uint8_t, kCodes>> tables_;  // code of each member in each tuple
    std::vector<uint8_t> joint_;

    static void take_back(uint8_t &joint, const std::vector<size_t> &origin) {
        joint = static_cast<uint8_t>(origin[joint] / kMaxLocal);
    }

    // Codes in a row: a missing value takes the number after the last.
    std::array<uint8_t, kCodes> local_codes(size_t feature) const {
        std::array<uint8_t, kCodes> local{};
        int last = layout_.cuts(feature);
        for (int code = 0; code <= last; ++code) local[static_cast<size_t>(code)] = static_cast<uint8_t>(code);
        local[kMissing] = static_cast<uint8_t>(last + 1);
        return local;
    }

    void renumber(const std::vector<size_t> &origin, size_t feature) {
        std::vector<std::array<uint8_t, kCodes>> tables(tables_.size() + 1, std::array<uint8_t, kCodes>{});
        for (size_t tuple = 0; tuple < origin.size(); ++tuple) {
            size_t old = origin[tuple] / kMaxLocal;
            int code = static_cast<int>(origin[tuple] % kMaxLocal);
            for (size_t j = 0; j < tables_.size(); ++j) tables[j][tuple] = tables_[j][old];
            tables.back()[tuple] = static_cast<uint8_t>(code > layout_.cuts(feature) ? kMissing : code);
        }
        tables_.swap(tables);
        tuples_ = origin.size();
        features_.push_back(feature);
    }
};

class StumpBlocks {
public:
    explicit StumpBlocks(const StumpLayout &layout) : layout_(layout), block_of_(layout.features(), -1) {
        std::vector<size_t> sparse = sparse_features();
        std::unique_ptr<Pack> open = add_dense();
        if (total_count(sparse) < kLedgerEntries * layout.rows()) pack_sparse(std::move(open), sparse);
        else close(*open);
        auto more = [&](size_t a, size_t b) { return layout.sparse(a).count > layout.sparse(b).count; };
        std::stable_sort(sparse.begin(), sparse.end(), more);
        for (size_t f : sparse) add_sparse(f);
    }

    // Entries of sparse columns in each row, on average, from which on a ledger of what they weigh pays.
    static constexpr int64_t kLedgerEntries = 16;

    size_t size() const { return blocks_.size(); }
    const Block &operator[](int32_t block) const { return blocks_[static_cast<size_t>(block)]; }
    const Member *members(const Block &block) const { return &members_[static_cast<size_t>(block.first)]; }
    size_t member_count() const { return members_.size(); }
    // A dense column by itself.
    bool plain(int32_t block) const { return (*this)[block].codes && !members((*this)[block])[0].code_of; }
    size_t plain_count() const { return plain_count_; }
    int32_t block_of(size_t feature) const { return block_of_[feature]; }

private:
    const StumpLayout &layout_;
    std::vector<Block> blocks_;
    std::vector<Member> members_;
    std::vector<int32_t> block_of_;  // of a feature
    size_t plain_count_ = 0;
    std::deque<std::array<uint8_t, kCodes>> tables_;  // a deque: members keep pointers into it
    std::deque<std::vector<uint8_t>> joints_;

    // Columns in stored order, so that the one-hot columns of one category meet in one pack. Reading a tuple's
    // histogram costs its size for each member, so small data get small packs.
    std::unique_ptr<Pack> add_dense() {
        std::unique_ptr<Pack> pack = new_pack();
        for (size_t slot = 0; slot < layout_.dense_count(); ++slot) {
            size_t f = layout_.dense_feature(slot);
            if (!layout_.has_stumps(f)) continue;
            if (!Pack::suits(layout_, f)) {
                add_plain(f);
            } else if (!pack->add(f)) {
                close(*pack);
                pack = new_pack();
                if (!pack->add(f)) add_plain(f);
            }
        }
        return pack;  // there may be room for sparse columns
    }

    std::unique_ptr<Pack> new_pack() const {
        return std::make_unique<Pack>(layout_, static_cast<size_t>(std::min<int64_t>(kCodes, layout_.rows() / 8)));
    }

    // Sparse columns of few codes join the open pack, then packs of their own as long as those spare additions: the
    // one-hot columns of a category seldom make more tuples than there are columns. What joined no pack is left in
    // `sparse`.
    void pack_sparse(std::unique_ptr<Pack> pack, std::vector<size_t> &sparse) {
        constexpr int64_t few = 64;  // entries that are not worth a place
        for (bool own = pack->size() == 0;; own = true) {
            std::vector<size_t> joined, left;
            for (size_t f : sparse) {
                bool joins = Pack::suits(layout_, f) && layout_.sparse(f).count >= few && pack->add_listed(f);
                (joins ? joined : left).push_back(f);
            }
            bool pays = !own || (joined.size() >= 2 && 2 * total_count(joined) >= layout_.rows());
            if (pays) close(*pack), sparse.swap(left);
            if (!pays || joined.empty()) return;
            pack = new_pack();
        }
    }

    int64_t total_count(const std::vector<size_t> &sparse) const {
        int64_t entries = 0;
        for (size_t f : sparse) entries += layout_.sparse(f).count;
        return entries;
    }

    void close(Pack &pack) {
        if (pack.size() == 1) add_plain(pack.features()[0]);
        if (pack.size() < 2) return;
        joints_.push_back(pack.release());
        add_block({joints_.back().data(), nullptr, pack.tuples(), 0, 0, layout_.rows(), 1.0, false});
        for (size_t j = 0; j < pack.size(); ++j) {
            tables_.push_back(pack.table(j));
            add_member(pack.features()[j], tables_.back().data());
        }
    }

    void add_plain(size_t f) {
        ++plain_count_;
        add_block({layout_.dense(f), nullptr, layout_.cuts(f) + 1, 0, 0, layout_.rows(), layout_.crowding(f), false});
        add_member(f, nullptr);
    }

    std::vector<size_t> sparse_features() const {
        std::vector<size_t> features;
        for (size_t f = 0; f < layout_.features(); ++f)
            if (layout_.home(f) == Home::sparse && layout_.has_stumps(f)) features.push_back(f);
        return features;
    }

    void add_sparse(size_t f) {
        const SparseColumn &column = layout_.sparse(f);
        bool two_valued = layout_.cuts(f) == 1 && !layout_.missing(f);
        bool one_sum = two_valued && column.uniform && column.count > 0 && column.codes[0] != column.fallback;
        add_block({nullptr, &column, layout_.cuts(f) + 1, 0, 0, column.count + 8, 0.0, one_sum});
        add_member(f, nullptr);
    }

    void add_block(Block block) {
        block.first = static_cast<int32_t>(members_.size());
        blocks_.push_back(block);
    }

    void add_member(size_t f, const uint8_t *code_of) {
        members_.push_back({static_cast<int32_t>(f), layout_.cuts(f), layout_.missing(f), code_of});
        ++blocks_.back().count;
        block_of_[f] = static_cast<int32_t>(blocks_.size()) - 1;
    }
};

}  // namespace dualboost
