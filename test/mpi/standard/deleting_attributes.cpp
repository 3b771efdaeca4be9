// SPDX-License-Identifier: BSD-3-Clause
// Attributes whose delete callbacks delete others of the same object, or fail: of types,
// communicators and windows, when one is deleted, replaced, and when the object is freed.
// processes: 1 2
#include "standard_test.hpp"

#include <algorithm>
#include <utility>

using namespace standard_test;

namespace {

int keys[4];                // of the kind that is tested
std::vector<int> deleted;   // keys, in the order of their callbacks
std::vector<int> to_delete; // by the callback of keys[0]
int failing = -1;           // the key whose callback fails

/* What is alike in MPI's three kinds of objects with attributes. */
struct TypeKind {
    using Handle = MPI_Datatype;
    static constexpr const char *name = "type";
    static Handle make()
    {
        Handle type;
        MPI_Type_contiguous(2, MPI_INT, &type);
        return type;
    }
    static int free(Handle *handle) { return MPI_Type_free(handle); }
    static int set(Handle handle, int key, void *value)
    {
        return MPI_Type_set_attr(handle, key, value);
    }
    static int remove(Handle handle, int key) { return MPI_Type_delete_attr(handle, key); }
    static void get(Handle handle, int key, void *value, int *flag)
    {
        MPI_Type_get_attr(handle, key, value, flag);
    }
    template <class Function> static void create(Function callback, int *key)
    {
        MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, callback, key, nullptr);
    }
    static void free_key(int *key) { MPI_Type_free_keyval(key); }
};

struct CommKind {
    using Handle = MPI_Comm;
    static constexpr const char *name = "communicator";
    static Handle make()
    {
        Handle comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        return comm;
    }
    static int free(Handle *handle) { return MPI_Comm_free(handle); }
    static int set(Handle handle, int key, void *value)
    {
        return MPI_Comm_set_attr(handle, key, value);
    }
    static int remove(Handle handle, int key) { return MPI_Comm_delete_attr(handle, key); }
    static void get(Handle handle, int key, void *value, int *flag)
    {
        MPI_Comm_get_attr(handle, key, value, flag);
    }
    template <class Function> static void create(Function callback, int *key)
    {
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, callback, key, nullptr);
    }
    static void free_key(int *key) { MPI_Comm_free_keyval(key); }
};

struct WinKind {
    using Handle = MPI_Win;
    static constexpr const char *name = "window";
    static Handle make()
    {
        static int memory[4];
        Handle win;
        MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
        return win;
    }
    static int free(Handle *handle) { return MPI_Win_free(handle); }
    static int set(Handle handle, int key, void *value)
    {
        return MPI_Win_set_attr(handle, key, value);
    }
    static int remove(Handle handle, int key) { return MPI_Win_delete_attr(handle, key); }
    static void get(Handle handle, int key, void *value, int *flag)
    {
        MPI_Win_get_attr(handle, key, value, flag);
    }
    template <class Function> static void create(Function callback, int *key)
    {
        MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, callback, key, nullptr);
    }
    static void free_key(int *key) { MPI_Win_free_keyval(key); }
};

template <class Kind> int callback(typename Kind::Handle handle, int key, void *, void *)
{
    deleted.push_back(key);
    if (key == keys[0])
        for (const int each : std::exchange(to_delete, {}))
            Kind::remove(handle, each);
    return key == failing ? MPI_ERR_OTHER : MPI_SUCCESS;
}

template <class Kind> bool has(typename Kind::Handle handle, int key)
{
    void *value;
    int flag = 0;
    Kind::get(handle, key, &value, &flag);
    return flag != 0;
}

/* `order`: in which the attributes are set; `others`: which of them keys[0]'s callback deletes. */
template <class Kind> void test_order(const std::vector<int> &order, const std::vector<int> &others)
{
    static char value;
    const std::string what = std::string("attributes of a ") + Kind::name;
    for (const char *how : {"deleted", "replaced", "freed"}) {
        typename Kind::Handle handle = Kind::make();
        for (const int each : order)
            check_success(Kind::set(handle, keys[each], &value), what);
        deleted.clear();
        for (const int each : others)
            to_delete.push_back(keys[each]);
        const std::string at = what + ", " + how;
        if (how[0] == 'd')
            check_success(Kind::remove(handle, keys[0]), at);
        else if (how[0] == 'r')
            check_success(Kind::set(handle, keys[0], &value), at);
        if (how[0] != 'f') {
            check_equal(static_cast<long>(deleted.size()), 1 + static_cast<long>(others.size()),
                        at + ": callbacks");
            check_equal(has<Kind>(handle, keys[0]), how[0] == 'r', at + ": the first one");
            for (int i = 1; i < 4; ++i)
                check_equal(has<Kind>(handle, keys[i]),
                            std::find(others.begin(), others.end(), i) == others.end(),
                            at + ": key " + std::to_string(i));
        }
        to_delete.clear();
        if (how[0] == 'f')
            for (const int each : others)
                to_delete.push_back(keys[each]);
        check_success(Kind::free(&handle), at + ": freed");
        std::sort(deleted.begin(), deleted.end());
        for (const int key : keys)
            check_equal(std::count(deleted.begin(), deleted.end(), key),
                        how[0] == 'r' && key == keys[0] ? 2 : 1, at + ": callbacks of a key");
    }
}

/* An attribute whose callback fails stays. */
template <class Kind> void test_failure()
{
    static char value;
    const std::string what = std::string("a failing callback of a ") + Kind::name;
    typename Kind::Handle handle = Kind::make();
    for (const int key : keys)
        check_success(Kind::set(handle, key, &value), what);
    failing = keys[2];
    check(Kind::remove(handle, keys[2]) != MPI_SUCCESS, what + ": deleted");
    check(has<Kind>(handle, keys[2]), what + ": it is gone");
    check(Kind::set(handle, keys[2], &value) != MPI_SUCCESS, what + ": replaced");
    failing = -1;
    check_success(Kind::free(&handle), what + ": freed");
}

template <class Kind> void test_kind()
{
    for (int &key : keys)
        Kind::create(callback<Kind>, &key);
    for (const std::vector<int> &order :
         {std::vector{0, 1, 2, 3}, std::vector{3, 2, 1, 0}, std::vector{1, 0, 3, 2}})
        for (const std::vector<int> &others :
             {std::vector<int>{}, std::vector{1}, std::vector{2}, std::vector{3, 1, 2}})
            test_order<Kind>(order, others);
    test_failure<Kind>();
    for (int &key : keys)
        Kind::free_key(&key);
}

} // namespace

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        test_kind<TypeKind>();
        test_kind<CommKind>();
        test_kind<WinKind>();
    });
}
