/* SPDX-License-Identifier: BSD-3-Clause
 *
 * File views: what each data call leaves in a file through a view of any type, and finds there,
 * element by element.
 *
 * processes: 1 2 3 5
 */
#include "file_calls.hpp"

#include <functional>
#include <random>

using namespace standard_test;

namespace {

using Offsets = std::vector<MPI_Aint>;

/* A type of ints beside where MPI's definition puts each of them. */
struct Typed {
    MPI_Datatype type;
    Offsets at;
    std::string name;

    MPI_Aint extent() const
    {
        MPI_Aint lower, extent;
        MPI_Type_get_extent(type, &lower, &extent);
        return extent;
    }
    MPI_Aint place(long element) const
    {
        const auto per = static_cast<long>(at.size());
        return at[element % per] + element / per * extent();
    }
    /* Whether the first `elements` ascend, from 0 or later, and none lies on another. */
    bool ascends(long elements) const
    {
        if (at.empty() || at[0] < 0)
            return false;
        for (long i = 1; i < elements; ++i)
            if (place(i) < place(i - 1) + 4)
                return false;
        return true;
    }
};

Typed one_int() { return {MPI_INT, {0}, "int"}; }

/* Blocks of `old`, at byte displacements. */
Offsets blocks(const Typed &old, const Offsets &displacements, const std::vector<long> &lengths)
{
    Offsets at;
    for (size_t i = 0; i < displacements.size(); ++i)
        for (long k = 0; k < lengths[i]; ++k)
            for (const MPI_Aint a : old.at)
                at.push_back(displacements[i] + k * old.extent() + a);
    return at;
}

std::string text(const std::vector<long> &numbers)
{
    std::string s;
    for (const long n : numbers)
        s += (s.empty() ? "[" : " ") + std::to_string(n);
    return s + "]";
}

template <class T, class From> std::vector<T> as(const From &from)
{
    return {from.begin(), from.end()};
}

Offsets scaled(const std::vector<long> &displacements, MPI_Aint unit)
{
    Offsets bytes;
    for (const long d : displacements)
        bytes.push_back(d * unit);
    return bytes;
}

/* The constructors; `large`: by that of large counts. */

Typed vector(const Typed &old, int count, int length, int stride, bool large)
{
    Typed t{MPI_DATATYPE_NULL, {}, ""};
    if (large)
        MPI_Type_vector_c(count, length, stride, old.type, &t.type);
    else
        MPI_Type_vector(count, length, stride, old.type, &t.type);
    std::vector<long> places(count);
    for (int i = 0; i < count; ++i)
        places[i] = static_cast<long>(i) * stride;
    t.at = blocks(old, scaled(places, old.extent()), std::vector<long>(count, length));
    t.name = "vector" + text({count, length, stride}) + " of " + old.name;
    return t;
}

Typed indexed(const Typed &old, const std::vector<long> &lengths, const std::vector<long> &places,
              bool large)
{
    Typed t{MPI_DATATYPE_NULL, blocks(old, scaled(places, old.extent()), lengths),
            "indexed" + text(lengths) + text(places) + " of " + old.name};
    const auto n = static_cast<int>(lengths.size());
    if (large)
        MPI_Type_indexed_c(n, as<MPI_Count>(lengths).data(), as<MPI_Count>(places).data(), old.type,
                           &t.type);
    else
        MPI_Type_indexed(n, as<int>(lengths).data(), as<int>(places).data(), old.type, &t.type);
    return t;
}

Typed hindexed(const Typed &old, const std::vector<long> &lengths, const std::vector<long> &bytes,
               bool large)
{
    Typed t{MPI_DATATYPE_NULL, blocks(old, as<MPI_Aint>(bytes), lengths),
            "hindexed" + text(lengths) + text(bytes) + " of " + old.name};
    const auto n = static_cast<int>(lengths.size());
    if (large)
        MPI_Type_create_hindexed_c(n, as<MPI_Count>(lengths).data(), as<MPI_Count>(bytes).data(),
                                   old.type, &t.type);
    else
        MPI_Type_create_hindexed(n, as<int>(lengths).data(), as<MPI_Aint>(bytes).data(), old.type,
                                 &t.type);
    return t;
}

Typed hindexed_block(const Typed &old, int length, const std::vector<long> &bytes, bool large)
{
    Typed t{MPI_DATATYPE_NULL,
            blocks(old, as<MPI_Aint>(bytes), std::vector<long>(bytes.size(), length)),
            "hindexed_block" + text(bytes) + " of " + old.name};
    const auto n = static_cast<int>(bytes.size());
    if (large)
        MPI_Type_create_hindexed_block_c(n, length, as<MPI_Count>(bytes).data(), old.type, &t.type);
    else
        MPI_Type_create_hindexed_block(n, length, as<MPI_Aint>(bytes).data(), old.type, &t.type);
    return t;
}

Typed structure(const std::vector<Typed> &members, const std::vector<long> &lengths,
                const std::vector<long> &bytes, bool large)
{
    Typed t{MPI_DATATYPE_NULL, {}, "struct" + text(lengths) + text(bytes) + " of"};
    std::vector<MPI_Datatype> types;
    for (size_t i = 0; i < members.size(); ++i) {
        const Offsets at = blocks(members[i], {bytes[i]}, {lengths[i]});
        t.at.insert(t.at.end(), at.begin(), at.end());
        types.push_back(members[i].type);
        t.name += " " + members[i].name;
    }
    const auto n = static_cast<int>(members.size());
    if (large)
        MPI_Type_create_struct_c(n, as<MPI_Count>(lengths).data(), as<MPI_Count>(bytes).data(),
                                 types.data(), &t.type);
    else
        MPI_Type_create_struct(n, as<int>(lengths).data(), as<MPI_Aint>(bytes).data(), types.data(),
                               &t.type);
    return t;
}

Typed resized(const Typed &old, MPI_Aint lower, MPI_Aint extent, bool large)
{
    Typed t{MPI_DATATYPE_NULL, old.at, "resized" + text({lower, extent}) + " of " + old.name};
    if (large)
        MPI_Type_create_resized_c(old.type, lower, extent, &t.type);
    else
        MPI_Type_create_resized(old.type, lower, extent, &t.type);
    return t;
}

Typed subarray(const Typed &old, int rows, int columns, int part_rows, int part_columns, int row,
               int column, bool fortran, bool large)
{
    Typed t{
        MPI_DATATYPE_NULL, {}, std::string(fortran ? "Fortran" : "C") + " subarray of " + old.name};
    std::vector<int> whole = {rows, columns}, part = {part_rows, part_columns},
                     start = {row, column};
    if (fortran)
        for (auto *dims : {&whole, &part, &start})
            std::swap((*dims)[0], (*dims)[1]);
    const int order = fortran ? MPI_ORDER_FORTRAN : MPI_ORDER_C;
    if (large)
        MPI_Type_create_subarray_c(2, as<MPI_Count>(whole).data(), as<MPI_Count>(part).data(),
                                   as<MPI_Count>(start).data(), order, old.type, &t.type);
    else
        MPI_Type_create_subarray(2, whole.data(), part.data(), start.data(), order, old.type,
                                 &t.type);
    for (int i = row; i < row + part_rows; ++i) {
        const Offsets at = blocks(old, {(i * columns + column) * old.extent()}, {part_columns});
        t.at.insert(t.at.end(), at.begin(), at.end());
    }
    return t;
}

/* The elements of the first dimension go round among four processes, two at a time; this is the
 * second of them. */
Typed darray(const Typed &old, int rows, int columns, bool large)
{
    Typed t{MPI_DATATYPE_NULL, {}, "darray of " + old.name};
    const std::vector<int> whole = {rows, columns},
                           kinds = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE},
                           parts = {2, MPI_DISTRIBUTE_DFLT_DARG}, grid = {4, 1};
    if (large)
        MPI_Type_create_darray_c(4, 1, 2, as<MPI_Count>(whole).data(), kinds.data(), parts.data(),
                                 grid.data(), MPI_ORDER_C, old.type, &t.type);
    else
        MPI_Type_create_darray(4, 1, 2, whole.data(), kinds.data(), parts.data(), grid.data(),
                               MPI_ORDER_C, old.type, &t.type);
    for (int i = 0; i < rows; ++i)
        if (i / 2 % 4 == 1) {
            const Offsets at = blocks(old, {i * columns * old.extent()}, {columns});
            t.at.insert(t.at.end(), at.begin(), at.end());
        }
    return t;
}

