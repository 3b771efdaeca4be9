/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Data calls that move nothing: zero counts, types without data, null buffers, views without data,
 * on some processes or on all. They succeed, end, and leave the file and its pointers as they are.
 *
 * processes: 1 2 3 5
 */
#include "file_calls.hpp"

using namespace standard_test;

namespace {

struct Empty {
    std::string name;
    MPI_Datatype type;
    int count;
};

std::vector<Empty> empty_buffers()
{
    const int none[2] = {0, 0}, places[2] = {4, 9};
    const MPI_Aint bytes[2] = {8, 16};
    const MPI_Datatype kinds[2] = {MPI_INT, MPI_DOUBLE};
    MPI_Datatype contiguous, vector, blocks, indexed, record, no_record, resized, nested, stepped,
        copy;
    MPI_Type_contiguous(0, MPI_INT, &contiguous);
    MPI_Type_vector(0, 3, 5, MPI_INT, &vector);
    MPI_Type_vector(3, 0, 5, MPI_INT, &blocks);
    MPI_Type_indexed(2, none, places, MPI_INT, &indexed);
    MPI_Type_create_struct(2, none, bytes, kinds, &record);
    MPI_Type_create_struct(0, none, bytes, kinds, &no_record);
    MPI_Type_create_resized(contiguous, 0, 16, &resized);
    MPI_Type_contiguous_c(5, vector, &nested);
    MPI_Type_dup(resized, &copy);
    MPI_Type_vector(3, 1, 2, MPI_INT, &stepped);
    std::vector<Empty> all = {{"no ints", MPI_INT, 0},
                              {"no vectors", stepped, 0},
                              {"contiguous(0)", contiguous, 2},
                              {"vector(0)", vector, 2},
                              {"vector of no ints", blocks, 3},
                              {"indexed", indexed, 2},
                              {"struct of nothing", record, 2},
                              {"struct of no members", no_record, 1},
                              {"resized", resized, 3},
                              {"nested", nested, 2},
                              {"duplicate", copy, 4}};
    for (Empty &e : all)
        MPI_Type_commit(&e.type);
    return all;
}

void moves_nothing(const File &file, const Form &form, const Empty &e, bool null,
                   const std::string &view)
{
    const std::string what = form.name + " of " + e.name + (null ? ", null buffer, " : ", ") + view;
    const auto before = file.get();
    int memory[4] = {1, 2, 3, 4};
    MPI_Barrier(MPI_COMM_WORLD);
    for (const bool writes : {true, false}) {
        MPI_Status status;
        MPI_Count bytes = -1;
        const int error = file.run(form, writes ? form.write : form.read, 1,
                                   null ? nullptr : memory, e.count, e.type, &status);
        if (!check_success(error, (writes ? "write" : "read") + what))
            continue;
        MPI_Get_elements_x(&status, MPI_BYTE, &bytes);
        check_equal(bytes, 0, (writes ? "write" : "read") + what + ": bytes");
    }
    MPI_Offset own = -1, shared = -1;
    MPI_File_get_position(file, &own);
    MPI_File_get_position_shared(file, &shared);
    check_equal(own, 0, what + ": position");
    check_equal(shared, 0, what + ": shared position");
    check(memory[0] == 1 && memory[3] == 4, what + ": memory differs");
    check(file.get() == before, what + ": the file differs");
    MPI_Barrier(MPI_COMM_WORLD);
}

void nothing_to_move(const File &file)
{
    MPI_Datatype apart, interleaved;
    MPI_Type_create_resized(MPI_INT, 0, 8, &apart);
    MPI_Type_create_resized(MPI_INT, 0, 4 * size, &interleaved);
    MPI_Type_commit(&apart);
    MPI_Type_commit(&interleaved);
    const std::vector<std::pair<std::string, MPI_Datatype>> views = {
        {"through ints", MPI_INT}, {"through holes", apart}, {"in turns", interleaved}};
    const auto buffers = empty_buffers();
    size_t turn = 0;
    for (const char *datarep : {"native", "external32"})
        for (const auto &[name, view] : views) {
            check_success(MPI_File_set_view(file, 4 * rank, MPI_INT, view, datarep, MPI_INFO_NULL),
                          "set_view " + name);
            for (const Form &form : forms())
                moves_nothing(file, form, buffers[turn % buffers.size()], turn / buffers.size() % 2,
                              name + ", " + datarep),
                    ++turn;
        }
}

/* Some processes have something. */
void some_move_nothing(const File &file)
{
    MPI_Datatype interleaved;
    MPI_Type_create_resized(MPI_INT, 0, 4 * size, &interleaved);
    MPI_Type_commit(&interleaved);
    const auto buffers = empty_buffers();
    size_t turn = 0;
    for (const Form &form : forms()) {
        if (!form.collective)
            continue;
        const bool shared = form.pointer == Pointer::shared;
        file.put(std::vector<unsigned char>(8 * size)); /* what a gap holds at first is not said */
        MPI_File_set_view(file, shared ? 0 : 4 * rank, MPI_INT, shared ? MPI_INT : interleaved,
                          "native", MPI_INFO_NULL);
        const Empty &e = buffers[turn++ % buffers.size()];
        const bool has = rank % 2 == 0;
        int numbers[2] = {rank + 1, rank + 1};
        check_success(file.run(form, form.write, 0, has ? numbers : nullptr, has ? 2 : e.count,
                               has ? MPI_INT : e.type, MPI_STATUS_IGNORE),
                      "write" + form.name + " by some");
        const auto found = file.get();
        int sum = 0, expected = 0;
        for (size_t i = 0; i + 4 <= found.size(); i += 4) {
            int n;
            std::memcpy(&n, &found[i], 4);
            sum += n;
        }
        for (int p = 0; p < size; p += 2)
            expected += 2 * (p + 1);
        check_equal(sum, expected, "write" + form.name + " by some: sum");
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* Through a view without data nothing is to be had, whatever is asked for. */
void views_without_data(const File &file)
{
    const Empty some{"ints", MPI_INT, 2};
    const auto empty = empty_buffers();
    size_t turn = 0;
    for (const Form &form : forms()) {
        const MPI_Datatype view = empty[2 + turn++ % (empty.size() - 2)].type;
        check_success(
            MPI_File_set_view(file, 0, turn % 2 ? MPI_INT : view, view, "native", MPI_INFO_NULL),
            "set_view without data");
        moves_nothing(file, form, turn % 3 ? some : empty[turn % empty.size()], false,
                      "a view without data");
        MPI_Offset offset = -1;
        MPI_File_seek(file, 0, MPI_SEEK_END);
        MPI_File_get_byte_offset(file, 0, &offset);
    }
}

} // namespace

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        const File file("file_nothing");
        file.put({});
        nothing_to_move(file);
        some_move_nothing(file);
        file.put(std::vector<unsigned char>(40, 7));
        views_without_data(file);
    });
}
