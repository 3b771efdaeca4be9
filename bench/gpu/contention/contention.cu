// SPDX-License-Identifier: BSD-3-Clause
// Packing while the GPU is busy: the experiment of Jenkins et al., section 4.4, table 2. An
// application's work (a vector addition, or a copy over PCIe) and the packing of a vector type
// begin one after the other, in either order. Prints JSON: how long each takes from its own
// beginning, and how long both take together.
//
// The type is the paper's, 262 144 blocks of 64 bytes, 16 MiB, but 128 bytes apart: at the paper's
// 64 it is contiguous.
#include "../owner.hpp"
#include "../type.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <iostream>
#include <optional>

namespace {

using namespace bench;
using Clock = std::chrono::steady_clock;

constexpr int64_t blocks = 262144, block = 64, stride = 128, bytes = blocks * block;
constexpr int64_t numbers = 56 << 20; // so that an addition takes about as long as a copy of
                                      // `bytes` over PCIe
constexpr int warm_up = 3, rounds = 25;

// Many blocks of threads, each soon done: what comes later gets a place as they end, the sooner the
// higher its priority.
__global__ void add(const double *a, const double *b, double *c)
{
    const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i < numbers)
        c[i] = a[i] + b[i];
}

// The blocks are as many as are resident at once. All of them stay until the end.
__global__ void __launch_bounds__(1024, 2) add_resident(const double *a, const double *b, double *c)
{
    for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < numbers;
         i += int64_t{gridDim.x} * blockDim.x)
        c[i] = a[i] + b[i];
}

