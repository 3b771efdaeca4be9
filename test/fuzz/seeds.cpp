/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writes a corpus for the fuzzer: flattened random types, one file each.
 */
#include "../unit/oracle/random_type.hpp"

#include <cstdio>
#include <cstdlib>
#include <fstream>

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: seeds DIR COUNT\nWrites COUNT flattened random types to DIR.\n");
        return 2;
    }
    const std::string folder = argv[1];
    const int count = atoi(argv[2]);
    oracle::Rng rng(1);
    for (int i = 0; i < count; ++i) {
        oracle::Recipe recipe = oracle::random_recipe(rng, 6);
        recipe.entries = std::min<int64_t>(recipe.entries, 60);
        const oracle::Type type = oracle::build(*oracle::random_type(rng, recipe).expr).commit();
        size_t size = 0;
        oracle::Type::check(heddle_flatten_size(type.get(), &size), "heddle_flatten_size");
        std::vector<char> bytes(size);
        oracle::Type::check(heddle_flatten(type.get(), bytes.data(), size), "heddle_flatten");
        std::ofstream file(folder + "/type-" + std::to_string(i), std::ios::binary);
        file.write(bytes.data(), static_cast<std::streamsize>(size));
        if (!file) {
            fprintf(stderr, "seeds: cannot write to %s\n", folder.c_str());
            return 1;
        }
    }
    return 0;
}
