// SPDX-License-Identifier: BSD-3-Clause
// The C API of what moves or lists data.
#include "engine/guard.hpp"
#include "engine/runs.hpp"
#include "engine/transfer.hpp"

#include <algorithm>

using namespace heddle;

int heddle_pack(const void *inbuf, int64_t count, const heddle_type *type, int64_t offset,
                void *outbuf, int64_t max_bytes, int64_t *actual)
{
    Message m;
    if (Error e = m.set(count, type))
        return e.code();
    if (!actual || max_bytes < 0 || (max_bytes > 0 && m.bytes > 0 && !outbuf))
        return HEDDLE_ERR_ARG;
    if (Error e = m.check_offset(offset))
        return e.code();
    int64_t end = offset + std::min(max_bytes, m.bytes - offset);
    if (end > offset)
        end = whole_elements(*m.plan, count, offset, end);
    pack_range(*m.plan, count, inbuf, outbuf, offset, end);
    *actual = end - offset;
    return HEDDLE_SUCCESS;
}

int heddle_unpack(const void *inbuf, int64_t insize, void *outbuf, int64_t count,
                  const heddle_type *type, int64_t offset, int64_t *actual)
{
    Message m;
    if (Error e = m.set(count, type))
        return e.code();
    if (!actual || insize < 0 || (insize > 0 && m.bytes > 0 && !inbuf))
        return HEDDLE_ERR_ARG;
    if (Error e = m.check_offset(offset))
        return e.code();
    const int64_t n = std::min(insize, m.bytes - offset);
    unpack_range(*m.plan, count, outbuf, inbuf, offset, offset + n);
    *actual = n;
    return HEDDLE_SUCCESS;
}

int heddle_copy(const void *inbuf, int64_t incount, const heddle_type *intype, void *outbuf,
                int64_t outcount, const heddle_type *outtype, int64_t offset, int64_t length,
                int64_t *actual)
{
    Message in, out;
    if (Error e = in.set(incount, intype))
        return e.code();
    if (Error e = out.set(outcount, outtype))
        return e.code();
    if (!actual || length < 0)
        return HEDDLE_ERR_ARG;
    if (Error e = in.check_offset(offset))
        return e.code();
    if (Error e = out.check_offset(offset))
        return e.code();
    const int64_t n = std::min({length, in.bytes - offset, out.bytes - offset});
    copy_range(*in.plan, incount, inbuf, *out.plan, outcount, outbuf, offset, offset + n);
    *actual = n;
    return HEDDLE_SUCCESS;
}

int heddle_locate(int64_t count, const heddle_type *type, int64_t offset, int64_t *displ,
                  int64_t *run)
{
    Message m;
    if (Error e = m.set(count, type))
        return e.code();
    if (!displ || !run)
        return HEDDLE_ERR_ARG;
    if (offset < 0 || offset >= m.bytes)
        return HEDDLE_ERR_RANGE;
    const Plan &p = *m.plan;
    if (p.contiguous) {
        *displ = p.displ + offset;
        *run = m.bytes - offset;
        return HEDDLE_SUCCESS;
    }
    const Location l = locate(p, offset);
    *displ = l.displ;
    *run = l.run;
    return HEDDLE_SUCCESS;
}

int heddle_iov_len(int64_t count, const heddle_type *type, int64_t max_bytes, int64_t *len,
                   int64_t *bytes)
{
    Message m;
    if (Error e = m.set(count, type))
        return e.code();
    if (!len || max_bytes < 0)
        return HEDDLE_ERR_ARG;
    const Plan &p = *m.plan;
    const int64_t n = std::min(max_bytes, m.bytes);
    int64_t runs = 0;
    if (p.contiguous)
        runs = n > 0;
    else if (n > 0) {
        const int64_t i = p.by_bytes.divide(n);
        if (__builtin_mul_overflow(i, p.runs, &runs))
            return HEDDLE_ERR_OVERFLOW;
        runs += runs_before(p.image.view(), n - i * p.bytes);
    }
    *len = runs;
    if (bytes)
        *bytes = n;
    return HEDDLE_SUCCESS;
}

namespace {

// Lists runs of packed bytes [lo, hi) until the list is full; returns its length.
int64_t list_runs(const void *buf, const Message &m, int64_t lo, int64_t hi, struct iovec *iov,
                  int64_t max_len)
{
    int64_t n = 0;
    const auto base = reinterpret_cast<uintptr_t>(buf);
    if (max_len > 0)
        visit_instances(
            *m.plan, false, m.count, lo, hi, [&](int64_t displ, int64_t bytes, uint8_t) {
                iov[n].iov_base = reinterpret_cast<void *>(base + static_cast<uintptr_t>(displ));
                iov[n].iov_len = static_cast<size_t>(bytes);
                return ++n < max_len;
            });
    return n;
}

} // namespace

int heddle_iov(const void *buf, int64_t count, const heddle_type *type, int64_t first,
               struct iovec *iov, int64_t max_len, int64_t *actual_len)
{
    Message m;
    if (Error e = m.set(count, type))
        return e.code();
    if (!actual_len || max_len < 0 || (max_len > 0 && !iov))
        return HEDDLE_ERR_ARG;
    const Plan &p = *m.plan;
    int64_t total;
    if (p.contiguous)
        total = m.bytes > 0;
    else if (__builtin_mul_overflow(count, p.runs, &total))
        return HEDDLE_ERR_OVERFLOW;
    if (first < 0 || first > total)
        return HEDDLE_ERR_RANGE;
    *actual_len = 0;
    if (first == total)
        return HEDDLE_SUCCESS;
    int64_t lo = 0;
    if (first > 0)
        lo = first / p.runs * p.bytes + byte_of_run(p.image.view(), first % p.runs);
    *actual_len = list_runs(buf, m, lo, m.bytes, iov, max_len);
    return HEDDLE_SUCCESS;
}

int heddle_iov_bytes(const void *buf, int64_t count, const heddle_type *type, int64_t offset,
                     struct iovec *iov, int64_t max_len, int64_t max_bytes, int64_t *actual_len,
                     int64_t *actual_bytes)
{
    Message m;
    if (Error e = m.set(count, type))
        return e.code();
    if (!actual_len || !actual_bytes || max_len < 0 || max_bytes < 0 || (max_len > 0 && !iov))
        return HEDDLE_ERR_ARG;
    if (Error e = m.check_offset(offset))
        return e.code();
    const int64_t hi = offset + std::min(max_bytes, m.bytes - offset);
    const int64_t n = list_runs(buf, m, offset, hi, iov, max_len);
    int64_t bytes = 0;
    for (int64_t i = 0; i < n; ++i)
        bytes += static_cast<int64_t>(iov[i].iov_len);
    *actual_len = n;
    *actual_bytes = bytes;
    return HEDDLE_SUCCESS;
}
