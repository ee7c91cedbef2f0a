#include "common.hpp"

namespace dualboost {
void bind_binning(nb::module_ &) {}
}  // namespace dualboost
