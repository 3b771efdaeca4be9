// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/peers.hpp"

#include "interpose/data.hpp"
#include "interpose/operation.hpp"
#include "interpose/report.hpp"

#include "engine/immortal.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <numeric>
#include <random>
#include <vector>

namespace heddle::interpose {

std::atomic<bool> peers_are_met{false};

namespace {

// What each process tells all others.
struct Card {
    heddle_process who;
    heddle_shared_name page;
    Magic magic; // rank 0's counts
    int32_t takes_part, by_value;
};

// What is known of a process. Ranks are MPI_COMM_WORLD's.
struct Member {
    int partner; // its rank, if it takes part
    Place place;
};
constexpr Member stranger{nobody, nobody};

struct Peers {
    Magic magic{};
    MPI_Comm comm = MPI_COMM_NULL;
    Place own = nobody;
    heddle_shared *own_page = nullptr;
    std::vector<heddle_shared *> pages; // by place; null: not open
    std::vector<Member> members;        // by rank
    std::mutex mutex;                   // of what follows
    int key = MPI_KEYVAL_INVALID;
};

Peers &peers() { return immortal<Peers>(); }

Page *page_at(const heddle_shared *shared)
{
    return static_cast<Page *>(heddle_shared_address(shared));
}

bool is_set(const char *name, const char *value)
{
    const char *const said = std::getenv(name);
    return said && std::strcmp(said, value) == 0;
}

bool is_asked_for() { return is_set("HEDDLE_INTERPOSE_PEER", "1"); }

Card own_card()
{
    std::random_device random;
    Card card{};
    heddle_process_self(&card.who);
    for (uint64_t &each : card.magic)
        each = uint64_t{random()} << 32 | random();
    card.by_value = is_set("HEDDLE_PEER", "value");
    card.takes_part =
        card.who.node != 0 && device_is_open() &&
        heddle_shared_make(sizeof(Page), &card.page, &peers().own_page) == HEDDLE_SUCCESS;
    return card;
}

// A process without the interposer would be waited for in vain.
void give_up()
{
    std::fprintf(stderr, "heddle interpose: HEDDLE_INTERPOSE_PEER=1, but a process of "
                         "MPI_COMM_WORLD has not answered in a minute. All of them must run under "
                         "heddle-run --peer\n");
    PMPI_Abort(MPI_COMM_WORLD, 2);
}

void wait_or_give_up(MPI_Request request)
{
    using Clock = std::chrono::steady_clock;
    const Clock::time_point end = Clock::now() + std::chrono::minutes(1);
    int done = 0;
    for (Patience patience; !done; patience.wait()) {
        PMPI_Test(&request, &done, MPI_STATUS_IGNORE);
        if (!done && Clock::now() > end)
            return give_up();
    }
}

std::vector<Card> all_cards(const Card &own)
{
    int size = 0;
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    std::vector<Card> cards(static_cast<size_t>(size));
    MPI_Request request = MPI_REQUEST_NULL;
    PMPI_Iallgather(&own, sizeof own, MPI_BYTE, cards.data(), sizeof own, MPI_BYTE, MPI_COMM_WORLD,
                    &request);
    wait_or_give_up(request);
    return cards;
}

// Gives each process whose page can be opened its place.
void find_members(const std::vector<Card> &cards, const Card &own)
{
    Peers &all = peers();
    for (const Card &card : cards) {
        const auto rank = static_cast<int>(all.members.size());
        const auto next = static_cast<Place>(all.pages.size());
        const bool is_own = card.who.name == own.who.name;
        const bool is_partner = own.takes_part && card.takes_part && !is_own;
        const bool is_here = own.takes_part && card.takes_part && card.who.node == own.who.node &&
                             (is_own || (!card.by_value && !own.by_value));
        all.members.push_back({is_partner ? rank : nobody, nobody});
        if (!is_here || next == most_places)
            continue;
        heddle_shared *page = nullptr;
        if (!is_own && heddle_shared_open(&card.page, &page) != HEDDLE_SUCCESS)
            page = nullptr;
        if (is_own)
            all.own = next;
        all.pages.push_back(page);
        if (page)
            all.members.back().place = next;
    }
}

// All must agree who takes part in a communicator's collectives (together.hpp).
bool all_have_opened_all(const Card &own)
{
    const Peers &all = peers();
    const auto closed = std::count(all.pages.begin(), all.pages.end(), nullptr);
    int opened = closed <= (own.takes_part ? 1 : 0), all_opened = 0; // its own needs no opening
    PMPI_Allreduce(&opened, &all_opened, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (!all_opened)
        complain_once("a process cannot open another's memory: no message goes by reference");
    return all_opened != 0;
}

void close_pages()
{
    Peers &all = peers();
    for (heddle_shared *const page : all.pages)
        heddle_shared_close(page);
    all.pages.clear();
    all.own = nobody;
    for (Member &each : all.members)
        each.place = nobody;
}

// ---- who is who in a communicator ---------------------------------------------------------------

using Members = std::vector<Member>;

int delete_members(MPI_Comm, int, void *members, void *)
{
    const std::unique_ptr<Members> gone(static_cast<Members *>(members));
    return MPI_SUCCESS;
}

std::unique_ptr<Members> make_members(MPI_Comm comm)
{
    MPI_Group group = MPI_GROUP_NULL, world = MPI_GROUP_NULL;
    int is_inter = 0, n = 0;
    PMPI_Comm_test_inter(comm, &is_inter);
    if (is_inter)
        PMPI_Comm_remote_group(comm, &group);
    else
        PMPI_Comm_group(comm, &group);
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    PMPI_Group_size(group, &n);
    std::vector<int> ranks(static_cast<size_t>(n)), in_world(static_cast<size_t>(n), MPI_UNDEFINED);
    std::iota(ranks.begin(), ranks.end(), 0);
    PMPI_Group_translate_ranks(group, n, ranks.data(), world, in_world.data());
    PMPI_Group_free(&group);
    PMPI_Group_free(&world);
    auto members = std::make_unique<Members>();
    for (const int rank : in_world)
        members->push_back(rank == MPI_UNDEFINED ? stranger
                                                 : peers().members[static_cast<size_t>(rank)]);
    return members;
}

// They are an attribute of the communicator, and go with it.
const Members *members_of(MPI_Comm comm)
{
    Peers &all = peers();
    void *kept = nullptr;
    int there = 0;
    PMPI_Comm_get_attr(comm, all.key, &kept, &there);
    if (there)
        return static_cast<Members *>(kept);
    const std::lock_guard lock(all.mutex); // two threads must not keep two
    PMPI_Comm_get_attr(comm, all.key, &kept, &there);
    if (there)
        return static_cast<Members *>(kept);
    std::unique_ptr<Members> made = make_members(comm);
    if (PMPI_Comm_set_attr(comm, all.key, made.get()) != MPI_SUCCESS)
        return nullptr;
    return made.release(); // delete_members does it
}

Member member_of(int rank, MPI_Comm comm)
{
    if (rank < 0 || comm == MPI_COMM_NULL)
        return stranger;
    const Members *const members = members_of(comm);
    return members && static_cast<size_t>(rank) < members->size()
               ? (*members)[static_cast<size_t>(rank)]
               : stranger;
}

} // namespace

void meet_peers()
{
    if (!is_asked_for())
        return;
    Peers &all = peers();
    const Card own = own_card();
    const std::vector<Card> cards = all_cards(own);
    all.magic = cards.front().magic;
    find_members(cards, own);
    if (!all_have_opened_all(own) || all.own == nobody)
        close_pages();
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_members, &all.key, nullptr);
    PMPI_Comm_dup(MPI_COMM_WORLD, &all.comm);
    PMPI_Comm_set_errhandler(all.comm, MPI_ERRORS_RETURN);
    peers_are_met.store(own.takes_part != 0);
}

void part_from_peers(void (*meanwhile)())
{
    Peers &all = peers();
    if (all.members.empty())
        return;
    MPI_Request request = MPI_REQUEST_NULL;
    int done = 0;
    PMPI_Ibarrier(all.comm, &request);
    for (Patience patience; !done; patience.wait()) {
        PMPI_Test(&request, &done, MPI_STATUS_IGNORE);
        meanwhile();
    }
    peers_are_met.store(false);
    close_pages();
    heddle_shared_close(all.own_page);
    PMPI_Comm_free(&all.comm);
    all.members.clear();
}

const Magic &magic() { return peers().magic; }

Place own_place() { return peers().own; }

int place_count() { return static_cast<int>(peers().pages.size()); }

Page &own_page() { return *page_at(peers().own_page); }

Page *page_of(Place place) { return page_at(peers().pages[static_cast<size_t>(place)]); }

MPI_Comm private_comm() { return peers().comm; }

Place place_of(int rank, MPI_Comm comm) { return member_of(rank, comm).place; }

int partner_of(int rank, MPI_Comm comm) { return member_of(rank, comm).partner; }

} // namespace heddle::interpose
