/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_DATATYPE_NULL is no datatype: a collective says so, and does not look into it, whatever the
 * count is.
 */
#include "collective_test.hpp"

using namespace collective_test;

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        const MPI_Datatype null = MPI_DATATYPE_NULL;
        const MPI_Comm w = MPI_COMM_WORLD;
        char from[16] = {}, to[16];
        const auto refused = [](const char *what, auto call) {
            for (const Form form : kForms) {
                MPI_Request request = MPI_REQUEST_NULL;
                check_class(call(form, &request), MPI_ERR_TYPE,
                            std::string(name(form)) + " " + what);
            }
        };
        for (const int n : {0, 1}) {
            refused("Bcast", COLLECTIVE(Bcast, w, from, n, null, 0));
            refused("Allgather", COLLECTIVE(Allgather, w, from, n, null, to, n, null));
            refused("Alltoall", COLLECTIVE(Alltoall, w, from, n, null, to, n, null));
            refused("Allreduce", COLLECTIVE(Allreduce, w, from, to, n, null, MPI_SUM));
            refused("Scan", COLLECTIVE(Scan, w, from, to, n, null, MPI_SUM));
            refused("Reduce", COLLECTIVE(Reduce, w, from, to, n, null, MPI_SUM, 0));
        }
    });
}