std::vector<Typed> named_types(bool large)
{
    const Typed i = one_int();
    const Typed part = subarray(i, 4, 6, 2, 3, 1, 2, false, large),
                column = subarray(i, 5, 4, 3, 2, 2, 1, true, large);
    const Typed holes = resized(i, 0, 12, large),
                pair = resized(vector(i, 2, 1, 1, large), 0, 16, large);
    const Typed stepped = vector(i, 2, 1, 2, large), block = indexed(i, {1, 2}, {0, 3}, large);
    return {holes,
            resized(resized(i, 4, 12, large), 4, 20, large),
            resized(pair, -4, 24, large),
            vector(holes, 3, 2, 4, large),
            vector(stepped, 2, 2, 3, large),
            vector(block, 2, 2, 3, large),
            hindexed(stepped, {1, 2}, {0, 64}, large),
            hindexed(pair, {2, 0, 1}, {0, 40, 48}, large),
            hindexed_block(stepped, 2, {0, 32}, large),
            part,
            column,
            indexed(part, {1, 2}, {0, 2}, large),
            hindexed(part, {1, 1}, {0, 200}, large),
            hindexed_block(column, 1, {16, 160}, large),
            structure({part, column}, {1, 2}, {0, 100}, large),
            structure({i, stepped, i}, {2, 0, 1}, {4, 20, 40}, large),
            vector(structure({i, block}, {1, 2}, {0, 12}, large), 2, 1, 2, large),
            darray(i, 11, 3, large),
            darray(pair, 9, 2, large),
            resized(hindexed(i, {2}, {8}, large), 0, 24, large),
            resized(hindexed(i, {2}, {8}, large), 8, 8, large)};
}

