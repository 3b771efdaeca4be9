/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ends with success where a program's memory from malloc is managed, as managed_malloc.cpp
 * promises.
 */
#include <heddle.h>

#include <stdlib.h>

int main(void)
{
    int *volatile memory = malloc(sizeof(int));
    int device = -1;
    const int is_managed =
        memory != NULL && heddle_memory_kind(memory, &device) == HEDDLE_MEMORY_MANAGED;
    free(memory);
    return is_managed ? 0 : 1;
}
