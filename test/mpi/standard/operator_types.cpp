// SPDX-License-Identifier: BSD-3-Clause
// Every call that takes an operator returns MPI_ERR_OP for a type that does not have it (MPI 4.0,
// section 6.9.2). Operators that a type has are taken.
#include "standard_test.hpp"

#include <functional>

using namespace standard_test;

namespace {

/* Whatever takes an operator on `MPI_COMM_WORLD`, of one element;
 * `request` is free unless it was begun. */
struct Reduction {
    const char *name;
    std::function<int(void *, void *, MPI_Datatype, MPI_Op, MPI_Request *)> call;
};

std::vector<Reduction> reductions()
{
    static std::vector<int> ones;
    static std::vector<MPI_Count> large_ones;
    ones.assign(static_cast<size_t>(size), 1);
    large_ones.assign(static_cast<size_t>(size), 1);
    const MPI_Comm world = MPI_COMM_WORLD;
    const MPI_Info none = MPI_INFO_NULL;
#define CALL(expression)                                                                           \
    [=]([[maybe_unused]] void *s, [[maybe_unused]] void *r, [[maybe_unused]] MPI_Datatype t,       \
        MPI_Op o, [[maybe_unused]] MPI_Request *q) { return expression; }
    return {
        {"Allreduce", CALL(MPI_Allreduce(s, r, 1, t, o, world))},
        {"Allreduce_c", CALL(MPI_Allreduce_c(s, r, 1, t, o, world))},
        {"Reduce", CALL(MPI_Reduce(s, r, 1, t, o, 0, world))},
        {"Reduce_c", CALL(MPI_Reduce_c(s, r, 1, t, o, 0, world))},
        {"Scan", CALL(MPI_Scan(s, r, 1, t, o, world))},
        {"Exscan", CALL(MPI_Exscan(s, r, 1, t, o, world))},
        {"Reduce_scatter", CALL(MPI_Reduce_scatter(s, r, ones.data(), t, o, world))},
        {"Reduce_scatter_c", CALL(MPI_Reduce_scatter_c(s, r, large_ones.data(), t, o, world))},
        {"Reduce_scatter_block", CALL(MPI_Reduce_scatter_block(s, r, 1, t, o, world))},
        {"Reduce_local", CALL(MPI_Reduce_local(s, r, 1, t, o))},
        {"Iallreduce", CALL(MPI_Iallreduce(s, r, 1, t, o, world, q))},
        {"Ireduce", CALL(MPI_Ireduce(s, r, 1, t, o, 0, world, q))},
        {"Iscan", CALL(MPI_Iscan(s, r, 1, t, o, world, q))},
        {"Iexscan", CALL(MPI_Iexscan(s, r, 1, t, o, world, q))},
        {"Ireduce_scatter", CALL(MPI_Ireduce_scatter(s, r, ones.data(), t, o, world, q))},
        {"Ireduce_scatter_block", CALL(MPI_Ireduce_scatter_block(s, r, 1, t, o, world, q))},
        {"Allreduce_init", CALL(MPI_Allreduce_init(s, r, 1, t, o, world, none, q))},
        {"Reduce_init", CALL(MPI_Reduce_init(s, r, 1, t, o, 0, world, none, q))},
        {"Scan_init", CALL(MPI_Scan_init(s, r, 1, t, o, world, none, q))},
        {"Exscan_init", CALL(MPI_Exscan_init(s, r, 1, t, o, world, none, q))},
        {"Reduce_scatter_init",
         CALL(MPI_Reduce_scatter_init(s, r, ones.data(), t, o, world, none, q))},
        {"Reduce_scatter_block_init",
         CALL(MPI_Reduce_scatter_block_init(s, r, 1, t, o, world, none, q))},
    };
#undef CALL
}

/* A one-sided call with an operator, to oneself. */
struct Access {
    const char *name;
    std::function<int(void *, void *, MPI_Datatype, MPI_Op, MPI_Win, MPI_Request *)> call;
};

std::vector<Access> accesses()
{
    const int me = rank;
#define CALL(expression)                                                                           \
    [=](void *s, [[maybe_unused]] void *r, MPI_Datatype t, MPI_Op o, MPI_Win w,                    \
        [[maybe_unused]] MPI_Request *q) { return expression; }
    return {
        {"Accumulate", CALL(MPI_Accumulate(s, 1, t, me, 0, 1, t, o, w))},
        {"Accumulate_c", CALL(MPI_Accumulate_c(s, 1, t, me, 0, 1, t, o, w))},
        {"Raccumulate", CALL(MPI_Raccumulate(s, 1, t, me, 0, 1, t, o, w, q))},
        {"Get_accumulate", CALL(MPI_Get_accumulate(s, 1, t, r, 1, t, me, 0, 1, t, o, w))},
        {"Get_accumulate_c", CALL(MPI_Get_accumulate_c(s, 1, t, r, 1, t, me, 0, 1, t, o, w))},
        {"Rget_accumulate", CALL(MPI_Rget_accumulate(s, 1, t, r, 1, t, me, 0, 1, t, o, w, q))},
        {"Fetch_and_op", CALL(MPI_Fetch_and_op(s, r, t, me, 0, o, w))},
    };
#undef CALL
}

struct Case {
    const char *name;
    MPI_Datatype type;
    MPI_Op op;
};

void finish(MPI_Request *request, const std::string &what)
{
    if (*request == MPI_REQUEST_NULL)
        return;
    if (what.find("_init") != std::string::npos)
        MPI_Request_free(request);
    else
        check_success(MPI_Wait(request, MPI_STATUS_IGNORE), what + ": MPI_Wait");
}

void test_reductions(const std::vector<Case> &wrong, const std::vector<Case> &right)
{
    std::vector<char> from(4096), to(4096);
    for (const Reduction &each : reductions()) {
        for (const Case &c : wrong) {
            MPI_Request request = MPI_REQUEST_NULL;
            check_class(each.call(from.data(), to.data(), c.type, c.op, &request), MPI_ERR_OP,
                        std::string(each.name) + ", " + c.name);
        }
        for (const Case &c : right) {
            const std::string what = std::string(each.name) + ", " + c.name;
            MPI_Request request = MPI_REQUEST_NULL;
            check_success(each.call(from.data(), to.data(), c.type, c.op, &request), what);
            finish(&request, what);
        }
    }
}

void test_accesses(const std::vector<Case> &wrong, const std::vector<Case> &right)
{
    std::vector<char> from(4096), to(4096), window(4096);
    MPI_Win win;
    MPI_Win_create(window.data(), 4096, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_lock_all(0, win);
    for (const Access &each : accesses()) {
        for (const Case &c : wrong) {
            MPI_Request request = MPI_REQUEST_NULL;
            check_class(each.call(from.data(), to.data(), c.type, c.op, win, &request), MPI_ERR_OP,
                        std::string(each.name) + ", " + c.name);
        }
        for (const Case &c : right) {
            const std::string what = std::string(each.name) + ", " + c.name;
            MPI_Request request = MPI_REQUEST_NULL;
            check_success(each.call(from.data(), to.data(), c.type, c.op, win, &request), what);
            finish(&request, what);
        }
        MPI_Win_flush_all(win);
    }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
}

} // namespace

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        MPI_Datatype vector, mixed;
        MPI_Type_vector(2, 1, 2, MPI_DOUBLE, &vector);
        const int lengths[] = {1, 1};
        const MPI_Aint places[] = {0, 8};
        const MPI_Datatype members[] = {MPI_INT, MPI_DOUBLE};
        MPI_Type_create_struct(2, lengths, places, members, &mixed);
        MPI_Type_commit(&vector);
        MPI_Type_commit(&mixed);

