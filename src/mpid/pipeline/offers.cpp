// SPDX-License-Identifier: BSD-3-Clause
#include "offers.hpp"

#include "memory_file.hpp"
#include "whereabouts.hpp"

#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace heddle::pipeline {

namespace {

constexpr const char *file_name = "heddle-offers";
constexpr const char *link_to_it = "/memfd:heddle-offers (deleted)";
constexpr uint64_t right_magic = 0x6f2d656c64646568; // "heddle-o"
constexpr uint16_t words = 8190;

// What the memory holds. A word is the name of the message that it is of, and how it stands with it; names do not come
// again, so that a late receiver meets none of a later message's.
struct Board {
    uint64_t magic;
    uint64_t process;
    uint64_t word[words];
};
constexpr uint64_t free_word = 0; // withdrawn, too
enum Standing : uint64_t { open, read, taken, packing };

uint64_t name_of(uint64_t message) { return message << 2; }

std::atomic_ref<uint64_t> word_of(Board &board, uint16_t number)
{
    static_assert(std::atomic_ref<uint64_t>::is_always_lock_free); // it is another process's, too
    return std::atomic_ref(board.word[number - 1]);
}

class Own {
public:
    // Never destroyed: others may look at it until the process ends.
    static Own &get()
    {
        static Own &own = *std::make_unique<Own>().release();
        return own;
    }

    Own()
    {
        if (file_.make(file_name, sizeof(Board)))
            return;
        board()->process = process_;
        std::atomic_ref(board()->magic).store(right_magic, std::memory_order_release);
        idle_.reserve(words);
        for (uint16_t number = words; number > 0; --number)
            idle_.push_back(number);
    }
    // Null where there is no such memory.
    Board *board() { return reinterpret_cast<Board *>(file_.at()); }

    uint16_t take(uint64_t word)
    {
        const std::lock_guard lock(mutex_);
        if (idle_.empty() || process_ != whereabouts().process) // a forked child has its parent's
            return 0;
        const uint16_t number = idle_.back();
        idle_.pop_back();
        word_of(*board(), number).store(word, std::memory_order_release);
        return number;
    }
    void give_back(uint16_t number)
    {
        word_of(*board(), number).store(free_word, std::memory_order_release);
        const std::lock_guard lock(mutex_);
        idle_.push_back(number);
    }

private:
    const uint64_t process_ = whereabouts().process;
    MemoryFile file_;
    std::mutex mutex_;
    std::vector<uint16_t> idle_;
};

// Null where it has none that can be seen.
std::unique_ptr<MemoryFile> find_board(uint64_t process)
{
    const pid_t number = number_of(process);
    std::error_code error;
    std::filesystem::directory_iterator files(path_of(number), error);
    for (; !error && files != std::filesystem::directory_iterator(); files.increment(error)) {
        std::error_code gone;
        if (std::filesystem::read_symlink(files->path(), gone) != link_to_it)
            continue;
        auto file = std::make_unique<MemoryFile>();
        if (file->open(files->path(), sizeof(Board), 0))
            continue;
        Board &board = *reinterpret_cast<Board *>(file->at());
        if (std::atomic_ref(board.magic).load(std::memory_order_acquire) == right_magic && board.process == process)
            return file;
    }
    return nullptr;
}

class Others {
public:
    static Others &get()
    {
        static Others &others = *std::make_unique<Others>().release();
        return others;
    }

    Board *board(uint64_t process)
    {
        const std::lock_guard lock(mutex_);
        const auto [its, is_new] = boards_.try_emplace(process);
        if (is_new)
            its->second = find_board(process);
        return its->second ? reinterpret_cast<Board *>(its->second->at()) : nullptr;
    }

private:
    std::mutex mutex_;
    std::map<uint64_t, std::unique_ptr<MemoryFile>> boards_; // null: it cannot be seen
};

// Null where there is no such offer to be seen.
Board *board_with(uint16_t offer, uint64_t process)
{
    if (offer == 0 || offer > words)
        return nullptr;
    return process == whereabouts().process ? Own::get().board() : Others::get().board(process);
}

bool change(Board &board, uint16_t number, uint64_t from, uint64_t to)
{
    return word_of(board, number).compare_exchange_strong(from, to, std::memory_order_acq_rel);
}

// Of an offer that was not taken.
bool change_standing(Board &board, uint16_t number, uint64_t name, uint64_t to)
{
    return change(board, number, name | open, to) || change(board, number, name | read, to);
}

} // namespace

Offer::Offer(uint64_t message, bool open) : name_(name_of(message))
{
    number_ = Own::get().take(name_ | (open ? Standing::open : packing));
}

Offer::~Offer()
{
    if (number_)
        Own::get().give_back(number_);
}

uint64_t Offer::word() const { return word_of(*Own::get().board(), number_).load(std::memory_order_acquire); }

bool Offer::is_taken() const { return number_ && word() == (name_ | taken); }

bool Offer::is_read() const { return number_ && word() == (name_ | read); }

void Offer::open() { change(*Own::get().board(), number_, name_ | packing, name_ | Standing::open); }

bool Offer::withdraw() { return change_standing(*Own::get().board(), number_, name_, free_word); }

Sight begin_reading(uint64_t process, uint16_t offer, uint64_t message)
{
    Board *const board = board_with(offer, process);
    if (!board)
        return Sight::none;
    return change(*board, offer, name_of(message) | open, name_of(message) | read) ? Sight::open : Sight::withdrawn;
}

Sight look_at_offer(uint64_t process, uint16_t offer, uint64_t message)
{
    Board *const board = board_with(offer, process);
    if (!board)
        return Sight::none;
    const uint64_t word = word_of(*board, offer).load(std::memory_order_acquire);
    return word == (name_of(message) | open)      ? Sight::open
           : word == (name_of(message) | packing) ? Sight::packing
                                                  : Sight::withdrawn;
}

Take take_offer(uint64_t process, uint16_t offer, uint64_t message)
{
    Board *const board = board_with(offer, process);
    if (!board)
        return Take::none;
    return change_standing(*board, offer, name_of(message), name_of(message) | taken) ? Take::taken : Take::withdrawn;
}

} // namespace heddle::pipeline
