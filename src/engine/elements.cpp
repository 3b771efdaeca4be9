// SPDX-License-Identifier: BSD-3-Clause
// Counting: how many predefined elements the first bytes of a packed form hold, and how many bytes
// the first elements take. A pair is two elements.
#include "engine/guard.hpp"
#include "engine/measure.hpp"

namespace heddle {

namespace {

// The beginning of a packed form, up to the end of an element.
struct Beginning {
    int64_t elements = 0;
    int64_t bytes = 0;
};

int64_t worth(const PredefinedInfo &p) { return p.pair ? 2 : 1; }

// The elements that lie whole in the first `bytes` of an array of one predefined type.
Beginning within_array(heddle_predefined kind, int64_t bytes)
{
    const PredefinedInfo &p = predefined_info(kind);
    const int64_t first = predefined_info(p.value).size;
    const int64_t whole = bytes / p.size;
    if (p.pair && bytes - whole * p.size >= first)
        return {2 * whole + 1, whole * p.size + first};
    return {whole * worth(p), whole * p.size};
}

int64_t bytes_in_array(heddle_predefined kind, int64_t elements)
{
    const PredefinedInfo &p = predefined_info(kind);
    return elements / worth(p) * p.size + elements % worth(p) * predefined_info(p.value).size;
}

// The elements that lie whole in the first `bytes` of one instance, fewer than it has.
Beginning within_instance(const Measure &elements, int64_t bytes)
{
    Beginning passed;
    for (int32_t k = 0;;) {
        const ImageNode &n = elements.node(k);
        const int64_t left = bytes - passed.bytes;
        if (n.label != HEDDLE_MIXED) {
            const Beginning last = within_array(label(n), left);
            return {passed.elements + last.elements, passed.bytes + last.bytes};
        }
        if (n.kind == NodeKind::concat) {
            const int64_t *links = elements.view().links(n);
            const int64_t *before = elements.view().prefix(n);
            const int64_t member = find_block(before, n.count, left);
            for (int64_t i = 0; i < member; ++i)
                passed.elements += elements.of(static_cast<int32_t>(links[i]));
            passed.bytes += before[member];
            k = static_cast<int32_t>(links[member]);
        } else {
            const int64_t children = n.by_bytes.divide(left);
            passed.elements += children * elements.of(n.child);
            passed.bytes += children * n.bytes;
            k = n.child;
        }
    }
}

// The bytes of the first `count` elements of one instance, fewer than it has.
int64_t bytes_in_instance(const Measure &elements, int64_t count)
{
    int64_t bytes = 0;
    for (int32_t k = 0;;) {
        const ImageNode &n = elements.node(k);
        if (n.label != HEDDLE_MIXED)
            return bytes + bytes_in_array(label(n), count);
        if (n.kind == NodeKind::concat) {
            const int64_t *links = elements.view().links(n);
            for (k = static_cast<int32_t>(*links); count >= elements.of(k);
                 k = static_cast<int32_t>(*++links)) {
                count -= elements.of(k);
                bytes += elements.packed(k);
            }
        } else {
            bytes += count / elements.of(n.child) * n.bytes;
            count %= elements.of(n.child);
            k = n.child;
        }
    }
}

} // namespace

} // namespace heddle

using namespace heddle;

int heddle_count_elements(const heddle_type *type, int64_t bytes, int64_t *elements, int64_t *used)
{
    Message m;
    if (const Error e = m.set(1, type))
        return e.code();
    if (!elements || bytes < 0)
        return HEDDLE_ERR_ARG;
    return guard([&] {
        const int64_t whole = m.bytes > 0 ? bytes / m.bytes : 0;
        Beginning found{whole * type->elements, whole * m.bytes};
        if (m.bytes > 0 && found.bytes < bytes) {
            const Beginning last =
                within_instance(Measure(m.plan->typed_image(), worth), bytes - found.bytes);
            found = {found.elements + last.elements, found.bytes + last.bytes};
        }
        *elements = found.elements;
        if (used)
            *used = found.bytes;
        return HEDDLE_SUCCESS;
    });
}

int heddle_bytes_of_elements(const heddle_type *type, int64_t elements, int64_t *bytes)
{
    Message m;
    if (const Error e = m.set(1, type))
        return e.code();
    if (!bytes || elements < 0)
        return HEDDLE_ERR_ARG;
    if (m.bytes == 0) {
        *bytes = 0;
        return elements == 0 ? HEDDLE_SUCCESS : HEDDLE_ERR_RANGE;
    }
    return guard([&] {
        const int64_t whole = elements / type->elements;
        const int64_t rest = elements % type->elements;
        const int64_t last =
            rest > 0 ? bytes_in_instance(Measure(m.plan->typed_image(), worth), rest) : 0;
        int64_t sum;
        if (__builtin_mul_overflow(whole, m.bytes, &sum) || __builtin_add_overflow(sum, last, &sum))
            return HEDDLE_ERR_OVERFLOW;
        *bytes = sum;
        return HEDDLE_SUCCESS;
    });
}
