# SPDX-License-Identifier: BSD-3-Clause
#
# The CUDA plug-in: installed beside libheddle, which opens it where a driver answers. Kernels are compiled by nvcc,
# the rest by the C++ compiler.
cuda_headers = \
    include/heddle.h \
    src/gpu/backend.hpp \
    src/gpu/work.hpp \
    src/mpi/datatype/engine/image.hpp \
    src/gpu/cuda/access.cuh \
    src/gpu/cuda/combine.cuh \
    src/gpu/cuda/copy_words.cuh \
    src/gpu/cuda/device_code.cuh \
    src/gpu/cuda/divider.hpp \
    src/gpu/cuda/elements.hpp \
    src/gpu/cuda/fetch.cuh \
    src/gpu/cuda/geometry.hpp \
    src/gpu/cuda/kernel.hpp \
    src/gpu/cuda/records.cuh \
    src/gpu/cuda/reduce.cuh \
    src/gpu/cuda/runs.cuh
cuda_kernels = \
    src/gpu/cuda/any.lo \
    src/gpu/cuda/batch.lo \
    src/gpu/cuda/even_runs.lo \
    src/gpu/cuda/few_runs.lo \
    src/gpu/cuda/records.lo \
    src/gpu/cuda/reduce_floats.lo \
    src/gpu/cuda/reduce_integers.lo \
    src/gpu/cuda/reduce_pairs.lo \
    src/gpu/cuda/runs.lo \
    src/gpu/cuda/short_runs.lo \
    src/gpu/cuda/strided.lo \
    src/gpu/cuda/transpose.lo \
    src/gpu/cuda/unpack_records.lo
EXTRA_DIST += $(cuda_headers) $(cuda_kernels:.lo=.cu)

if BUILD_CUDA
lib_LTLIBRARIES += libheddle-cuda.la
libheddle_cuda_la_SOURCES = \
    src/gpu/cuda/backend.cpp \
    src/gpu/cuda/backend.hpp \
    src/gpu/cuda/completion.cpp \
    src/gpu/cuda/device.cpp \
    src/gpu/cuda/device.hpp \
    src/gpu/cuda/imports.hpp \
    src/gpu/cuda/dispatch.cpp \
    src/gpu/cuda/dispatch.hpp \
    src/gpu/cuda/done.cpp \
    src/gpu/cuda/done.hpp \
    src/gpu/cuda/error.cpp \
    src/gpu/cuda/error.hpp \
    src/gpu/cuda/kernel.cpp \
    src/gpu/cuda/memory.cpp \
    src/gpu/cuda/nearby.cpp \
    src/gpu/cuda/nearby.hpp \
    src/gpu/cuda/open.cpp
libheddle_cuda_la_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
libheddle_cuda_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -no-undefined \
    -export-symbols-regex '^heddle_open_backend_3$$' -Wl,--exclude-libs,ALL
libheddle_cuda_la_LIBADD = $(cuda_kernels) $(CUDA_LIBS)
endif
CLEANFILES += $(cuda_kernels) $(cuda_kernels:.lo=.o)

# What libtool would add to make position-independent code nvcc does not know, so it is spelt out for nvcc. No kernel
# gains from contraction to fused multiply-adds, and reductions must round as the host does.
cuda_compile = $(NVCC) -std=c++20 $(NVCCFLAGS) --fmad=false $(CUDA_ARCH_FLAGS) -Xfatbin -compress-all \
    -I$(top_srcdir)/include --compiler-options=-fPIC,-fvisibility=hidden,-Wall,-Wextra

$(cuda_kernels): $(cuda_headers)
SUFFIXES = .cu
.cu.lo:
	@$(MKDIR_P) $(@D)
	$(AM_V_NVCC)$(LIBTOOL) $(AM_V_lt) --tag=CXX $(AM_LIBTOOLFLAGS) $(LIBTOOLFLAGS) --mode=compile $(cuda_compile) \
	    -prefer-non-pic -c -o $@ $<
AM_V_NVCC = $(AM_V_NVCC_@AM_V@)
AM_V_NVCC_ = $(AM_V_NVCC_@AM_DEFAULT_V@)
AM_V_NVCC_0 = @echo "  NVCC    " $@;
