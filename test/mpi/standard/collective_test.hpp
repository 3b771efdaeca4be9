/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the programs about collectives share: calls in their three forms, all algorithms that an MPI
 * offers, and buffers whose every byte is known.
 *
 * A buffer is a row of ints, laid out by a datatype. Who receives checks all of its memory, so also
 * what must not change.
 */
#pragma once

#include "standard_test.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <memory>

namespace collective_test {

using namespace standard_test;

enum class Form { blocking, nonblocking, persistent };
constexpr Form kForms[] = {Form::blocking, Form::nonblocking, Form::persistent};

inline const char *name(Form form)
{
    return form == Form::blocking      ? "blocking"
           : form == Form::nonblocking ? "nonblocking"
                                       : "persistent";
}

/* COLLECTIVE(Bcast, comm, buffer, ...): the call in any form;
 * its other arguments have to outlive it. */
#define COLLECTIVE(Name, comm, ...)                                                                \
    [&](::collective_test::Form form, MPI_Request *request) {                                      \
        if (form == ::collective_test::Form::blocking)                                             \
            return MPI_##Name(__VA_ARGS__, comm);                                                  \
        if (form == ::collective_test::Form::nonblocking)                                          \
            return COLLECTIVE_NONBLOCKING_##Name(__VA_ARGS__, comm, request);                      \
        return MPI_##Name##_init(__VA_ARGS__, comm, MPI_INFO_NULL, request);                       \
    }
#define COLLECTIVE_NONBLOCKING_Bcast MPI_Ibcast
#define COLLECTIVE_NONBLOCKING_Gather MPI_Igather
#define COLLECTIVE_NONBLOCKING_Gatherv MPI_Igatherv
#define COLLECTIVE_NONBLOCKING_Scatter MPI_Iscatter
#define COLLECTIVE_NONBLOCKING_Scatterv MPI_Iscatterv
#define COLLECTIVE_NONBLOCKING_Allgather MPI_Iallgather
#define COLLECTIVE_NONBLOCKING_Allgatherv MPI_Iallgatherv
#define COLLECTIVE_NONBLOCKING_Alltoall MPI_Ialltoall
#define COLLECTIVE_NONBLOCKING_Alltoallv MPI_Ialltoallv
#define COLLECTIVE_NONBLOCKING_Alltoallw MPI_Ialltoallw
#define COLLECTIVE_NONBLOCKING_Reduce MPI_Ireduce
#define COLLECTIVE_NONBLOCKING_Allreduce MPI_Iallreduce
#define COLLECTIVE_NONBLOCKING_Reduce_scatter MPI_Ireduce_scatter
#define COLLECTIVE_NONBLOCKING_Reduce_scatter_block MPI_Ireduce_scatter_block
#define COLLECTIVE_NONBLOCKING_Scan MPI_Iscan
#define COLLECTIVE_NONBLOCKING_Exscan MPI_Iexscan
#define COLLECTIVE_NONBLOCKING_Neighbor_allgather MPI_Ineighbor_allgather
#define COLLECTIVE_NONBLOCKING_Neighbor_allgatherv MPI_Ineighbor_allgatherv
#define COLLECTIVE_NONBLOCKING_Neighbor_alltoall MPI_Ineighbor_alltoall
#define COLLECTIVE_NONBLOCKING_Neighbor_alltoallv MPI_Ineighbor_alltoallv
#define COLLECTIVE_NONBLOCKING_Neighbor_alltoallw MPI_Ineighbor_alltoallw

/* The algorithms of a call: MPICH has a control variable for each, whose description lists them
 * ("name - what it is"). An MPI without such a variable has one algorithm. */
class Algorithms {
public:
    /* The algorithms of a call such as "Allgather" or "Iallgather",
     * within a group or between two. */
    static const Algorithms &of(const std::string &call, bool between_groups)
    {
        static std::map<std::string, Algorithms> known;
        std::string variable =
            "MPIR_CVAR_" + call + (between_groups ? "_INTER" : "_INTRA") + "_ALGORITHM";
        for (char &c : variable)
            c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
        const auto found = known.find(variable);
        return found != known.end() ? found->second
                                    : known.emplace(variable, Algorithms(variable)).first->second;
    }

    int count() const { return count_; }
    void choose(int number) const
    {
        if (handle_ != MPI_T_CVAR_HANDLE_NULL)
            MPI_T_cvar_write(handle_, &number);
    }

private:
    explicit Algorithms(const std::string &variable)
    {
        int provided, number, elements;
        MPI_T_init_thread(MPI_THREAD_SINGLE, &provided); /* and no end of it: it lasts as long as
                                                            the program */
        if (MPI_T_cvar_get_index(variable.c_str(), &number) != MPI_SUCCESS) {
            return;
        }
        char name[256], text[4096];
        int name_length = sizeof name, text_length = sizeof text, verbosity, bind, scope;
        MPI_Datatype type;
        MPI_T_enum values;
        MPI_T_cvar_get_info(number, name, &name_length, &verbosity, &type, &values, text,
                            &text_length, &bind, &scope);
        count_ = 0;
        for (const char *dash = text; (dash = std::strstr(dash, " - ")) != nullptr; dash++)
            count_++;
        MPI_T_cvar_handle_alloc(number, nullptr, &handle_, &elements);
    }

    MPI_T_cvar_handle handle_ = MPI_T_CVAR_HANDLE_NULL;
    int count_ = 1;
};

/* A datatype, and where its ints are. */
struct Layout {
    std::string name;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    std::vector<MPI_Aint> ints;
    MPI_Aint extent = 0;

