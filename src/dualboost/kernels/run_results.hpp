// What compiled rounds hand back to Python: new arrays, rooms that become arrays without a copy, signals between
// rounds.
#pragma once

#include "joint_search.hpp"
#include "large_memory.hpp"

#include <chrono>
#include <initializer_list>
#include <memory>

namespace dualboost {

template <class T> nb::object new_vector(const T *values, size_t size) {
    auto *copy = new T[size];
    std::copy(values, values + size, copy);
    nb::capsule owner(copy, [](void *p) noexcept { delete[] static_cast<T *>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(copy, {size}, owner));
}
template <class T>
nb::object new_vector(const std::vector<T> &values) {
    return new_vector(values.data(), values.size());
}

// Memory for a vector over the rows that may become a result: untouched until used, and handed over without a copy.
class Room {
public:
    explicit Room(int64_t m) : data_(new double[static_cast<size_t>(m)]), m_(m) {
        in_large_pages(data_.get(), static_cast<size_t>(m) * sizeof(double));
    }
    double *data() const { return data_.get(); }
    nb::object release() { return release(m_); }
    // The first `size` entries.
    nb::object release(int64_t size) {
        double *data = data_.release();
        nb::capsule owner(data, [](void *p) noexcept { delete[] static_cast<double *>(p); });
        return nb::cast(nb::ndarray<nb::numpy, double, nb::ndim<1>>(data, {static_cast<size_t>(size)}, owner));
    }

private:
    std::unique_ptr<double[]> data_;
    int64_t m_;
};

// A vector of the run: the room it lies in, or a copy where it is still the caller's.
inline nb::object vector_of(const double *values, int64_t m, std::initializer_list<Room *> rooms) {
    for (Room *room : rooms)
        if (room->data() == values) return room->release();
    return new_vector(values, static_cast<size_t>(m));
}

// What was chosen in each round, by columns; with `masks` 32 bytes each that tell a subset, whose cut is -1.
inline void add_chosen(const std::vector<Chosen> &chosen, bool masks, nb::dict &result) {
    std::vector<int32_t> features, cuts;
    std::vector<uint8_t> missing_right, bytes;
    for (const Chosen &one : chosen) {
        features.push_back(one.stump.feature);
        cuts.push_back(one.stump.cut);
        missing_right.push_back(one.stump.missing_right);
        if (masks) bytes.insert(bytes.end(), one.mask.begin(), one.mask.end());
    }
    result["features"] = new_vector(features);
    result["cuts"] = new_vector(cuts);
    result["missing_right"] = new_vector(missing_right);
    result["masks"] = new_vector(bytes);
}

// Looks for signals now and then; what a handler raised is kept for the caller, who gets the finished rounds with it.
class SignalWatch {
public:
    bool operator()() {
        std::chrono::steady_clock::time_point now = std::chrono::steady_clock::now();
        if (now - last_ < kBetweenSignals) return false;
        last_ = now;
        nb::gil_scoped_acquire acquire;
        if (PyErr_CheckSignals() == 0) return false;
        nb::python_error raised;
        raised_ = nb::borrow<nb::object>(raised.value());
        return true;
    }
    nb::object raised() const { return raised_; }

private:
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
    nb::object raised_ = nb::none();
};

}  // namespace dualboost
