// SPDX-License-Identifier: BSD-3-Clause
// The same on a GPU: its memory, and a kernel that updates a box of cells.
#include "device.hpp"

#include <stdexcept>
#include <vector>

namespace stencil {

namespace {

void check(cudaError_t error)
{
    if (error != cudaSuccess)
        throw std::runtime_error(std::string("CUDA: ") + cudaGetErrorString(error));
}

struct Pointers {
    double *at[kMostQuantities];
};

struct Job {
    int64_t begin, row, plane; // the first cell; from row to row, from plane to plane
    unsigned extent[3];
    Pointers in, out;
    const int *first;
    const Term *terms;
};

constexpr unsigned kThreads = 128;

// A cell a thread, a quantity a row of blocks. Products are rounded before they are added, as on
// the host, so that results have the same bits.
__global__ void update_cells(const __grid_constant__ Job job)
{
    const unsigned nx = job.extent[0], ny = job.extent[1];
    const unsigned i = blockIdx.x * kThreads + threadIdx.x;
    if (i >= nx * ny * job.extent[2])
        return;
    const int64_t at = job.begin + i % nx + i / nx % ny * job.row + i / nx / ny * job.plane;
    const int q = static_cast<int>(blockIdx.y);
    double sum = 0;
    for (int t = job.first[q]; t < job.first[q + 1]; ++t) {
        const Term term = job.terms[t];
        sum = __dadd_rn(sum, __dmul_rn(term.factor, job.in.at[term.source][at + term.offset]));
    }
    job.out.at[q][at] = sum;
}

// All is there when it returns. Out of pageable memory cudaMemcpy alone may return earlier, and
// streams that do not block do not wait for it.
void copy_bytes(void *to, const void *from, size_t bytes)
{
    check(cudaMemcpy(to, from, bytes, cudaMemcpyDefault));
    check(cudaStreamSynchronize(nullptr));
}

// Device memory that goes with its owner.
template <class T> class Array {
public:
    Array() = default;
    Array(const Array &) = delete;
    Array &operator=(const Array &) = delete;
    ~Array() { cudaFree(at_); }

    void set(const std::vector<T> &values)
    {
        cudaFree(at_);
        at_ = nullptr;
        check(cudaMalloc(&at_, values.size() * sizeof(T)));
        copy_bytes(at_, values.data(), values.size() * sizeof(T));
    }
    const T *get() const { return at_; }

private:
    T *at_ = nullptr;
};

class Gpu final : public Device {
public:
    explicit Gpu(int turn)
    {
        int devices = 0;
        check(cudaGetDeviceCount(&devices));
        check(cudaSetDevice(turn % devices));
        cudaDeviceProp properties;
        check(cudaGetDeviceProperties(&properties, turn % devices));
        name_ = properties.name;
        check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    }
    ~Gpu() override { cudaStreamDestroy(stream_); }
    std::string name() const override { return name_; }

    double *allocate(size_t cells) override
    {
        double *memory = nullptr;
        check(cudaMalloc(&memory, cells * sizeof(double)));
        return memory;
    }
    void release(double *memory) override { cudaFree(memory); }
    void write(double *to, const double *from, size_t cells) override { copy(to, from, cells); }
    void read(double *to, const double *from, size_t cells) override { copy(to, from, cells); }

    void prepare(const Update &update, const Layout &layout) override
    {
        first_.set(update.first);
        terms_.set(update.terms);
        layout_ = layout;
        quantities_ = static_cast<int>(update.first.size()) - 1;
    }
    void update(const Box &box, double *const in[], double *const out[]) override
    {
        Job job{layout_.index(box.begin[0], box.begin[1], box.begin[2]),
                layout_.index(0, 1, 0),
                layout_.index(0, 0, 1),
                {},
                {},
                {},
                first_.get(),
                terms_.get()};
        for (int axis = 0; axis < 3; ++axis)
            job.extent[axis] = static_cast<unsigned>(box.extent(axis));
        for (int q = 0; q < quantities_; ++q) {
            job.in.at[q] = in[q];
            job.out.at[q] = out[q];
        }
        const auto cells = static_cast<unsigned>(box.cells());
        const dim3 blocks((cells + kThreads - 1) / kThreads, static_cast<unsigned>(quantities_));
        update_cells<<<blocks, kThreads, 0, stream_>>>(job);
        check(cudaGetLastError());
    }
    bool is_idle() override
    {
        const cudaError_t state = cudaStreamQuery(stream_);
        if (state != cudaErrorNotReady)
            check(state);
        return state == cudaSuccess;
    }
    void wait() override { check(cudaStreamSynchronize(stream_)); }

private:
    static void copy(double *to, const double *from, size_t cells)
    {
        copy_bytes(to, from, cells * sizeof(double));
    }

    std::string name_;
    cudaStream_t stream_ = nullptr;
    Array<int> first_;
    Array<Term> terms_;
    Layout layout_;
    int quantities_ = 0;
};

} // namespace

std::unique_ptr<Device> cuda_device(int turn) { return std::make_unique<Gpu>(turn); }

} // namespace stencil