/* Types of up to four levels, of which no two are made alike. */
Typed random_type(std::mt19937 &random)
{
    const auto below = [&](int n) { return static_cast<long>(random() % n); };
    Typed t = one_int();
    for (long level = 0, levels = 1 + below(4); level < levels; ++level) {
        const bool large = below(2);
        const long unit = t.extent(), a = below(3), b = below(3), gap = below(3);
        switch (below(6)) {
        case 0:
            t = vector(t, 1 + a, 1 + b, 1 + b + gap, large);
            break;
        case 1:
            t = indexed(t, {a, b, 1}, {gap, gap + a, gap + a + b + 1}, large);
            break;
        case 2:
            t = hindexed(t, {1, b}, {4 * a, 4 * a + (1 + gap) * unit}, large);
            break;
        case 3:
            t = subarray(t, 2 + a, 3, 1 + a, 2, gap % 2, 1, below(2), large);
            break;
        case 4:
            t = resized(t, gap % 2 ? -4 : 0, unit + 4 * (1 + a), large);
            break;
        default:
            t = structure({t, one_int()}, {1 + a, 1}, {0, (2 + a) * unit}, large);
        }
    }
    return t;
}

/* ---- one view, one call ---------------------------------------------------------------------- */

int value(int process, long element)
{
    return process * 100003 + static_cast<int>(element) * 7 + 1;
}

/* Where ints lie in memory: side by side, or apart and from behind. */
struct Layout {
    explicit Layout(bool apart) : apart_(apart)
    {
        MPI_Type_contiguous(1, MPI_INT, &type_);
        if (apart)
            MPI_Type_create_resized(MPI_INT, 0, -8, &type_);
        MPI_Type_commit(&type_);
    }
    ~Layout() { MPI_Type_free(&type_); }
    Layout(const Layout &) = delete;
    MPI_Datatype type() const { return type_; }
    size_t index(long element, long elements) const
    {
        return apart_ ? 2 * (elements - 1 - element) : element;
    }
    size_t ints(long elements) const { return apart_ ? 2 * elements : elements; }

private:
    bool apart_;
    MPI_Datatype type_;
};

class Trial {
public:
    Trial(const File &file, const Typed &view, const Form &form, bool apart)
        : file_(file),
          view_(view),
          form_(form),
          layout_(apart),
          per_(static_cast<long>(view.at.size())),
          elements_(2 * per_ + (per_ + 1) / 2),
          what_("write" + form.name + " through " + view.name)
    {
        ordered_ = form.pointer == Pointer::shared;
        region_ = ordered_ ? 0 : view.place(elements_) + 4 * 30;
    }

    void run()
    {
        if (!view_.ascends(elements_ * (ordered_ ? size : 1)))
            return;
        const std::vector<unsigned char> expected = image();
        file_.put(std::vector<unsigned char>(expected.size(), 0xCC));
        if (!check_success(MPI_File_set_view(file_, displacement(rank), MPI_INT, view_.type,
                                             "native", MPI_INFO_NULL),
                           what_ + ": set_view"))
            return;
        move(form_.write);
        check(file_.get() == expected, what_ + ": the file differs");
        MPI_Barrier(MPI_COMM_WORLD);

        file_.put(expected);
        MPI_File_seek(file_, 0, MPI_SEEK_SET);
        MPI_File_seek_shared(file_, 0, MPI_SEEK_SET);
        what_ = "read" + form_.name + " through " + view_.name;
        move(form_.read);
    }

private:
    MPI_Offset displacement(int process) const { return 8 + process * region_; }

    std::vector<unsigned char> image() const
    {
        std::vector<unsigned char> bytes;
        for (int p = 0; p < size; ++p)
            for (long i = 0; i < elements_; ++i) {
                const size_t at = displacement(p) + view_.place(i + (ordered_ ? p * elements_ : 0));
                const int number = value(p, i);
                bytes.resize(std::max(bytes.size(), at + 4), 0xCC);
                std::memcpy(&bytes[at], &number, 4);
            }
        return bytes;
    }

