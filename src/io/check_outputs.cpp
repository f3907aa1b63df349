// Outputs against what is there, and against inputs.
// SPDX-License-Identifier: MIT
#include "io/check_outputs.hpp"

#include <fmt/format.h>

#include "glint/error.hpp"
#include "glint/localization_io.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
    std::error_code none;
    return fs::exists(path, none);
}

/// The table of the other ending that NAME.yaml describes too, or an empty path.
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
    std::error_code none;
    for (const fs::path& output : outputs) {
        for (const fs::path& input : inputs)
            if (fs::equivalent(output, input, none))
                throw OptionError(fmt::format("{} would be written over {}, which is read: give another output",
                                              output.string(), output == input ? "itself" : input.string()));
        if (if_exists == IfExists::refuse && is_there(output))
            throw OptionError(
                fmt::format("{} exists: give another output, or --overwrite to replace it", output.string()));
    }
}

void check_localizations_output(const fs::path& out, IfExists if_exists, const Paths& inputs) {
    const Paths outputs = files_of_localizations(out);
    check_outputs({out}, if_exists, inputs);
    for (const fs::path& yaml : Paths(outputs.begin() + 1, outputs.end())) {
        check_outputs({yaml}, IfExists::replace, inputs);
        if (!is_there(yaml)) continue;
        const fs::path other = other_described(out, yaml);
        if (!other.empty())
            throw OptionError(
                fmt::format("{} would be replaced by the description of {}, and it describes {} too: give another "
                            "output",
                            yaml.string(), out.string(), other.string()));
        if (if_exists == IfExists::refuse)
            throw OptionError(
                fmt::format("{} exists, where the description of {} goes: give another output, or --overwrite to "
                            "replace it",
                            yaml.string(), out.string()));
    }
}

}  // namespace glint