    int instances(int pairs) const { return 2 * pairs / static_cast<int>(ints.size()); }
};

/* Layouts of one int or of two, for buffers of up to `most` pairs. */
class Layouts {
public:
    explicit Layouts(int most)
    {
        list_.push_back({"ints", MPI_INT, {0}, 4});
        add("pairs with gaps", {4, 12}, 0, 20);
        add("pairs that begin before", {-8, 4}, -12, 24);
        add("columns", {0, 4 * most}, 0, 4);
    }
    ~Layouts()
    {
        for (size_t i = 1; i < list_.size(); i++)
            MPI_Type_free(&list_[i].type);
    }
    Layouts(const Layouts &) = delete;
    Layouts &operator=(const Layouts &) = delete;
    const std::vector<Layout> &all() const { return list_; }

private:
    void add(const char *name, const std::vector<MPI_Aint> &ints, MPI_Aint lb, MPI_Aint extent)
    {
        MPI_Datatype bare, type;
        MPI_Type_create_hindexed_block(static_cast<int>(ints.size()), 1, ints.data(), MPI_INT,
                                       &bare);
        MPI_Type_create_resized(bare, lb, extent, &type);
        MPI_Type_commit(&type);
        MPI_Type_free(&bare);
        list_.push_back({name, type, ints, extent});
    }
    std::vector<Layout> list_;
};

/* A row of ints laid out by a datatype, in memory that MPI reads and writes, and what that memory
 * should hold. */
class Row {
public:
    Row(const Layout &layout, int pairs)
        : layout_(layout),
          pairs_(pairs),
          before_(std::max<MPI_Aint>(0, -layout.ints.front())),
          image_((before_ + layout.ints.back() + layout.extent * layout.instances(pairs)) / 4 + 2),
          memory_(image_.size() * 4)
    {
    }
    void *at() const { return memory_.at() + before_; }
    int pairs() const { return pairs_; }
    const Layout &layout() const { return layout_; }

    void clear(int with) { std::fill(image_.begin(), image_.end(), with); }
    int &operator[](int i) { return image_[index(i)]; }
    void write() const { memory_.put(image_); }
    /* From this int on anything may be there. */
    void forget(int first)
    {
        const std::vector<int> found = memory_.get<int>();
        for (int i = first; i < 2 * pairs_; i++)
            image_[index(i)] = found[index(i)];
    }
    void check(const std::string &what) const
    {
        const std::vector<int> found = memory_.get<int>();
        for (size_t i = 0; i < found.size(); i++)
            if (found[i] != image_[i]) {
                fail(what + ": byte " + std::to_string(4 * static_cast<long>(i) - before_) +
                     " holds " + std::to_string(found[i]) + " instead of " +
                     std::to_string(image_[i]));
                return;
            }
    }

private:
    size_t index(int i) const
    {
        const int n = static_cast<int>(layout_.ints.size());
        return static_cast<size_t>(before_ + i / n * layout_.extent +
                                   layout_.ints[static_cast<size_t>(i % n)]) /
               4;
    }
    Layout layout_;
    int pairs_;
    MPI_Aint before_;
    std::vector<int> image_;
    Memory memory_;
};

/* What rank `from` sends to rank `to` as its i-th int, in the n-th start of a request. */
inline int value(int from, int to, int i, int n)
{
    return (((n + 2) * 16 + from) * 16 + to) * 4096 + i;
}

/*
 * Makes a call in one form. before(n) says what the rows hold when it is started for the n-th time,
 * after(n) what they hold then. A persistent request is made with other data than it is started
 * with.
 */
template <class Call, class Before, class After> void make_call(const std::string &what, Form form,
                                                                Call call, std::vector<Row *> rows,
                                                                Before before, After after)
{
    MPI_Request request = MPI_REQUEST_NULL;
    const auto set = [&](int n) {
        before(n);
        for (const Row *row : rows)
            row->write();
    };
    if (form == Form::persistent) {
        set(-1);
        if (!check_success(call(form, &request), what + ", made"))
            return;
    }
    for (int n = 0; n < (form == Form::persistent ? 3 : 1); n++) {
        const std::string which =
            what + (form == Form::persistent ? ", start " + std::to_string(n) : "");
        set(n);
        if (!check_success(form == Form::persistent ? MPI_Start(&request) : call(form, &request),
                           which))
            break;
        if (form != Form::blocking)
            check_success(MPI_Wait(&request, MPI_STATUS_IGNORE), which + ", wait");
        after(n);
        for (const Row *row : rows)
            row->check(which);
    }
    if (form == Form::persistent)
        MPI_Request_free(&request);
}

inline bool in_host_memory()
{
    const char *const memory = std::getenv("HEDDLE_TEST_MEMORY");
    return memory == nullptr || std::strcmp(memory, "host") == 0;
}

/* Whether the turn-th call is made by algorithm `i`: by all in host memory on few ranks, otherwise
 * by MPI's own choice and by one more, in turn. */
inline bool is_made_by(int i, int turn, const Algorithms &algorithms)
{
    return (in_host_memory() && size <= 3) || i == 0 || i == turn % algorithms.count();
}

/* The same in all forms and by all algorithms. */
template <class Call, class Before, class After>
void make_calls(const std::string &name_of_call, bool between_groups, const std::string &detail,
                Call call, std::vector<Row *> rows, Before before, After after)
{
    static int turn;
    turn++;
    for (const Form form : kForms) {
        const Algorithms &algorithms =
            Algorithms::of((form == Form::blocking ? "" : "I") + name_of_call, between_groups);
        for (int i = 0; i < algorithms.count(); i++) {
            if (!is_made_by(i, turn, algorithms))
                continue;
            algorithms.choose(i);
            make_call(std::string(name(form)) + " " + name_of_call + ", algorithm " +
                          std::to_string(i) + ", " + detail,
                      form, call, rows, before, after);
        }
        algorithms.choose(0);
    }
}

} // namespace collective_test
