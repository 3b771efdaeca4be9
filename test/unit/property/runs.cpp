/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where data lies: lists of runs and the point-based traversal.
 */
#include "properties.hpp"

#include <algorithm>
#include <limits>

namespace property {
namespace {

struct Run {
    int64_t displacement;
    int64_t length;
    bool operator==(const Run &) const = default;
};

std::ostream &operator<<(std::ostream &out, const Run &run)
{
    return out << '[' << run.displacement << ", +" << run.length << ')';
}

std::vector<Run> to_runs(const std::vector<iovec> &list, size_t length, uintptr_t base)
{
    std::vector<Run> runs;
    for (size_t i = 0; i < length; ++i)
        runs.push_back({static_cast<int64_t>(reinterpret_cast<uintptr_t>(list[i].iov_base) - base),
                        static_cast<int64_t>(list[i].iov_len)});
    return runs;
}

/* No address is followed, so that any will do; 0 as for types of absolute addresses. */
uintptr_t some_base(oracle::Rng &rng)
{
    return rng.percent(50) ? 0 : static_cast<uintptr_t>(rng.in(0, 1 << 30));
}

std::vector<Run> list_all(const Subject &s, int64_t count, uintptr_t base)
{
    int64_t length = -1, bytes = -1;
    succeeds(
        heddle_iov_len(count, s.type.get(), std::numeric_limits<int64_t>::max(), &length, &bytes),
        "iov_len");
    same(bytes, count * s.info.size, "iov_len: bytes");
    std::vector<iovec> list(static_cast<size_t>(length) + 1);
    int64_t actual = -1;
    succeeds(heddle_iov(reinterpret_cast<void *>(base), count, s.type.get(), 0, list.data(),
                        length + 1, &actual),
             "iov");
    same(actual, length, "iov: length of the whole list");
    return to_runs(list, static_cast<size_t>(actual), base);
}

/* The runs name the bytes of the typemap, in its order. */
void same_bytes(const std::vector<Run> &runs, const oracle::Packing &packing)
{
    int64_t entry = 0, inside = 0;
    for (size_t i = 0; i < runs.size(); ++i) {
        same(runs[i].length > 0, true, "run ", i, " is not empty");
        for (int64_t done = 0; done < runs[i].length;) {
            if (entry == packing.entries())
                fail("run ", i, " ", runs[i], " goes beyond the typemap's end");
            same(runs[i].displacement + done, packing.displacement(entry) + inside, "run ", i, " ",
                 runs[i], ", typemap entry ", entry, ": displacement");
            const int64_t part = std::min(runs[i].length - done, packing.size(entry) - inside);
            done += part;
            inside += part;
            if (inside == packing.size(entry)) {
                ++entry;
                inside = 0;
            }
        }
    }
    same(entry, packing.entries(), "typemap entries that the runs name");
}

/* Bytes [offset, offset + max_bytes) of the packed form, at most max_len runs. */
std::vector<Run> cut(const std::vector<Run> &runs, int64_t offset, int64_t max_len,
                     int64_t max_bytes)
{
    std::vector<Run> result;
    int64_t start = 0;
    for (const Run &run : runs) {
        const int64_t skip = std::max<int64_t>(0, offset - start);
        start += run.length;
        if (skip >= run.length)
            continue;
        const int64_t length = std::min(run.length - skip, max_bytes);
        if (length == 0 || static_cast<int64_t>(result.size()) == max_len)
            break;
        result.push_back({run.displacement + skip, length});
        max_bytes -= length;
    }
    return result;
}

/* The widest power of two, at most 16, that divides all displacements and lengths; 0: no runs. */
int widest_word(const std::vector<Run> &runs)
{
    int word = runs.empty() ? 0 : 16;
    for (const Run &run : runs)
        while (run.displacement % word != 0 || run.length % word != 0)
            word /= 2;
    return word;
}

void same_runs(const std::vector<Run> &got, const std::vector<Run> &expected,
               const std::string &where)
{
    same(got.size(), expected.size(), where, ": number of runs");
    for (size_t i = 0; i < got.size(); ++i)
        same(got[i], expected[i], where, ": run ", i);
}

} // namespace

bool iov(const Subject &s, oracle::Rng &rng)
{
    const int64_t count = s.random_count(rng);
    const oracle::Packing packing(s.map, count);
    const uintptr_t base = some_base(rng);
    const std::vector<Run> runs = list_all(s, count, base);
    same_bytes(runs, packing);
    const auto n = static_cast<int64_t>(runs.size());
    if (count == 1) {
        same(n, s.info.runs, "info.runs against the list of one instance");
        same(s.info.word, widest_word(runs), "info.word against the list of one instance");
    }
    same(n <= count * std::max<int64_t>(s.info.runs, 0), true, "runs of ", count,
         " instances do not exceed theirs");

    for (int i = 0; i < 3; ++i) {
        const int64_t first = rng.in(0, n);
        const int64_t max = rng.percent(50) ? rng.in(0, 4) : rng.in(0, n + 2);
        std::vector<iovec> list(static_cast<size_t>(max));
        int64_t actual = -1;
        const std::string where = text("iov from run ", first, ", at most ", max);
        succeeds(heddle_iov(reinterpret_cast<void *>(base), count, s.type.get(), first, list.data(),
                            max, &actual),
                 where);
        const std::vector<Run> expected(runs.begin() + first,
                                        runs.begin() + std::min(n, first + max));
        same(actual, static_cast<int64_t>(expected.size()), where, ": length");
        same_runs(to_runs(list, expected.size(), base), expected, where);
    }
    return true;
}

bool iov_bytes(const Subject &s, oracle::Rng &rng)
{
    const int64_t count = s.random_count(rng);
    const int64_t total = count * s.info.size;
    const uintptr_t base = some_base(rng);
    const std::vector<Run> runs = list_all(s, count, base);
    const auto n = static_cast<int64_t>(runs.size());

    for (int i = 0; i < 3; ++i) {
        const int64_t offset = rng.in(0, total);
        const int64_t max_len = rng.percent(50) ? n + 1 : rng.in(0, n);
        const int64_t max_bytes = rng.percent(30)   ? total
                                  : rng.percent(30) ? rng.in(0, 64)
                                                    : rng.in(0, total);
        const std::vector<Run> expected = cut(runs, offset, max_len, max_bytes);
        int64_t expected_bytes = 0;
        for (const Run &run : expected)
            expected_bytes += run.length;

        std::vector<iovec> list(static_cast<size_t>(max_len));
        int64_t length = -1, bytes = -1;
        const std::string where = text("iov_bytes from byte ", offset, ", at most ", max_len,
                                       " runs, ", max_bytes, " bytes");
        succeeds(heddle_iov_bytes(reinterpret_cast<void *>(base), count, s.type.get(), offset,
                                  list.data(), max_len, max_bytes, &length, &bytes),
                 where);
        same(length, static_cast<int64_t>(expected.size()), where, ": length");
        same_runs(to_runs(list, expected.size(), base), expected, where);
        same(bytes, expected_bytes, where, ": bytes");
    }

    const int64_t max_bytes = rng.in(0, total + 1);
    int64_t length = -1, bytes = -1;
    succeeds(heddle_iov_len(count, s.type.get(), max_bytes, &length, &bytes), "iov_len of ",
             max_bytes);
    same(length, static_cast<int64_t>(cut(runs, 0, n, max_bytes).size()), "iov_len of ", max_bytes,
         " bytes");
    same(bytes, std::min(max_bytes, total), "iov_len of ", max_bytes, " bytes: bytes");
    length = -1;
    succeeds(heddle_iov_len(count, s.type.get(), max_bytes, &length, nullptr),
             "iov_len without bytes");
    return true;
}

bool elements(const Subject &s, oracle::Rng &rng)
{
    const oracle::Packing packing(s.map, s.random_count(rng));
    const auto check = [&](int64_t count, int64_t start, int64_t bytes) {
        int64_t found = -1, used = -1;
        succeeds(heddle_count_elements(s.type.get(), bytes, &found, &used), "elements in ", bytes,
                 " bytes");
        same(found, count, "elements in ", bytes, " bytes");
        same(used, start, "bytes used of ", bytes);
        succeeds(heddle_bytes_of_elements(s.type.get(), count, &found), "bytes of ", count,
                 " elements");
        same(found, start, "bytes of ", count, " elements");
    };
    const int64_t step = std::max<int64_t>(1, packing.entries() / 200);
    for (int64_t entry = rng.in(0, step - 1); entry < packing.entries(); entry += step) {
        const int64_t start = packing.start(entry);
        check(entry, start, start);
        check(entry, start, start + rng.in(0, packing.size(entry) - 1));
    }
    check(packing.entries(), packing.total(), packing.total());
    if (s.info.size == 0) {
        int64_t bytes;
        same(heddle_bytes_of_elements(s.type.get(), 1, &bytes), int{HEDDLE_ERR_RANGE},
             "an element of none");
    }
    return true;
}

bool locate(const Subject &s, oracle::Rng &rng)
{
    const int64_t count = s.random_count(rng);
    const oracle::Packing packing(s.map, count);
    if (packing.total() == 0)
        return false;
    const std::vector<Run> runs = list_all(s, count, 0);
    std::vector<int64_t> ends;
    for (const Run &run : runs)
        ends.push_back((ends.empty() ? 0 : ends.back()) + run.length);

    const auto check = [&](int64_t offset) {
        int64_t displ = -1, run = -1;
        succeeds(heddle_locate(count, s.type.get(), offset, &displ, &run), "locate byte ", offset);
        same(displ, packing.locate(offset), "locate byte ", offset, " of ", count, ": displ");
        same(run, *std::upper_bound(ends.begin(), ends.end(), offset) - offset, "locate byte ",
             offset, " of ", count, ": run");
    };
    if (packing.total() <= 400) {
        for (int64_t offset = 0; offset < packing.total(); ++offset)
            check(offset);
        return true;
    }
    /* Every element of moderate types, steps through large ones, and bytes inside elements. */
    const int64_t step = std::max<int64_t>(1, packing.entries() / 200);
    for (int64_t entry = rng.in(0, step - 1); entry < packing.entries(); entry += step)
        check(packing.start(entry));
    for (int i = 0; i < 20; ++i)
        check(rng.in(0, packing.total() - 1));
    check(packing.total() - 1);
    return true;
}

} // namespace property
