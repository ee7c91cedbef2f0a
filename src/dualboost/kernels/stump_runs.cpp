// Several different stumps of one feature: the best of every run of neighbouring cuts whose edges beat a price.
// Neighbouring cuts differ in a few rows: where one beats the price of the hypotheses in use, its neighbours do, and
// one of them is enough. Two cuts with a valley below the price between them are two different hypotheses.
#include "common.hpp"

#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>

namespace dualboost {
namespace {

constexpr size_t kMissingCode = 255;

using Top = std::tuple<int, int, double>;  // cut, side of the missing values, edge

class RunTops {
public:
    RunTops(int side, double price, std::vector<Top> &tops) : side_(side), price_(price), tops_(tops) {}

    // The edges of one line of neighbours, cut by cut.
    void next(int cut, double edge) {
        const int sign = edge > price_ ? 1 : edge < -price_ ? -1 : 0;
        if (sign && sign == sign_) {
            if (std::abs(edge) > std::abs(std::get<2>(tops_.back()))) tops_.back() = {cut, side_, edge};
        } else if (sign) {
            tops_.push_back({cut, side_, edge});
        }
        sign_ = sign;
    }

private:
    int side_, sign_ = 0;
    double price_;
    std::vector<Top> &tops_;
};

// From the sum of y d on each code of a feature.
std::vector<Top> stump_runs(Vector<const double> code_sums, int cuts, bool missing, double price) {
    require(code_sums.shape(0) > kMissingCode, "code_sums has one entry for each of the 256 codes.");
    require(cuts >= 0 && cuts < static_cast<int>(kMissingCode), "A feature has 0 to 254 cuts.");
    require(price >= 0, "The price must not be negative.");
    const double *sums = code_sums.data(), lost = missing ? sums[kMissingCode] : 0.0;
    double held = 0.0, below = 0.0;
    for (int code = 0; code <= cuts; ++code) held += sums[code];
    std::vector<Top> tops;
    for (int side = 0; side <= (missing ? 1 : 0); ++side) {
        RunTops line(side, price, tops);
        below = 0.0;
        // With missing values right, all others left is a stump too.
        for (int cut = 0; cut < cuts + side; ++cut) {
            below += sums[cut];
            line.next(cut, held - 2 * below + (side ? lost : -lost));
        }
    }
    return tops;
}

}  // namespace

void bind_stump_runs(nb::module_ &m) {
    m.def("stump_runs", &stump_runs, nb::arg("code_sums").noconvert(), nb::arg("cuts"), nb::arg("missing"),
          nb::arg("price"), "(cut, missing_right, edge) of the best stump in each run of edges beyond the price.");
}

}  // namespace dualboost
