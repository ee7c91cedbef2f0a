// The compiled module: one function a subject registers what its file offers.
#include "common.hpp"

NB_MODULE(_compiled, m) {
    m.doc() = "Compiled hot loops of dualboost; the arguments are described in dualboost.kernels.";
    nanobind::set_leak_warnings(false);  // a model that lives until the interpreter ends is no leak
    dualboost::bind_weights(m);
    dualboost::bind_stumps(m);
    dualboost::bind_subsets(m);
    dualboost::bind_binning(m);
    dualboost::bind_scores(m);
    dualboost::bind_corrective(m);
    dualboost::bind_trees(m);
    dualboost::bind_tree_scores(m);
    dualboost::bind_average(m);
    dualboost::bind_nzdd(m);
    dualboost::bind_descent(m);
    dualboost::bind_leaf_trees(m);
    dualboost::bind_leaf_scores(m);
    dualboost::bind_quadratic(m);
    dualboost::bind_stump_runs(m);
}
