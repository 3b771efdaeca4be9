// SPDX-License-Identifier: BSD-3-Clause
// Which function a call to PMPI_... reaches, library by library. The dynamic linker binds MPI_...
// to this library where it is loaded first. That does not catch the MPI's Fortran bindings, many of
// which call PMPI_... themselves, nor a profiling tool that stands before or behind this library.
#pragma once

namespace heddle::interpose {

// Binds anew what is loaded by now:
// - PMPI_... of Fortran bindings, and of what is searched before this library (a tool, or the
//   program itself), comes to this library's MPI_...;
// - PMPI_... of this library goes to MPI_... of a tool behind it.
// May be called again, for libraries that have been loaded since.
void bind_all();

} // namespace heddle::interpose
