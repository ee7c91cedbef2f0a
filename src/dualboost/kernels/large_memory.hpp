// Memory for vectors over all rows: on Linux in large pages. With pages of 4 KB a vector of a million rows has two
// thousand of them, each of which is asked for at the first touch and looked up again and again by passes over
// scattered rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace dualboost {

constexpr size_t kWorthLargePages = size_t{1} << 22;  // bytes

// Asks for large pages, as NumPy does for its arrays; to be called before the first touch. It may be refused.
inline void *in_large_pages(void *memory, size_t bytes) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    constexpr uintptr_t page = 4096;
    if (memory && bytes >= kWorthLargePages) {
        uintptr_t begin = (reinterpret_cast<uintptr_t>(memory) + page - 1) & ~(page - 1);
        uintptr_t end = (reinterpret_cast<uintptr_t>(memory) + bytes) & ~(page - 1);
        madvise(reinterpret_cast<void *>(begin), end - begin, MADV_HUGEPAGE);
    }
#else
    (void)bytes;
#endif
    return memory;
}

template <class T> struct LargeAllocator {
    using value_type = T;
    LargeAllocator() = default;
    template <class Other> LargeAllocator(const LargeAllocator<Other> &) {}
    T *allocate(size_t n) { return static_cast<T *>(in_large_pages(std::allocator<T>().allocate(n), n * sizeof(T))); }
    void deallocate(T *memory, size_t n) { std::allocator<T>().deallocate(memory, n); }
    template <class Other> bool operator==(const LargeAllocator<Other> &) const { return true; }
    template <class Other> bool operator!=(const LargeAllocator<Other> &) const { return false; }
};

template <class T> using LargeVector = std::vector<T, LargeAllocator<T>>;

}  // namespace dualboost
