#include "common.hpp"

namespace dualboost {
void bind_scores(nb::module_ &) {}
}  // namespace dualboost
