#include "common.hpp"

namespace dualboost {
void bind_weights(nb::module_ &) {}
}  // namespace dualboost
