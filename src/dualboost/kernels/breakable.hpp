// Long calls that can be given up: by Ctrl-C, and by whoever says in `dualboost.cutting` that the time is over.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>

namespace dualboost {

constexpr auto kBetweenSignals = std::chrono::milliseconds(50);

// While one lives, its thread looks up now and then: wherever `look_up` is called, at most every 50 milliseconds. What
// a signal handler or `check_cut` raises there is thrown, so only calls that leave nothing half done may have one.
// Python runs handlers in its main thread alone, and the reasons to cut belong to the run that asks: calls of other
// threads are not disturbed. Threads that help do not look up; they end with the piece of work that they have.
class Breakable {
public:
    Breakable() : outer_(current()) { current() = this; }
    ~Breakable() { current() = outer_; }
    Breakable(const Breakable &) = delete;
    Breakable &operator=(const Breakable &) = delete;

    static void look_up() {
        if (Breakable *call = current()) call->look();
    }

private:
    using Clock = std::chrono::steady_clock;

    Breakable *outer_;
    Clock::time_point last_ = Clock::now();

    static Breakable *&current() {
        static thread_local Breakable *call = nullptr;
        return call;
    }

    void look() {
        Clock::time_point now = Clock::now();
        if (now - last_ < kBetweenSignals) return;
        nanobind::gil_scoped_acquire acquire;
        if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
        nanobind::module_::import_("dualboost.cutting").attr("check_cut")();
        last_ = Clock::now();
    }
};

}  // namespace dualboost
