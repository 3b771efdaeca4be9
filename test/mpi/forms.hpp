/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The three forms of MPI's collectives, which take the same arguments.
 */
#pragma once

#include <mpi.h>

#include <type_traits>

enum class Form { blocking, nonblocking, persistent };

/* Calls the function of that form. `request`: of those that do not block. */
template <class... A>
int call_in(Form form, MPI_Request *request, int (*blocking)(A...),
            std::type_identity_t<int (*)(A..., MPI_Request *)> nonblocking,
            std::type_identity_t<int (*)(A..., MPI_Info, MPI_Request *)> persistent,
            std::type_identity_t<A>... with)
{
    if (form == Form::blocking)
        return blocking(with...);
    return form == Form::nonblocking ? nonblocking(with..., request)
                                     : persistent(with..., MPI_INFO_NULL, request);
}
