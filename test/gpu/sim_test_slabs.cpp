/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The pool of slabs, on memory that is counted: what it gives has room, what comes back is given
 * again, and its limit holds.
 */
#include "gpu/core/slabs.hpp"
#include "named.hpp"

#include <heddle.h>

#include <cstdlib>
#include <cstring>
#include <map>

namespace sim_test {
namespace {

using ::gpu::fail;
using ::gpu::same;
using heddle::gpu::Slab;
using heddle::gpu::SlabPool;

constexpr size_t page = SlabPool::smallest;

/* Has `room` bytes at most, which are written to where somebody takes them. */
class Heap {
public:
    explicit Heap(size_t limit, size_t room = SIZE_MAX)
        : room_(room),
          pool([this](size_t bytes, void **at) { return allocate(bytes, at); },
               [this](void *at) { free(at); }, limit)
    {
    }
    ~Heap()
    {
        for (const auto &each : sizes_)
            std::free(each.first);
    }

    /* A slab's bytes are its own. */
    void use(const Slab &slab, size_t bytes) const
    {
        same(slab.bytes() >= bytes, true, "room for ", bytes, " bytes in ", slab.bytes());
        const auto found = sizes_.find(slab.at());
        if (found == sizes_.end())
            fail("a slab that was not allocated");
        same(found->second, slab.bytes(), "bytes of a slab");
        std::memset(slab.at(), 1, slab.bytes());
    }
    size_t used() const
    {
        size_t sum = 0;
        for (const auto &each : sizes_)
            sum += each.second;
        return sum;
    }

private:
    heddle::Error allocate(size_t bytes, void **at)
    {
        if (bytes > room_ || used() > room_ - bytes)
            return HEDDLE_ERR_NO_MEMORY;
        *at = std::malloc(bytes);
        sizes_[static_cast<char *>(*at)] = bytes;
        ++allocations;
        return HEDDLE_SUCCESS;
    }
    void free(void *at)
    {
        if (sizes_.erase(static_cast<char *>(at)) == 0)
            fail("freed twice");
        std::free(at);
    }

    std::map<char *, size_t> sizes_;
    size_t room_;

public:
    int allocations = 0;
    SlabPool pool; /* before what it uses goes */
};

void given(heddle::Error error, heddle::Error expected, size_t bytes)
{
    same(error.code(), expected.code(), "what a request for ", bytes, " bytes gives");
}

void memory_apart_is_given_again()
{
    Heap heap(100 * page);
    const auto take = [&](size_t bytes) {
        Slab slab;
        given(heap.pool.take_apart(bytes, slab), HEDDLE_SUCCESS, bytes);
        heap.use(slab, bytes);
    };
    take(20 * page);
    same(heap.pool.held(), 20 * page, "held when it came back");
    for (const size_t fits : {20 * page, 15 * page, 10 * page})
        take(fits);
    same(heap.allocations, 1, "allocations for what fits");
    take(20 * page + 1); /* too much */
    take(9 * page);      /* too little to hold so much for it */
    same(heap.allocations, 3, "allocations for what does not");
    Slab a, b;
    given(heap.pool.take_apart(20 * page, a), HEDDLE_SUCCESS, 20 * page);
    given(heap.pool.take_apart(20 * page, b), HEDDLE_SUCCESS, 20 * page);
    same(a.at() != b.at(), true, "two of them at a time");
    same(heap.pool.held(), 9 * page, "held while they are in use");
}

void the_limit_holds()
{
    Heap heap(16 * page);
    for (int i = 0; i < 100; ++i) { /* nothing leaks away */
        Slab large, small;
        given(heap.pool.take_apart(12 * page, large), HEDDLE_SUCCESS, 12 * page);
        given(heap.pool.take(2 * page, small), HEDDLE_SUCCESS, 2 * page);
    }
    same(heap.pool.held(), 14 * page, "held by both");
    Slab one; /* what lies idle goes for it */
    given(heap.pool.take(16 * page, one), HEDDLE_SUCCESS, 16 * page);
    heap.use(one, 16 * page);
    same(heap.pool.held(), 16 * page, "held by one");
    same(heap.used(), 16 * page, "allocated");
    Slab other;
    given(heap.pool.take(1, other), HEDDLE_ERR_NO_MEMORY, 1);
    given(heap.pool.take_apart(30 * page, other), HEDDLE_SUCCESS, 30 * page); /* nobody's limit */
    other = {};
    same(heap.used(), 16 * page, "allocated when it has gone");
    same(heap.pool.in_use(), 16 * page, "in use");
}

void idle_memory_gives_way()
{
    Heap heap(100 * page, 20 * page);
    {
        Slab large;
        given(heap.pool.take_apart(15 * page, large), HEDDLE_SUCCESS, 15 * page);
    }
    Slab slab, more;
    given(heap.pool.take(16 * page, slab), HEDDLE_SUCCESS, 16 * page);
    heap.use(slab, 16 * page);
    same(heap.pool.held(), 16 * page, "held");
    slab = {};
    given(heap.pool.take_apart(18 * page, more), HEDDLE_SUCCESS, 18 * page);
    heap.use(more, 18 * page);
    given(heap.pool.take(4 * page, slab), HEDDLE_ERR_NO_MEMORY, 4 * page);
    given(heap.pool.take_up_to(4 * page, slab), HEDDLE_SUCCESS, 4 * page);
    heap.use(slab, 2 * page);
    given(heap.pool.take_apart(3 * page, slab), HEDDLE_ERR_NO_MEMORY, 3 * page);
}

/* A slab that is taken into has room for one that comes back by that. */
void a_slab_changes()
{
    Heap heap(8 * page);
    Slab slab;
    for (int i = 0; i < 4; ++i) {
        given(heap.pool.take(4 * page, slab), HEDDLE_SUCCESS, 4 * page);
        given(heap.pool.take_apart(6 * page, slab), HEDDLE_SUCCESS, 6 * page);
    }
    same(heap.pool.in_use(), size_t{0}, "in use");
}

const ::gpu::AddTests tests{{"memory apart is given again", memory_apart_is_given_again},
                            {"the limit of a pool holds", the_limit_holds},
                            {"idle memory gives way", idle_memory_gives_way},
                            {"a slab changes", a_slab_changes}};

} // namespace
} // namespace sim_test
