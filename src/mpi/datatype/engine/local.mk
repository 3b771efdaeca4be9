# The engine's sources; no MPI, no CUDA.
engine_sources = \
    src/mpi/datatype/engine/api_data.cpp \
    src/mpi/datatype/engine/api_types.cpp \
    src/mpi/datatype/engine/checked.hpp \
    src/mpi/datatype/engine/copy.hpp \
    src/mpi/datatype/engine/digest.hpp \
    src/mpi/datatype/engine/elements.cpp \
    src/mpi/datatype/engine/external.cpp \
    src/mpi/datatype/engine/external.hpp \
    src/mpi/datatype/engine/external_kernels.cpp \
    src/mpi/datatype/engine/flatten.cpp \
    src/mpi/datatype/engine/guard.hpp \
    src/mpi/datatype/engine/handle.hpp \
    src/mpi/datatype/engine/image.hpp \
    src/mpi/datatype/engine/layout.cpp \
    src/mpi/datatype/engine/layout.hpp \
    src/mpi/datatype/engine/measure.hpp \
    src/mpi/datatype/engine/plan.cpp \
    src/mpi/datatype/engine/plan.hpp \
    src/mpi/datatype/engine/predefined.cpp \
    src/mpi/datatype/engine/predefined.hpp \
    src/mpi/datatype/engine/reduce.cpp \
    src/mpi/datatype/engine/reduce.hpp \
    src/mpi/datatype/engine/reduce_kernels.cpp \
    src/mpi/datatype/engine/runs.cpp \
    src/mpi/datatype/engine/runs.hpp \
    src/mpi/datatype/engine/transfer.cpp \
    src/mpi/datatype/engine/transfer.hpp \
    src/mpi/datatype/engine/type.cpp \
    src/mpi/datatype/engine/type.hpp \
    src/mpi/datatype/engine/walk.hpp
