// The best groups (features, or the constant) seen in one search, and the order in which they are answered.
#pragma once

#include "stumps_sums.hpp"

#include <functional>

namespace dualboost {

// |edges| closer than this count as equal, and the lowest index wins: 1e-12 in units of 2^-61.
constexpr int64_t kTie = 2305843;

// A group by its largest |edge|. Feature -1 is the constant.
struct Candidate {
    int64_t peak;
    int32_t feature;
};

// The vectors keep their memory from search to search: a search of small data allocates nothing.
class Ranking {
public:
    // Only groups that reach `floor` are of interest.
    void start(size_t wanted, int64_t floor = 0) {
        wanted_ = wanted;
        floor_ = floor;
        top_.clear();
        candidates_.clear();
    }

    // A group below this cannot be part of the answer.
    int64_t threshold() const { return top_.size() < wanted_ ? floor_ : std::max(top_.front() - kTie, floor_); }

    void offer(int32_t feature, int64_t peak) {
        if (peak < threshold()) return;
        candidates_.push_back({peak, feature});
        if (top_.size() == wanted_) {
            if (peak <= top_.front()) return;
            std::pop_heap(top_.begin(), top_.end(), std::greater<int64_t>());
            top_.pop_back();
        }
        top_.push_back(peak);
        std::push_heap(top_.begin(), top_.end(), std::greater<int64_t>());
    }

    int64_t largest() const { return candidates_.front().peak; }

    // take(feature, reach) for each place, best first: the lowest index among all groups that tie with the best one
    // left, and `reach` is what a hypothesis must have to tie with it.
    template <class Take> void settle(const Take &take) {
        sort_candidates();
        waiting_.clear();
        size_t best_left = 0, entered = 0;
        size_t places = std::min(wanted_, candidates_.size());  // none where nothing reached the floor
        for (size_t place = 0; place < places; ++place) {
            while (candidates_[best_left].feature == kGone) ++best_left;
            int64_t reach = candidates_[best_left].peak - kTie;
            for (; entered < candidates_.size() && candidates_[entered].peak >= reach; ++entered) push_waiting(entered);
            size_t winner = pop_waiting();
            take(candidates_[winner].feature, reach);
            candidates_[winner].feature = kGone;
        }
    }

private:
    static constexpr int32_t kGone = -2;

    size_t wanted_ = 1;
    int64_t floor_ = 0;
    std::vector<int64_t> top_;  // heap of the `wanted_` largest peaks, the smallest in front
    std::vector<Candidate> candidates_;
    std::vector<size_t> waiting_;  // heap of candidates that tie with the best one left, the lowest index in front

    void sort_candidates() {
        int64_t floor = threshold();
        auto too_low = [&](const Candidate &c) { return c.peak < floor; };
        candidates_.erase(std::remove_if(candidates_.begin(), candidates_.end(), too_low), candidates_.end());
        std::sort(candidates_.begin(), candidates_.end(), [](const Candidate &a, const Candidate &b) {
            return a.peak != b.peak ? a.peak > b.peak : a.feature < b.feature;
        });
    }

    bool later(size_t a, size_t b) const { return candidates_[a].feature > candidates_[b].feature; }

    void push_waiting(size_t candidate) {
        waiting_.push_back(candidate);
        std::push_heap(waiting_.begin(), waiting_.end(), [this](size_t a, size_t b) { return later(a, b); });
    }

    size_t pop_waiting() {
        std::pop_heap(waiting_.begin(), waiting_.end(), [this](size_t a, size_t b) { return later(a, b); });
        size_t winner = waiting_.back();
        waiting_.pop_back();
        return winner;
    }
};

}  // namespace dualboost
