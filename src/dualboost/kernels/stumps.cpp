#include "common.hpp"

namespace dualboost {
void bind_stumps(nb::module_ &) {}
}  // namespace dualboost