        const std::vector<Case> wrong = {
            {"MPI_LAND of doubles", MPI_DOUBLE, MPI_LAND},
            {"MPI_LOR of floats", MPI_FLOAT, MPI_LOR},
            {"MPI_LXOR of long doubles", MPI_LONG_DOUBLE, MPI_LXOR},
            {"MPI_BAND of doubles", MPI_DOUBLE, MPI_BAND},
            {"MPI_BXOR of complex numbers", MPI_C_DOUBLE_COMPLEX, MPI_BXOR},
            {"MPI_MAX of complex numbers", MPI_C_DOUBLE_COMPLEX, MPI_MAX},
            {"MPI_SUM of bytes", MPI_BYTE, MPI_SUM},
            {"MPI_SUM of pairs", MPI_DOUBLE_INT, MPI_SUM},
            {"MPI_MAXLOC of ints", MPI_INT, MPI_MAXLOC},
            {"MPI_MINLOC of doubles", MPI_DOUBLE, MPI_MINLOC}};
        const std::vector<Case> right = {
            {"MPI_LAND of ints", MPI_INT, MPI_LAND},
            {"MPI_LXOR of bools", MPI_C_BOOL, MPI_LXOR},
            {"MPI_BOR of bytes", MPI_BYTE, MPI_BOR},
            {"MPI_SUM of complex numbers", MPI_C_DOUBLE_COMPLEX, MPI_SUM},
            {"MPI_MAX of doubles", MPI_DOUBLE, MPI_MAX}};
        std::vector<Case> reduced = wrong, accessed = wrong;
        reduced.push_back({"MPI_SUM of a vector", vector, MPI_SUM});
        reduced.push_back({"MPI_REPLACE", MPI_INT, MPI_REPLACE});
        reduced.push_back({"MPI_NO_OP", MPI_INT, MPI_NO_OP});
        std::vector<Case> right_reduced = right;
        right_reduced.push_back({"MPI_MINLOC of pairs", MPI_DOUBLE_INT, MPI_MINLOC});
        test_reductions(reduced, right_reduced);
        std::vector<Case> right_accessed = right;
        right_accessed.push_back({"MPI_REPLACE of doubles", MPI_DOUBLE, MPI_REPLACE});
        test_accesses(accessed, right_accessed);