double since(Clock::time_point begin)
{
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Something that is begun and then asked until it has ended.
struct Operation {
    std::string name;
    std::function<void()> begin;
    std::function<bool()> ended;
};

struct Times {
    double first = 0, second = 0, both = 0; // each from its own beginning; both from the first's
};

Times run(const Operation &first, const Operation *second)
{
    Times times;
    const auto begin = Clock::now();
    first.begin();
    const auto middle = Clock::now();
    if (second)
        second->begin();
    for (bool waiting = true; waiting;) {
        if (times.first == 0 && first.ended())
            times.first = since(begin);
        if (second && times.second == 0 && second->ended())
            times.second = since(middle);
        waiting = times.first == 0 || (second && times.second == 0);
    }
    times.both = since(begin);
    return times;
}

double median(std::vector<double> values)
{
    std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
    return values[values.size() / 2];
}

Times measure(const Operation &first, const Operation *second)
{
    std::vector<double> firsts, seconds, both;
    for (int i = 0; i < warm_up + rounds; ++i) {
        const Times times = run(first, second);
        BENCH_CUDA(cudaDeviceSynchronize());
        if (i < warm_up)
            continue;
        firsts.push_back(times.first);
        seconds.push_back(times.second);
        both.push_back(times.both);
    }
    return {median(firsts), median(seconds), median(both)};
}

// On a stream of the application's own.
Operation on_stream(std::string name, cudaStream_t stream, std::function<void()> begin)
{
    return {std::move(name), std::move(begin), [stream] {
                const cudaError_t state = cudaStreamQuery(stream);
                if (state != cudaErrorNotReady)
                    check(state, "cudaStreamQuery");
                return state == cudaSuccess;
            }};
}

class Experiment {
public:
    explicit Experiment(bool rivals)
        : type_(Type::hvector(blocks, block / 8, stride, Type::predefined(HEDDLE_DOUBLE))),
          rivals_(rivals)
    {
        // Not zeros, which a link or a memory might carry faster.
        for (const Device *each : {&a_, &b_, &user_, &packed_, &other_})
            BENCH_CUDA(cudaMemset(each->get(), 0x5a, static_cast<size_t>(each->bytes())));
        cudaDeviceProp device{};
        BENCH_CUDA(cudaGetDeviceProperties(&device, 0));
        resident_ = static_cast<unsigned>(2 * device.multiProcessorCount);
    }

    void print()
    {
        const std::vector<Operation> users = workloads(), packs = packings();
        nlohmann::ordered_json lines = nlohmann::ordered_json::array();
        const auto line = [&](const std::string &user, const std::string &pack, const char *order,
                              const Times &t) {
            lines.push_back({{"user", user},
                             {"pack", pack},
                             {"order", order},
                             {"first", t.first},
                             {"second", t.second},
                             {"both", t.both}});
        };
        for (const Operation &user : users)
            line(user.name, "", "user", measure(user, nullptr));
        for (const Operation &pack : packs)
            line("", pack.name, "pack", measure(pack, nullptr));
        for (const Operation &user : users)
            for (const Operation &pack : packs) {
                line(user.name, pack.name, "user, pack", measure(user, &pack));
                line(user.name, pack.name, "pack, user", measure(pack, &user));
            }
        std::cout << lines.dump(1) << std::endl;
    }

private:
    std::vector<Operation> workloads()
    {
        const auto numbers_at = [](const Device &memory) {
            return reinterpret_cast<double *>(memory.get());
        };
        constexpr unsigned threads = 256;
        return {on_stream("addition", application_,
                          [=, this] {
                              add<<<numbers / threads, threads, 0, application_>>>(
                                  numbers_at(a_), numbers_at(b_), numbers_at(c_));
                          }),
                on_stream("resident addition", application_,
                          [=, this] {
                              add_resident<<<resident_, 1024, 0, application_>>>(
                                  numbers_at(a_), numbers_at(b_), numbers_at(c_));
                          }),
                on_stream("copy to the device", application_,
                          [this] {
                              BENCH_CUDA(cudaMemcpyAsync(other_.get(), from_host_.get(), bytes,
                                                         cudaMemcpyHostToDevice, application_));
                          }),
                on_stream("copy to the host", application_, [this] {
                    BENCH_CUDA(cudaMemcpyAsync(to_host_.get(), other_.get(), bytes,
                                               cudaMemcpyDeviceToHost, application_));
                })};
    }

    heddle_move move_to(void *packed) const
    {
        return {{user_.get(), 1, type_.get(), 0},
                {packed, bytes, heddle_type_predefined(HEDDLE_BYTE), 0},
                bytes,
                HEDDLE_OP_REPLACE};
    }

    Operation heddle_to(std::string name, void *packed)
    {
        return {std::move(name),
                [this, packed] {
                    const heddle_move move = move_to(packed);
                    BENCH_HEDDLE(heddle_transfer_begin(&move, 1, &request_));
                },
                [this] {
                    int done = 0;
                    BENCH_HEDDLE(heddle_test(&request_, &done));
                    return done != 0;
                }};
    }

    // The same kernel on a stream of the application's priority.
    Operation plain_to(std::string name, void *packed)
    {
        return on_stream(std::move(name), packing_, [this, packed] {
            const heddle_move move = move_to(packed);
            BENCH_HEDDLE(heddle_transfer_on_stream(&move, 1, packing_));
        });
    }

    Operation cuda_to(std::string name, void *packed)
    {
        return on_stream(std::move(name), packing_, [this, packed] {
            BENCH_CUDA(cudaMemcpy2DAsync(packed, block, user_.get(), stride, block, blocks,
                                         cudaMemcpyDefault, packing_));
        });
    }

    std::vector<Operation> packings()
    {
        std::vector<Operation> all{heddle_to("heddle to the host", pinned_.get()),
                                   heddle_to("heddle on the device", packed_.get())};
        if (rivals_) {
            all.push_back(plain_to("heddle, no priority, to the host", pinned_.get()));
            all.push_back(plain_to("heddle, no priority, on the device", packed_.get()));
            all.push_back(cuda_to("cudaMemcpy2DAsync to the host", pinned_.get()));
            all.push_back(cuda_to("cudaMemcpy2DAsync on the device", packed_.get()));
        }
        return all;
    }

    Type type_;
    bool rivals_;
    unsigned resident_ = 0;
    heddle_request *request_ = nullptr;
    Stream application_, packing_; // of the lowest priority, the default
    Device a_{numbers * 8}, b_{numbers * 8}, c_{numbers * 8}, user_{blocks * stride},
        packed_{bytes}, other_{bytes};
    Pinned pinned_{bytes}, from_host_{bytes}, to_host_{bytes};
};

} // namespace

int main(int argc, char **argv)
{
    try {
        BENCH_HEDDLE(heddle_device_open());
        Experiment(argc > 1 && std::string(argv[1]) == "--rivals").print();
        return 0;
    } catch (const std::exception &error) {
        std::fprintf(stderr, "contention: %s\n", error.what());
        return 2;
    }
}
