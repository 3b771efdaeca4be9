# SPDX-License-Identifier: BSD-3-Clause
# Who runs where: the part of libheddle that knows graphs and machines, no MPI and no device.
placement_sources = \
    src/placement/anneal.cpp \
    src/placement/annealing.hpp \
    src/placement/api.cpp \
    src/placement/assign.cpp \
    src/placement/boxes.cpp \
    src/placement/graph.cpp \
    src/placement/graph.hpp \
    src/placement/lattice.cpp \
    src/placement/lattice.hpp \
    src/placement/location.cpp \
    src/placement/machine.cpp \
    src/placement/machine.hpp \
    src/placement/multilevel.cpp \
    src/placement/parts.cpp \
    src/placement/parts.hpp \
    src/placement/place.cpp \
    src/placement/place.hpp \
    src/placement/slots.cpp \
    src/placement/slots.hpp
