// Checks outputs against existing files and against inputs.
// SPDX-License-Identifier: MIT
#include "io/files/check_outputs.hpp"

#include <fmt/format.h>

#include "glint/error.hpp"
#include "glint/localization_io.hpp"
#include "io/files/atomic_file.hpp"
#include "io/hdf5/file.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
    std::error_code none;
    return fs::exists(path, none);
}

/// Returns true if both paths lead to the same file, by any names and links, even if it does not exist yet.
bool same_file(const fs::path& a, const fs::path& b) {
    std::error_code none;
    if (fs::equivalent(a, b, none)) return true;
    const auto end_of = [&](const fs::path& path) {
        return fs::weakly_canonical(fs::absolute(without_link(path), none), none);
    };
    const fs::path end_of_a = end_of(a);
    return !none && end_of_a == end_of(b);
}

void refuse_one_file_for_two(const Paths& outputs) {
    for (std::size_t k = 0; k < outputs.size(); ++k)
        for (std::size_t other = 0; other < k; ++other)
            if (same_file(outputs[k], outputs[other]))
                throw OptionError(
                    fmt::format("{} and {} are one file, and different things would be written to them: give "
                                "another output",
                                outputs[other].string(), outputs[k].string()));
}

bool is_picasso_table(const fs::path& path) {
    const hdf5::Quiet quiet;
    try {
        return H5Fis_hdf5(path.c_str()) > 0 && hdf5::has(hdf5::open_file(path), "locs");
    } catch (const InputError&) {  // damaged, or written by another program
        return false;
    }
}

/// Returns the table with the other ending, or the movie, that NAME.yaml also describes; empty if there is none.
fs::path other_described(const fs::path& out, const fs::path& yaml) {
    for (const char* ending : {".hdf5", ".h5", ".raw"}) {
        const fs::path other = fs::path(yaml).replace_extension(ending);
        std::error_code none;
        if (other != out && is_there(other) && !fs::equivalent(other, out, none)) return other;
    }
    return {};
}

}  // namespace

void check_outputs(const Paths& outputs, IfExists if_exists, const Paths& inputs) {
    refuse_one_file_for_two(outputs);
    for (const fs::path& output : outputs) {
        require_writable(output);
        for (const fs::path& input : inputs)
            if (same_file(output, input))
                throw OptionError(fmt::format("{} would be written over {}, which is read: give another output",
                                              output.string(), output == input ? "itself" : input.string()));
        if (if_exists == IfExists::refuse && is_there(output))
            throw OptionError(
                fmt::format("{} exists: give another output, or `overwrite` to replace it", output.string()));
    }
}

void check_localizations_output(const fs::path& out, IfExists if_exists, const Paths& inputs) {
    const Paths outputs = files_of_localizations(out);
    refuse_one_file_for_two(outputs);
    check_outputs({out}, if_exists, inputs);
    for (const fs::path& yaml : Paths(outputs.begin() + 1, outputs.end())) {
        check_outputs({yaml}, IfExists::replace, inputs);
        const fs::path other = other_described(out, yaml);
        if (!is_there(yaml) && !other.empty() && is_picasso_table(other))
            throw OptionError(fmt::format(
                "{} would get the description of {}, and be taken for that of {}, whose own is missing: give "
                "another output",
                yaml.string(), out.string(), other.string()));
        if (!is_there(yaml)) continue;
        if (!other.empty())
            throw OptionError(
                fmt::format("{} would be replaced by the description of {}, and it describes {} too: give another "
                            "output",
                            yaml.string(), out.string(), other.string()));
        if (if_exists == IfExists::refuse)
            throw OptionError(
                fmt::format("{} exists, where the description of {} goes: give another output, or `overwrite` to "
                            "replace it",
                            yaml.string(), out.string()));
    }
}

}  // namespace glint
