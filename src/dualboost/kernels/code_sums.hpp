// What the sums of a column by its codes say about subsets of the codes: the largest edge, and the subset that has it.
#pragma once

#include "code_mask.hpp"

#include <algorithm>

namespace dualboost {

// The sums of one column, by code: s_c of the rows of code c.
template <class Number> struct CodeSums {
    const Number *cells;
    int cuts;
    bool missing;

    template <class Use> void down_to_code_one(const Use &use) const {
        if (missing) use(kMissing);
        for (int code = cuts; code >= 1; --code) use(code);
    }

    Number peak() const {
        Number sum = size_of(cells[0]);
        down_to_code_one([&](int code) { sum += size_of(cells[code]); });
        return sum;
    }

    Number edge(const CodeMask &mask) const {
        Number sum = -cells[0];
        down_to_code_one([&](int code) { sum += holds(mask, code) ? cells[code] : -cells[code]; });
        return sum;
    }

    // The lowest mask, read as a number, whose |edge| is at least `reach`; the caller knows that peak() is. Code 0 lies
    // outside, so its side is either that of the positive sums or, where it weighs nearly nothing, that of the others.
    // Every code may stay outside as long as what is lost by it can be spared: the highest first.
    CodeMask lowest(Number reach) const {
        CodeMask best;
        best.fill(255);
        for (int sign : {1, -1}) {
            Number spare = peak() - reach - (sign * cells[0] < 0 ? 2 * size_of(cells[0]) : 0);
            if (spare < 0) continue;
            CodeMask mask{};
            down_to_code_one([&](int code) {
                Number loss = -2 * sign * cells[code];
                if (loss <= spare) spare -= std::max(loss, Number{0});
                else put(mask, code);
            });
            if (std::lexicographical_compare(mask.rbegin(), mask.rend(), best.rbegin(), best.rend())) best = mask;
        }
        return best;
    }

private:
    static Number size_of(Number value) { return value < 0 ? -value : value; }
};

}  // namespace dualboost