        /* Types of several predefined ones have no operator at all,
         * and vectors have their elements'. */
        MPI_Win win;
        std::vector<double> window(8, 1), from(8, 2);
        MPI_Win_create(window.data(), 64, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
        MPI_Win_fence(0, win);
        check(MPI_Accumulate(from.data(), 1, mixed, rank, 0, 1, mixed, MPI_SUM, win) != MPI_SUCCESS,
              "MPI_SUM of structs");
        check_class(MPI_Accumulate(from.data(), 1, vector, rank, 0, 1, vector, MPI_BXOR, win),
                    MPI_ERR_OP, "MPI_BXOR of a vector of doubles");
        /* With a count of 0 the type does not matter; mpi4py's tests do so. */
        check_success(MPI_Accumulate(from.data(), 0, MPI_BYTE, rank, 0, 0, MPI_BYTE, MPI_SUM, win),
                      "Accumulate of no bytes");
        check_success(MPI_Get_accumulate(from.data(), 0, MPI_BYTE, from.data(), 0, MPI_BYTE, rank,
                                         0, 0, MPI_BYTE, MPI_SUM, win),
                      "Get_accumulate of no bytes");
        check_success(MPI_Accumulate(from.data(), 1, vector, rank, 0, 1, vector, MPI_SUM, win),
                      "MPI_SUM of a vector");
        MPI_Win_fence(0, win);
        check(window[0] == 3 && window[1] == 1 && window[2] == 3, "MPI_SUM of a vector: data");
        MPI_Win_free(&win);
        MPI_Type_free(&vector);
        MPI_Type_free(&mixed);
    });
}
