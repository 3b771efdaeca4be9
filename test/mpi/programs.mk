# SPDX-License-Identifier: BSD-3-Clause
#
# Compiles programs of a folder of test/mpi with an installed MPI, for its runner:
#   make -f test/mpi/programs.mk -j2 PREFIX=DIR BUILD=DIR FOLDER=device [STOCK=1] DIR/PROGRAM...
# PREFIX is the MPI's, BUILD receives the programs. STOCK: an MPI without Heddle.

MAKEFLAGS += --silent --no-builtin-rules
top := $(abspath $(dir $(lastword $(MAKEFILE_LIST)))../..)
sources := $(top)/test/mpi/$(FOLDER)
flags := -O1 -g -Wall -Wextra -MMD -MP $(if $(STOCK),-DHEDDLE_TEST_STOCK)
cxx := $(PREFIX)/bin/mpicxx -std=c++20 $(flags) -Wno-cast-function-type

# Memory of devices. -rdynamic: endings name a function of the program's own to the plug-in.
memory := $(if $(STOCK),,$(patsubst %,$(BUILD)/%.o,cuda_memory device_memory simulation))
libraries := $(if $(STOCK),,-lheddle -ldl -rdynamic)
# What an MPI that is installed anew brings; and by what programs were made, another MPI's perhaps.
made_with := $(BUILD)/made-with
installed := $(wildcard $(PREFIX)/include/mpi.h $(PREFIX)/include/heddle*.h) $(made_with)
ifneq ($(file <$(made_with)),$(cxx))
$(file >$(made_with),$(cxx))
endif

$(BUILD)/%.o: $(top)/test/gpu/%.cpp $(installed)
	$(cxx) -c -o $@ $<
$(BUILD)/%: $(sources)/%.cpp $(memory) $(installed)
	$(cxx) -MF $@.d -MT $@ -o $@ $< $(memory) $(libraries)
$(BUILD)/%: $(sources)/%.c $(installed)
	$(PREFIX)/bin/mpicc $(flags) -MF $@.d -MT $@ -o $@ $<
$(BUILD)/%: $(sources)/%.f90 $(installed)
	$(PREFIX)/bin/mpifort -O1 -g -Wall -J $(BUILD) -o $@ $<

.SECONDARY:
.DELETE_ON_ERROR:
-include $(wildcard $(BUILD)/*.d)
