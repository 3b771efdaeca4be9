# SPDX-License-Identifier: BSD-3-Clause
#
# The CUDA plug-in: installed beside libheddle, which opens it where a driver answers. Kernels are compiled by nvcc,
# the rest by the C++ compiler.
cuda_headers = \
    include/heddle.h \
    include/heddle_message.h \
    src/gpu/core/work.hpp \
    src/engine/image.hpp \
    src/gpu/cuda/kernels/access.cuh \
    src/gpu/cuda/kernels/combine.cuh \
    src/gpu/cuda/kernels/copy_words.cuh \
    src/gpu/cuda/kernels/device_code.cuh \
    src/gpu/cuda/kernels/divider.hpp \
    src/gpu/cuda/kernels/fetch.cuh \
    src/gpu/cuda/kernels/fold.cuh \
    src/gpu/cuda/kernels/geometry.hpp \
    src/gpu/cuda/kernels/kernel.hpp \
    src/gpu/cuda/kernels/operators.hpp \
    src/gpu/cuda/kernels/records.cuh \
    src/gpu/cuda/kernels/reduce.cuh \
    src/gpu/cuda/kernels/runs.cuh \
    src/gpu/cuda/kernels/tuning.hpp
cuda_kernels = \
    src/gpu/cuda/kernels/any.lo \
    src/gpu/cuda/kernels/batch.lo \
    src/gpu/cuda/kernels/even_runs.lo \
    src/gpu/cuda/kernels/few_runs.lo \
    src/gpu/cuda/kernels/fold_floats.lo \
    src/gpu/cuda/kernels/fold_integers.lo \
    src/gpu/cuda/kernels/list_runs.lo \
    src/gpu/cuda/kernels/records.lo \
    src/gpu/cuda/kernels/reduce_floats.lo \
    src/gpu/cuda/kernels/reduce_integers.lo \
    src/gpu/cuda/kernels/reduce_pairs.lo \
    src/gpu/cuda/kernels/runs.lo \
    src/gpu/cuda/kernels/short_runs.lo \
    src/gpu/cuda/kernels/strided.lo \
    src/gpu/cuda/kernels/transpose.lo \
    src/gpu/cuda/kernels/unpack_records.lo
EXTRA_DIST += $(cuda_headers) $(cuda_kernels:.lo=.cu)

if BUILD_CUDA
lib_LTLIBRARIES += libheddle-cuda.la
libheddle_cuda_la_SOURCES = \
    src/gpu/cuda/host/backend.cpp \
    src/gpu/cuda/host/backend.hpp \
    src/gpu/cuda/host/completion.cpp \
    src/gpu/cuda/host/device.cpp \
    src/gpu/cuda/host/device.hpp \
    src/gpu/cuda/host/imports.hpp \
    src/gpu/cuda/host/links.cpp \
    src/gpu/cuda/host/dispatch.cpp \
    src/gpu/cuda/host/dispatch.hpp \
    src/gpu/cuda/host/done.cpp \
    src/gpu/cuda/host/done.hpp \
    src/gpu/cuda/host/error.cpp \
    src/gpu/cuda/host/error.hpp \
    src/gpu/cuda/kernels/kernel.cpp \
    src/gpu/cuda/host/memory.cpp \
    src/gpu/cuda/host/numa.cpp \
    src/gpu/cuda/host/numa.hpp \
    src/gpu/cuda/host/open.cpp \
    src/gpu/cuda/host/profiler.cpp \
    src/gpu/cuda/host/select_kernel.cpp \
    src/gpu/cuda/host/select_kernel.hpp \
    src/gpu/cuda/host/targets.hpp
libheddle_cuda_la_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS) -DHEDDLE_CUDA_TARGETS='"$(CUDA_TARGETS)"'
libheddle_cuda_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -no-undefined \
    $(exports) -Wl,--exclude-libs,ALL
EXTRA_libheddle_cuda_la_DEPENDENCIES = src/exported.map
libheddle_cuda_la_LIBADD = $(cuda_kernels) $(CUDA_LIBS)
endif
CLEANFILES += $(cuda_kernels) $(cuda_kernels:.lo=.o)

# What libtool would add to make position-independent code nvcc does not know, so it is spelt out for nvcc. No kernel
# gains from contraction to fused multiply-adds, and reductions must round as the host does.
cuda_compile = $(NVCC) -std=c++20 $(NVCCFLAGS) --fmad=false $(CUDA_ARCH_FLAGS) -Xfatbin -compress-all \
    -I$(top_srcdir)/include -I$(top_srcdir)/src --compiler-options=-fPIC,-fvisibility=hidden,-Wall,-Wextra

$(cuda_kernels): $(cuda_headers)
SUFFIXES = .cu
.cu.lo:
	@$(MKDIR_P) $(@D)
	$(AM_V_NVCC)$(LIBTOOL) $(AM_V_lt) --tag=CXX $(AM_LIBTOOLFLAGS) $(LIBTOOLFLAGS) --mode=compile $(cuda_compile) \
	    -prefer-non-pic -c -o $@ $<
AM_V_NVCC = $(AM_V_NVCC_@AM_V@)
AM_V_NVCC_ = $(AM_V_NVCC_@AM_DEFAULT_V@)
AM_V_NVCC_0 = @echo "  NVCC    " $@;
