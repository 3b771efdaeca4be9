// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/bindings.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace heddle::interpose {

namespace {

#if defined(__x86_64__)
constexpr uint32_t jump_slot = R_X86_64_JUMP_SLOT, address_slot = R_X86_64_GLOB_DAT;
#elif defined(__aarch64__)
constexpr uint32_t jump_slot = R_AARCH64_JUMP_SLOT, address_slot = R_AARCH64_GLOB_DAT;
#else
#error "the slots of this processor's calls are not known: bindings.cpp has to learn them"
#endif

// Where an object's code stands.
const void *base_of(const void *address)
{
    Dl_info info;
    return address && dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

class Handle {
public:
    // Of an object that is loaded; the program itself has an empty name.
    explicit Handle(const char *name)
        : handle_(dlopen(*name ? name : nullptr, RTLD_LAZY | RTLD_NOLOAD))
    {
    }
    Handle(const Handle &) = delete;
    Handle &operator=(const Handle &) = delete;
    ~Handle()
    {
        if (handle_)
            dlclose(handle_);
    }
    void *find(const char *name) const { return handle_ ? dlsym(handle_, name) : nullptr; }

private:
    void *handle_;
};

// A loaded object.
struct Object {
    std::string name;
    uintptr_t base;
    const ElfW(Dyn) * dynamic;
    std::vector<std::pair<uintptr_t, size_t>> read_only; // since it was loaded (RELRO)

    // Its table or string of this tag, or null. glibc has added the base to it on most processors.
    template <class T> const T *at(ElfW(Sxword) tag) const
    {
        const uintptr_t place = value(tag);
        return reinterpret_cast<const T *>(place == 0 || place >= base ? place : base + place);
    }
    uintptr_t value(ElfW(Sxword) tag) const
    {
        const ElfW(Dyn) *entry = dynamic;
        while (entry->d_tag != DT_NULL && entry->d_tag != tag)
            ++entry;
        return entry->d_tag == tag ? entry->d_un.d_ptr : 0;
    }
    // Whether it defines one of these functions itself.
    bool defines_any(std::initializer_list<const char *> functions) const
    {
        const Handle handle(name.c_str());
        return std::any_of(functions.begin(), functions.end(), [&](const char *function) {
            return base_of(handle.find(function)) == base_of(dynamic);
        });
    }
};

int add_object(struct dl_phdr_info *info, size_t, void *objects)
{
    Object object{info->dlpi_name, info->dlpi_addr, nullptr, {}};
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr) &part = info->dlpi_phdr[i];
        if (part.p_type == PT_DYNAMIC)
            object.dynamic = reinterpret_cast<const ElfW(Dyn) *>(object.base + part.p_vaddr);
        if (part.p_type == PT_GNU_RELRO)
            object.read_only.emplace_back(object.base + part.p_vaddr, part.p_memsz);
    }
    if (object.dynamic)
        static_cast<std::vector<Object> *>(objects)->push_back(std::move(object));
    return 0;
}

// In the order in which symbols are looked up: the program, what is preloaded, what they need.
std::vector<Object> all_objects()
{
    std::vector<Object> objects;
    dl_iterate_phdr(add_object, &objects);
    return objects;
}

// A slot through which an object calls a function.
struct Slot {
    const char *function;
    void **at;
};

void add_slots(const Object &object, const ElfW(Rela) * first, size_t bytes,
               std::vector<Slot> &slots)
{
    const auto *const symbols = object.at<ElfW(Sym)>(DT_SYMTAB);
    const char *const strings = object.at<char>(DT_STRTAB);
    for (const ElfW(Rela) *each = first; each && each < first + bytes / sizeof *first; ++each) {
        const auto type = static_cast<uint32_t>(ELF64_R_TYPE(each->r_info));
        const char *const name = strings + symbols[ELF64_R_SYM(each->r_info)].st_name;
        if ((type == jump_slot || type == address_slot) && std::strncmp(name, "PMPI_", 5) == 0)
            slots.push_back({name, reinterpret_cast<void **>(object.base + each->r_offset)});
    }
}

// Those for PMPI_...
std::vector<Slot> slots_of(const Object &object)
{
    std::vector<Slot> slots;
    add_slots(object, object.at<ElfW(Rela)>(DT_JMPREL), object.value(DT_PLTRELSZ), slots);
    add_slots(object, object.at<ElfW(Rela)>(DT_RELA), object.value(DT_RELASZ), slots);
    return slots;
}

// The linker has made slots read-only in objects that were bound at once.
void write_slot(const Object &object, void **slot, void *function)
{
    const auto place = reinterpret_cast<uintptr_t>(slot);
    const bool is_protected =
        std::any_of(object.read_only.begin(), object.read_only.end(), [=](const auto &part) {
            return place >= part.first && place < part.first + part.second;
        });
    const auto page_bytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    auto *const page = reinterpret_cast<void *>(place / page_bytes * page_bytes);
    if (is_protected && mprotect(page, page_bytes, PROT_READ | PROT_WRITE) != 0)
        return;
    __atomic_store_n(slot, function, __ATOMIC_RELAXED);
    if (is_protected)
        mprotect(page, page_bytes, PROT_READ);
}

// MPI_X of PMPI_X.
const char *without_p(const char *function) { return function + 1; }

class Binding {
public:
    Binding() : here_(base_of(reinterpret_cast<const void *>(&bind_all)))
    {
        Dl_info info;
        dladdr(here_, &info);
        name_ = info.dli_fname;
    }

    void all() const
    {
        bool is_before = true;
        for (const Object &object : all_objects()) {
            if (base_of(object.dynamic) == here_) {
                is_before = false;
                bind_own(object);
            } else if (is_before || is_fortran(object)) {
                bind_to_own(object);
            }
        }
    }

private:
    static bool is_fortran(const Object &object)
    {
        return object.defines_any(
            {"mpi_init_", "mpi_init__", "mpi_init", "MPI_INIT", "mpi_init_f08_", "mpi_wait_f08_"});
    }

    void bind_to_own(const Object &object) const
    {
        const std::vector<Slot> slots = slots_of(object);
        if (slots.empty())
            return;
        const Handle own(name_.c_str());
        for (const Slot &slot : slots) {
            void *const function = own.find(without_p(slot.function));
            if (base_of(function) == here_)
                write_slot(object, slot.at, function);
        }
    }

    // Only calls that are this library's own entries, too: a tool need not see what types are
    // asked.
    void bind_own(const Object &object) const
    {
        const Handle own(name_.c_str());
        for (const Slot &slot : slots_of(object)) {
            const char *const name = without_p(slot.function);
            if (base_of(own.find(name)) != here_)
                continue;
            void *const next = dlsym(RTLD_NEXT, name);
            if (next && base_of(next) != base_of(dlsym(RTLD_NEXT, slot.function)))
                write_slot(object, slot.at, next);
        }
    }

    const void *here_;
    std::string name_;
};

__attribute__((constructor)) void bind_at_start() { bind_all(); }

} // namespace

void bind_all() { Binding().all(); }

} // namespace heddle::interpose
