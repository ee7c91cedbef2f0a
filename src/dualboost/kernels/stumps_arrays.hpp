// The binned columns as Python hands them to a search.
#pragma once

#include "stumps_layout.hpp"

namespace dualboost {

// Search(const StumpArrays &) as the constructor of its class in Python.
template <class Search> void take_arrays(nb::class_<Search> &search) {
    search.def(
        "__init__",
        [](Search *self, int64_t n_rows, Vector<const int8_t> y, Vector<const int32_t> cut_counts,
           Vector<const uint8_t> has_missing, Grid<const uint8_t> dense_codes, Vector<const int32_t> dense_features,
           Vector<const int64_t> sparse_start, Vector<const int32_t> sparse_rows, Vector<const uint8_t> sparse_codes,
           Vector<const int32_t> sparse_features, Vector<const uint8_t> sparse_default) {
            new (self) Search(StumpArrays{n_rows, y, cut_counts, has_missing, dense_codes, dense_features, sparse_start,
                                          sparse_rows, sparse_codes, sparse_features, sparse_default});
        },
        nb::arg("n_rows"), nb::arg("y").noconvert(), nb::arg("cut_counts").noconvert(),
        nb::arg("has_missing").noconvert(), nb::arg("dense_codes").noconvert(), nb::arg("dense_features").noconvert(),
        nb::arg("sparse_start").noconvert(), nb::arg("sparse_rows").noconvert(), nb::arg("sparse_codes").noconvert(),
        nb::arg("sparse_features").noconvert(), nb::arg("sparse_default").noconvert());
}

}  // namespace dualboost
