// SPDX-License-Identifier: BSD-3-Clause
#include "board.hpp"

#include "memory_file.hpp"
#include "whereabouts.hpp"

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>

namespace heddle::pipeline {

namespace {

constexpr const char *file_name = "heddle-board";
constexpr const char *link_to_it = "/memfd:heddle-board (deleted)";
constexpr uint64_t right_magic = 0x622d656c64646568; // "heddle-b"

// Never destroyed: others may look at it until the process ends.
class Own {
public:
    static Own &get()
    {
        static Own &own = *std::make_unique<Own>().release();
        return own;
    }

    Own()
    {
        if (file_.make(file_name, sizeof(Board)))
            return;
        board()->process = whereabouts().process;
        std::atomic_ref(board()->magic).store(right_magic, std::memory_order_release);
    }
    Board *board() { return reinterpret_cast<Board *>(file_.at()); }

private:
    MemoryFile file_;
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
        if (std::atomic_ref(board.magic).load(std::memory_order_acquire) == right_magic &&
            board.process == process)
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

} // namespace

Board *own_board() { return Own::get().board(); }

bool is_ours(const Board &board) { return board.process == whereabouts().process; }

Board *board_of(uint64_t process)
{
    return process == whereabouts().process ? own_board() : Others::get().board(process);
}

} // namespace heddle::pipeline
