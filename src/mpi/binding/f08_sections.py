# SPDX-License-Identifier: BSD-3-Clause
"""What the wrappers of mpi_f08 do with array sections that no datatype can stand for.

MPICH's generator describes a noncontiguous section by a datatype of the whole, which serves buffers of one
message. A buffer that holds a block for each process, or that is reduced, is copied instead, and which blocks of
it the call reads or writes is said here (src/mpi/coll/include/heddle_sections.h).
"""
import re

from local_python import MPI_API_Global as G

RESULTS = ("recvbuf", "inoutbuf", "outbuf")


def equal(side, whose):
    """Blocks one after the other."""
    return whose, f"MPIR_Blocks_add(&blocks, {side}count, {side}type);"


def varying(side, displs, whose):
    return whose, f"MPIR_Blocks_add_at(&blocks, {displs}[k], {side}counts[k], {side}type);"


def typed(side, displs, whose):
    return whose, f"MPIR_Blocks_add_at_byte(&blocks, {displs}[k], {side}counts[k], {side}types[k]);"


def both(blocks, sources, targets, *displs):
    return {f"{side}buf": blocks(side, *(f"{side[0]}{d}" for d in displs), whose)
            for side, whose in (("send", targets), ("recv", sources))}


def one(count="count", datatype="datatype", whose="ONE"):
    return whose, f"MPIR_Blocks_add(&blocks, {count}, {datatype});"


def reduced(send="ONE", recv="ONE", count="count"):
    return {"sendbuf": one(count, whose=send), "recvbuf": one(count, whose=recv)}


# In place the receive buffer holds what is sent.
SCATTERED = "sendbuf_i == MPI_IN_PLACE ? MPIR_BLOCKS_GROUP : MPIR_BLOCKS_OWN"

# {call: {buffer: (whose blocks, what adds block k)}}
CALLS = {
    "Gather": {"recvbuf": equal("recv", "ROOT_ALL")},
    "Gatherv": {"recvbuf": varying("recv", "displs", "ROOT_ALL")},
    "Scatter": {"sendbuf": equal("send", "ROOT_ALL")},
    "Scatterv": {"sendbuf": varying("send", "displs", "ROOT_ALL")},
    "Allgather": {"recvbuf": equal("recv", "ALL")},
    "Allgatherv": {"recvbuf": varying("recv", "displs", "ALL")},
    "Alltoall": both(equal, "ALL", "ALL"),
    "Alltoallv": both(varying, "ALL", "ALL", "displs"),
    "Alltoallw": both(typed, "ALL", "ALL", "displs"),
    "Neighbor_allgather": {"recvbuf": equal("recv", "SOURCES")},
    "Neighbor_allgatherv": {"recvbuf": varying("recv", "displs", "SOURCES")},
    "Neighbor_alltoall": both(equal, "SOURCES", "TARGETS"),
    "Neighbor_alltoallv": both(varying, "SOURCES", "TARGETS", "displs"),
    "Neighbor_alltoallw": both(typed, "SOURCES", "TARGETS", "displs"),
    "Reduce": reduced("OTHER_ONE", "ROOT_ONE"),
    "Allreduce": reduced(),
    "Scan": reduced(),
    "Exscan": reduced(),
    "Reduce_scatter": reduced("GROUP", SCATTERED, "recvcounts[k]"),
    "Reduce_scatter_block": reduced("GROUP", SCATTERED, "recvcount"),
    "Reduce_local": {"inbuf": one(), "inoutbuf": one()},
    "Pack": {"inbuf": one("incount"), "outbuf": one("outsize", "MPI_BYTE")},
    "Pack_external": {"inbuf": one("incount"), "outbuf": one("outsize", "MPI_BYTE")},
    "Unpack": {"inbuf": one("insize", "MPI_BYTE"), "outbuf": one("outcount")},
    "Unpack_external": {"inbuf": one("insize", "MPI_BYTE"), "outbuf": one("outcount")},
    "Psend_init": {"buf": None},  # partitions come and go by themselves
    "Precv_init": {"buf": None},
}


def buffers_of(func):
    """The buffers that are copied, of a call in its blocking, nonblocking or persistent form."""
    name = re.sub(r"^MPIX?_", "", func["name"])
    blocking = re.sub(r"_init$", "", re.sub(r"^I(?=[a-z])", "", name))
    return CALLS.get(name) or CALLS.get(blocking[:1].upper() + blocking[1:]) or {}


def takes(func, parameter):
    return parameter["name"] in buffers_of(func)


def argument(func, name, otherwise):
    return name if any(p["name"] == name for p in func["parameters"]) else otherwise


def declare(declarations):
    for line in ("struct MPIR_Sections *sections = NULL;", "int refused = MPI_SUCCESS;"):
        if line not in declarations:
            declarations.append(line)


def copy(func, parameter):
    """The lines that put a copy in a section's place."""
    buf = parameter["name"]
    said = buffers_of(func)[buf]
    lines = [f"if (refused == MPI_SUCCESS && {buf}->rank != 0 && !CFI_is_contiguous({buf})) {{"]
    if said is None:
        lines += ["    refused = MPIR_Sections_refuse();", "}", ""]
        return lines
    whose, add = said
    whose = whose if "MPIR_" in whose else "MPIR_BLOCKS_" + whose
    comm = argument(func, "comm", "MPI_COMM_SELF")
    root = argument(func, "root", "0")
    is_result = "true" if buf in RESULTS else "false"
    return lines + [
        f"    struct MPIR_Blocks blocks = MPIR_Blocks_begin({whose}, {comm}, {root});",
        "    for (int k = blocks.first; k < blocks.end; k++)",
        f"        {add}",
        f"    refused = cdesc_copy({buf}, &blocks, {is_result}, &sections, &{buf}_i);",
        "}", ""]


def call(func, name, arguments):
    """The lines of the call itself."""
    line = f"err = {name}({', '.join(arguments)});"
    if not buffers_of(func):
        return [line]
    comm = argument(func, "comm", "MPI_COMM_SELF")
    request = argument(func, "request", "NULL")
    return ["if (refused == MPI_SUCCESS)",
            f"    {line}",
            "if (sections != NULL || refused != MPI_SUCCESS)",
            f'    err = MPIR_Sections_end(sections, refused, err, {comm}, "{name}", {request});']


def array_length(func, uses):
    """The line that finds how many entries an argument has that has one for each process."""
    if "reduce_scatter" in func["name"].lower():
        return "err = MPIR_Comm_size_c(comm_c, length)"
    uses["MPIR_Blocks_others_c"] = 1
    return "call MPIR_Blocks_others_c(comm_c, length)"


def dump_interface():
    """What the Fortran side calls to know how many entries such arguments have."""
    for name, results in (("MPIR_Blocks_others", "number"), ("MPIR_Blocks_neighbours", "sources, targets")):
        G.out.extend(["",
                      f"SUBROUTINE {name}_c(comm, {results}) &",
                      f'    bind(C, name="{name}")',
                      "    USE, intrinsic :: iso_c_binding, ONLY : c_int",
                      "    USE :: mpi_c_interface_types, ONLY : c_Comm",
                      "    IMPLICIT NONE",
                      "    INTEGER(c_Comm), VALUE, INTENT(in) :: comm",
                      f"    INTEGER(c_int), INTENT(out) :: {results}",
                      f"END SUBROUTINE {name}_c"])
