/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What MPI does with device memory without sending it: pack, unpack, reduce.
 */
#include "device_test.hpp"

using namespace device_test;

static void packing(gpu::Kind data, gpu::Kind packed, int n)
{
    const Layout dense = contiguous(n);
    for (const MakeLayout make : every_layout) {
        const Layout layout = make(n);
        Buffer from(data, layout), middle(packed, dense), to(data, layout);
        from.fill(n);
        int place = 0;
        MPI_Pack(from.at(), 1, layout.type, middle.at(), 8 * n, &place, MPI_COMM_WORLD);
        check(place == 8 * n, "MPI_Pack's position");
        middle.expect(n, 0, n);
        middle.verify("MPI_Pack of " + from.name());
        place = 0;
        MPI_Unpack(middle.at(), 8 * n, &place, to.at(), 1, layout.type, MPI_COMM_WORLD);
        to.expect(n, 0, n);
        to.verify("MPI_Unpack");

        Buffer external(packed, dense), back(data, layout);
        MPI_Aint at = 0;
        MPI_Pack_external("external32", from.at(), 1, layout.type, external.at(), 8 * n, &at);
        check(at == 8 * n, "MPI_Pack_external's position");
        at = 0;
        MPI_Unpack_external("external32", external.at(), 8 * n, &at, back.at(), 1, layout.type);
        back.expect(n, 0, n);
        back.verify("MPI_Unpack_external");
    }
}

static void twice_and_one(void *in, void *inout, int *count, MPI_Datatype *)
{
    for (int i = 0; i < *count; ++i)
        static_cast<double *>(inout)[i] += 2 * static_cast<double *>(in)[i] + 1;
}

static void reducing(gpu::Kind a, gpu::Kind b, int n)
{
    const Layout layout = contiguous(n);
    Buffer in(a, layout), inout(b, layout);
    in.fill(1);
    inout.fill(2);
    MPI_Reduce_local(in.at(), inout.at(), n, MPI_DOUBLE, MPI_SUM);
    for (int i = 0; i < n; ++i)
        inout.put(i, Buffer::value(1, i) + Buffer::value(2, i));
    inout.verify("MPI_SUM of " + in.name() + " into");
    MPI_Op op;
    MPI_Op_create(twice_and_one, 1, &op);
    MPI_Reduce_local(in.at(), inout.at(), n, MPI_DOUBLE, op);
    for (int i = 0; i < n; ++i)
        inout.put(i, Buffer::value(1, i) * 3 + Buffer::value(2, i) + 1);
    inout.verify("an operator of the user's");
    MPI_Op_free(&op);
}

/* One type of absolute addresses that names memory of all kinds. */
static void bottom(int n)
{
    const Layout layout = strided(n), dense = contiguous(3 * n);
    Buffer a(gpu::Kind::device, layout), b(gpu::Kind::pageable, layout),
        c(gpu::Kind::managed, layout);
    a.fill(1), b.fill(2), c.fill(3);
    const int lengths[] = {1, 1, 1};
    MPI_Aint displs[3];
    MPI_Get_address(a.at(), &displs[0]);
    MPI_Get_address(b.at(), &displs[1]);
    MPI_Get_address(c.at(), &displs[2]);
    const MPI_Datatype types[] = {a.type(), b.type(), c.type()};
    MPI_Datatype all;
    MPI_Type_create_struct(3, lengths, displs, types, &all);
    MPI_Type_commit(&all);
    Buffer packed(gpu::Kind::device, dense);
    const auto to_self = [](const void *from, int n1, MPI_Datatype t1, void *to, int n2,
                            MPI_Datatype t2) {
        MPI_Sendrecv(from, n1, t1, rank, 1, to, n2, t2, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    };
    to_self(MPI_BOTTOM, 1, all, packed.at(), 3 * n, MPI_DOUBLE);
    for (int part = 0; part < 3; ++part)
        packed.expect(part + 1, part * n, (part + 1) * n);
    packed.verify("MPI_BOTTOM");
    a.fill(7), b.fill(7), c.fill(7);
    to_self(packed.at(), 3 * n, MPI_DOUBLE, MPI_BOTTOM, 1, all);
    a.expect(1, 0, n), b.expect(2, 0, n), c.expect(3, 0, n);
    a.verify("back"), b.verify("back"), c.verify("back");
    MPI_Type_free(&all);
}

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        for (const int n : {1, 10, 3000, 100000})
            for (const gpu::Kind a : every_kind) {
                for (const gpu::Kind b : every_kind) {
                    packing(a, b, n);
                    reducing(a, b, n);
                }
                bottom(n);
            }
    });
}
