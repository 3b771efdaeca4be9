# SPDX-License-Identifier: BSD-3-Clause
#
# Tests and fuzzers with sanitizers, for test/unit/sanitize and test/fuzz/run. Run in a build folder,
# whose flags.mk says the root of the source, the kind (address or thread), and CXX. Tests and fuzzers
# of one folder share their objects.

include flags.mk

sanitizers_address = -fsanitize=address,undefined -fno-sanitize-recover=all
sanitizers_thread = -fsanitize=thread
# For libFuzzer, which clang alone has.
coverage_address = $(if $(findstring clang,$(CXX)),-fsanitize=fuzzer-no-link)
# Line numbers are all of the debug information that a report needs.
level = -O1
flags = -std=c++20 -fwrapv $(level) -g1 -fno-omit-frame-pointer -I$(root)/include -I$(root)/src \
	-DHEDDLE_VERSION='"0.0.0"' $(sanitizers_$(kind)) $(coverage_$(kind)) -pthread

object = $(patsubst $(root)/%.cpp,objects/%.o,$(1))
engine = $(wildcard $(root)/src/engine/*.cpp)
gpu_rooms = $(foreach room,core model image memory transfer api,$(wildcard $(root)/src/gpu/$(room)/*.cpp))
pipeline_rooms = $(wildcard $(root)/src/pipeline/*.cpp $(root)/src/pipeline/*/*.cpp)
oracle = $(wildcard $(root)/test/unit/oracle/*.cpp)
fuzzers = $(filter-out seeds,$(basename $(notdir $(wildcard $(root)/test/fuzz/*.cpp))))

tests: unit property gpu pipeline placement libheddle-sim.so
fuzz: $(fuzzers) seeds libheddle-sim.so
.PHONY: tests fuzz

catch_main = $(root)/test/catch_main.cpp
unit: $(call object,$(engine) $(oracle) $(catch_main) $(wildcard $(root)/test/unit/*.cpp))
property: $(call object,$(engine) $(oracle) $(wildcard $(root)/test/unit/property/*.cpp))
gpu: $(call object,$(engine) $(oracle) $(gpu_rooms) $(root)/test/unit/property/shrink.cpp \
	$(filter-out %/cuda_test.cpp %/cuda_test_numa.cpp %/sim_test.cpp %/sim_test_streams.cpp %/sim_test_work.cpp \
	%/sim_test_pace.cpp %/model_test.cpp \
	%/sim_plugin.cpp, $(wildcard $(root)/test/gpu/*.cpp)))
pipeline: $(call object,$(engine) $(oracle) $(gpu_rooms) $(pipeline_rooms) $(catch_main) \
	$(wildcard $(root)/test/pipeline/*.cpp) \
	$(patsubst %,$(root)/test/gpu/%.cpp,cuda_memory device_memory mirror random_case simulation))
placement: $(call object,$(engine) $(gpu_rooms) $(catch_main) $(wildcard $(root)/src/placement/*.cpp) \
	$(root)/test/placement/graphs.cpp $(root)/test/placement/test_laws.cpp)
unit property gpu pipeline placement: sources
	$(CXX) $(flags) -o $@ $(filter %.o,$^) -ldl

libfuzzed.a: $(call object,$(engine) $(gpu_rooms) $(pipeline_rooms)) sources
	rm -f $@ && ar crs $@ $(filter %.o,$^)
$(fuzzers): %: objects/test/fuzz/%.o libfuzzed.a
	$(CXX) $(flags) -fsanitize=fuzzer -rdynamic -o $@ $< -Wl,--whole-archive libfuzzed.a \
		-Wl,--no-whole-archive -ldl
seeds: $(call object,$(oracle) $(root)/test/fuzz/seeds.cpp) libfuzzed.a
	$(CXX) $(flags) -o $@ $^ -ldl

plugin = $(wildcard $(root)/src/gpu/sim/*.cpp) $(root)/src/engine/predefined.cpp $(root)/src/engine/reduce_kernels.cpp \
	$(root)/src/gpu/cuda/host/select_kernel.cpp
libheddle-sim.so: $(patsubst $(root)/%.cpp,objects/plugin/%.o,$(plugin)) sources
	$(CXX) $(flags) -shared -o $@ $(filter %.o,$^)

objects/test/gpu/%.o: flags += -I$(root)/test/unit
# Catch2's headers take long to optimize.
objects/test/unit/test_%.o objects/test/placement/test_%.o objects/test/pipeline/test_%.o objects/test/gpu/main.o \
	objects/test/unit/property/main.o: level = -O0
objects/test/catch_main.o: flags = -std=c++20 -O0 -pthread
objects/plugin/%.o: $(root)/%.cpp flags.mk $(root)/test/sanitizers.mk
	@mkdir -p $(@D)
	$(CXX) $(flags) -fPIC -fvisibility=hidden -MMD -MP -c -o $@ $<
objects/%.o: $(root)/%.cpp flags.mk $(root)/test/sanitizers.mk
	@mkdir -p $(@D)
	$(CXX) $(flags) -MMD -MP -c -o $@ $<
.SECONDARY:
-include $(shell find objects -name '*.d' 2>/dev/null)
