/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Finalize with a long message that nobody receives (erroneous): it ends, and says on stderr
 * which. One whose receiver only comes late, its request freed, is received as ever.
 */
#include "../device/device_test.hpp"

#include <chrono>
#include <cstdlib>
#include <memory>
#include <thread>
#include <unistd.h>

using namespace device_test;

namespace {

constexpr int long_one = 200000, received_tag = 5, unmatched_tag = 6;

/* What is written to stderr while it lives. */
class Heard {
public:
    Heard() : before_(dup(STDERR_FILENO)), file_(std::tmpfile())
    {
        dup2(fileno(file_), STDERR_FILENO);
    }
    ~Heard()
    {
        dup2(before_, STDERR_FILENO);
        std::fclose(file_);
    }
    std::string text() const
    {
        std::fflush(stderr);
        std::string all(4096, '\0');
        all.resize(static_cast<size_t>(
            std::max<ssize_t>(pread(fileno(file_), all.data(), all.size(), 0), 0)));
        return all;
    }

private:
    const int before_;
    std::FILE *const file_;
};

void begin(Buffer &buffer, int tag)
{
    MPI_Request request;
    MPI_Isend(buffer.at(), 1, buffer.type(), other(), tag, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
}

} // namespace

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const Layout &layout = *std::make_unique<Layout>(strided(long_one)).release(); /* the type goes
                                                                                      with MPI */
    Buffer received(gpu::Kind::device, layout), unmatched(gpu::Kind::device, layout);
    const Heard heard;
    if (rank == 0) {
        received.fill(1);
        begin(received, received_tag);
        begin(unmatched, unmatched_tag);
    } else {
        std::this_thread::sleep_for(std::chrono::seconds(4)); /* longer than MPI_Finalize waits for
                                                                 what nobody receives */
        MPI_Recv(received.at(), 1, received.type(), other(), received_tag, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        received.expect(1, 0, received.elements());
        received.verify("received late");
    }
    const auto began = std::chrono::steady_clock::now();
    MPI_Finalize();
    const auto took = std::chrono::steady_clock::now() - began;
    check(took < std::chrono::seconds(rank == 0 ? 12 : 8), "MPI_Finalize takes long");
    const std::string text = heard.text();
    if (rank == 0)
        for (const char *part : {"1600000 bytes", "rank 1", "tag 6"})
            check(text.find(part) != std::string::npos,
                  std::string("not told: ") + part + " in: " + text);
    check(text.find("tag 5") == std::string::npos, "told of what was received: " + text);
    if (failures == 0)
        std::printf("survived\n");
    return failures != 0;
}
