// The categories of raw columns: which code each has.
#pragma once

#include "code_mask.hpp"
#include "search.hpp"

namespace dualboost {

// The categories of one column, ascending, with the code of each. Category k is every number above k - 0.5 and not
// above k + 0.5, as for step functions; what is none counts as missing.
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
        if (names_.empty() || !(x > -0.5 && x <= names_.back() + 0.5)) return kMissing;
        auto whole = static_cast<int64_t>(x);  // a fraction below 0 becomes 0
        whole += x - static_cast<double>(whole) > 0.5;
        if (!table_.empty()) return table_[static_cast<size_t>(whole)];
        auto name = static_cast<double>(whole);
        auto found = std::lower_bound(names_.begin(), names_.end(), name);
        return *found == name ? codes_[static_cast<size_t>(found - names_.begin())] : kMissing;
    }

    // The same categories with other codes.
    template <class Change> CategoryCodes changed(const Change &change) const {
        CategoryCodes other = *this;
        for (auto *codes : {&other.codes_, &other.table_})
            for (uint8_t &code : *codes) code = code == kMissing ? code : change(code);
        return other;
    }

private:
    static constexpr double kMost = 2147483648.0, kTable = 4096;  // below kTable, a table takes the place of a search
    std::vector<double> names_;
    std::vector<uint8_t> codes_, table_;
};

// The columns of X that hold categories, ascending; those of columns[c] are names[start[c]] to names[start[c + 1]].
struct NamedColumns {
    std::vector<int32_t> columns;
    std::vector<CategoryCodes> categories;

    NamedColumns() = default;
    NamedColumns(const Ints &columns_in, const Longs &start, const Doubles &names, const Bytes &codes)
        : columns(columns_in.data(), columns_in.data() + columns_in.shape(0)) {
        size_t count = columns.size();
        require(start.shape(0) == count + 1 && start.data()[0] == 0 &&
                    std::is_sorted(start.data(), start.data() + count + 1) &&
                    start.data()[count] == static_cast<int64_t>(names.shape(0)) && codes.shape(0) == names.shape(0),
                "The categories do not fit to their columns.");
        for (size_t c = 0; c < count; ++c) {
            int64_t first = start.data()[c];
            require(columns[c] >= (c ? columns[c - 1] + 1 : 0), "The columns of categories must ascend.");
            categories.emplace_back(names.data() + first, codes.data() + first, start.data()[c + 1] - first);
        }
    }

    bool empty() const { return columns.empty(); }

    const CategoryCodes *find(int32_t column) const {
        auto place = std::lower_bound(columns.begin(), columns.end(), column);
        bool found = place != columns.end() && *place == column;
        return found ? &categories[static_cast<size_t>(place - columns.begin())] : nullptr;
    }
};

}  // namespace dualboost
