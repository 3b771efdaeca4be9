/* SPDX-License-Identifier: BSD-3-Clause
 *
 * engine-alone: Heddle's datatype engine without MPI. It packs one component of the velocity out of
 * an array of particles on a plane of a 3-D grid, and puts it back. To compile it against an
 * installed Heddle in PREFIX:
 *
 *     export PKG_CONFIG_PATH=PREFIX/lib/pkgconfig
 *     cc engine-alone.c $(pkg-config --cflags --libs heddle) -Wl,-rpath,PREFIX/lib -o engine-alone
 *
 * Exit status: 0 what was packed and unpacked is right, 1 it is not or a call failed.
 */
#include <heddle.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct particle {
    double position[3];
    float velocity[3];
    int32_t id;
};

enum { NX = 8, NY = 6, NZ = 4, PLANE = 2 }; /* the plane y = PLANE of grid[NZ][NY][NX] */

static void check(int error, const char *call)
{
    if (error == HEDDLE_SUCCESS)
        return;
    fprintf(stderr, "engine-alone: %s: %s\n", call, heddle_strerror(error));
    exit(EXIT_FAILURE);
}
#define CHECK(call) check((call), #call)

/* The plane as a subarray of particles, of which one float each is taken. */
static heddle_type *velocity_of_plane(void)
{
    heddle_type *component, *particle, *plane;
    int64_t one = 1, at = offsetof(struct particle, velocity[1]);
    heddle_type *number = heddle_type_predefined(HEDDLE_FLOAT);
    CHECK(heddle_type_struct(1, &one, &at, &number, &component));
    CHECK(heddle_type_resized(component, 0, sizeof(struct particle), &particle));
    CHECK(heddle_type_subarray(3, (int64_t[]){NZ, NY, NX}, (int64_t[]){NZ, 1, NX},
                               (int64_t[]){0, PLANE, 0}, HEDDLE_ORDER_C, particle, &plane));
    CHECK(heddle_type_commit(plane));
    heddle_type_release(component); /* plane keeps what it needs */
    heddle_type_release(particle);
    return plane;
}

static void print_type(const heddle_type *type)
{
    heddle_type_info info = {.bytes = sizeof info};
    size_t length;
    CHECK(heddle_type_get_info(type, &info));
    CHECK(heddle_type_describe(type, NULL, 0, &length));
    char *text = malloc(length + 1);
    if (!text)
        exit(EXIT_FAILURE);
    CHECK(heddle_type_describe(type, text, length + 1, &length));
    printf("layout: %s\n", text);
    printf("size %" PRId64 ", extent %" PRId64 ", %" PRId64 " elements in %" PRId64
           " runs, %" PRId64 " bytes of memory\n",
           info.size, info.extent, info.elements, info.runs, info.memory);
    free(text);
}

int main(void)
{
    static struct particle grid[NZ][NY][NX], back[NZ][NY][NX];
    for (int i = 0; i < NZ * NY * NX; i++) {
        struct particle *each = &grid[0][0][0] + i;
        *each = (struct particle){{i, -i, 0.5 * i}, {0.25f * (float)i, (float)i, -1}, i};
    }
    printf("Heddle %s\n", heddle_version());
    heddle_type *plane = velocity_of_plane();
    print_type(plane);

    float packed[NZ][NX];
    int64_t bytes;
    CHECK(heddle_pack(grid, 1, plane, 0, packed, sizeof packed, &bytes));
    int wrong = bytes != sizeof packed;
    for (int z = 0; z < NZ; z++)
        for (int x = 0; x < NX; x++)
            wrong += packed[z][x] != grid[z][PLANE][x].velocity[1];
    printf("packed %" PRId64 " bytes\n", bytes);

    /* Any part can be moved by itself: here in pieces of 20 bytes. */
    for (int64_t at = 0; at < bytes;) {
        int64_t piece = bytes - at < 20 ? bytes - at : 20, moved;
        CHECK(heddle_unpack((const char *)packed + at, piece, back, 1, plane, at, &moved));
        wrong += moved != piece;
        at += piece;
    }
    for (int z = 0; z < NZ; z++)
        for (int y = 0; y < NY; y++)
            for (int x = 0; x < NX; x++)
                wrong +=
                    back[z][y][x].velocity[1] != (y == PLANE ? grid[z][y][x].velocity[1] : 0.0f) ||
                    back[z][y][x].id != 0; /* nothing else may be touched */

    int64_t displacement, run, tenth = 10 * sizeof(float);
    CHECK(heddle_locate(1, plane, tenth, &displacement, &run));
    printf("packed byte %" PRId64 " lies at byte %" PRId64 " of the grid\n", tenth, displacement);
    wrong += displacement != (const char *)&grid[1][PLANE][2].velocity[1] - (const char *)grid;

    heddle_type_release(plane);
    printf("%s\n", wrong ? "FAILED" : "packed and unpacked right");
    return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