    void move(DataCall call)
    {
        const bool writes = call == form_.write;
        std::vector<int> ints(layout_.ints(elements_), -1), full = ints;
        for (long i = 0; i < elements_; ++i)
            full[layout_.index(i, elements_)] = value(rank, i);
        if (writes)
            ints = full;
        MPI_Status status;
        int moved = -1;
        if (check_success(file_.run(form_, call, 0, &ints[layout_.index(0, elements_)],
                                    static_cast<int>(elements_), layout_.type(), &status),
                          what_)) {
            MPI_Get_count(&status, layout_.type(), &moved);
            check_equal(moved, elements_, what_ + ": count");
            check(ints == full, what_ + ": memory differs");
        }
        if (form_.pointer == Pointer::individual) {
            MPI_Offset position = -1;
            MPI_File_get_position(file_, &position);
            check_equal(position, elements_, what_ + ": position");
        }
    }

    const File &file_;
    const Typed &view_;
    const Form &form_;
    Layout layout_;
    long per_, elements_;
    bool ordered_;
    MPI_Aint region_;
    std::string what_;
};

/* The same type, of which the processes' instances lie in turn. */
void interleaved(const File &file, const Typed &view, const Form &form)
{
    const MPI_Aint extent = view.extent();
    const long per = static_cast<long>(view.at.size()), elements = 2 * per;
    if (!form.collective || form.pointer != Pointer::individual || !view.ascends(elements))
        return;
    const std::string what = form.name + " in turns through " + view.name;
    MPI_Aint lower, ignored;
    MPI_Type_get_extent(view.type, &lower, &ignored);
    Typed wide = resized(view, lower, extent * size, false);
    MPI_Type_commit(&wide.type);
    std::vector<unsigned char> expected;
    for (int p = 0; p < size; ++p)
        for (long i = 0; i < elements; ++i) {
            const size_t at = p * extent + wide.place(i);
            const int number = value(p, i);
            expected.resize(std::max(expected.size(), at + 4), 0xCC);
            std::memcpy(&expected[at], &number, 4);
        }
    file.put(std::vector<unsigned char>(expected.size(), 0xCC));
    check_success(
        MPI_File_set_view(file, rank * extent, MPI_INT, wide.type, "native", MPI_INFO_NULL), what);
    std::vector<int> ints(elements), back(elements, -1);
    for (long i = 0; i < elements; ++i)
        ints[i] = value(rank, i);
    check_success(file.run(form, form.write, 0, ints.data(), static_cast<int>(elements), MPI_INT,
                           MPI_STATUS_IGNORE),
                  "write" + what);
    check(file.get() == expected, "write" + what + ": the file differs");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_seek(file, 0, MPI_SEEK_SET);
    check_success(file.run(form, form.read, 0, back.data(), static_cast<int>(elements), MPI_INT,
                           MPI_STATUS_IGNORE),
                  "read" + what);
    check(back == ints, "read" + what + ": memory differs");
    MPI_Type_free(&wide.type);
}

void views(const File &file)
{
    std::vector<Typed> types = named_types(false);
    for (const Typed &t : named_types(true))
        types.push_back(t);
    std::mt19937 random(5);
    for (int i = 0; i < 24; ++i) {
        const Typed t = random_type(random);
        if (t.at.size() <= 200)
            types.push_back(t);
    }
    size_t turn = 0;
    for (Typed &t : types) {
        MPI_Type_commit(&t.type);
        Trial(file, t, forms()[5 * turn % forms().size()], turn % 3 == 0).run();
        if (turn % 2)
            interleaved(file, t, forms()[turn % 3 == 0 ? 1 : turn % 3 == 1 ? 7 : 11]);
        ++turn;
    }
    /* Each call through one that is not easy. */
    for (const Form &form : forms())
        Trial(file, types[11], form, true).run();
}

/* A view that must not be is an error at all processes, and the one before it stays. */
void wrong_views(const File &file)
{
    const Typed i = one_int();
    std::vector<Typed> wrong = {
        hindexed(i, {1, 1}, {8, 0}, false), hindexed(i, {1, 1}, {-8, 0}, true),
        hindexed(i, {2, 1}, {0, 4}, false), hindexed(i, {4, 1, 1}, {0, 4, 20}, true)};
    const int good[2] = {11, 12};
    file.put({});
    MPI_File_set_view(file, 4 * rank, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    for (Typed &t : wrong) {
        MPI_Type_commit(&t.type);
        const MPI_Datatype type = rank == size - 1 ? t.type : MPI_INT;
        check(MPI_File_set_view(file, 0, MPI_INT, type, "native", MPI_INFO_NULL) != MPI_SUCCESS,
              t.name + " as a view: no error");
    }
    MPI_File_write(file, good, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    check_equal(static_cast<long>(file.get().size()), 4 * size, "the view before a wrong one");
    MPI_Barrier(MPI_COMM_WORLD);
}

} // namespace

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        const File file("file_views");
        views(file);
        wrong_views(file);
    });
}
