// Reads values from a TOML file and checks them. Each error names its line and column.
// SPDX-License-Identifier: MIT
#pragma once

#include <toml++/toml.h>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace glint {

/// The kinds of glint's TOML files.
enum class TomlKind { camera, calibration, recipe };

/// Throws InputError for a file with the keys of another kind than `wanted`. The message names its kind, and the option
/// for such files.
void require_toml_kind(const toml::table& table, const std::filesystem::path& path, TomlKind wanted);

/// Parses a file of at most 1 MiB. Throws InputError with line and column.
toml::table parse_toml(const std::filesystem::path& path);
/// Parses `text`; errors call it `name`.
toml::table parse_toml(std::string_view text, const std::filesystem::path& name);

/// A table that may contain only the known keys.
class TomlSection {
  public:
    /// Throws InputError for a key that is not in `known`, naming the nearest.
    TomlSection(const toml::table& table, std::filesystem::path path, const std::vector<std::string_view>& known);

    bool has(std::string_view key) const { return table_.contains(key); }

    /// A finite number within [low, high], integer or not.
    std::optional<double> number(std::string_view key, double low, double high) const;
    double required_number(std::string_view key, double low, double high) const;
    /// Returns a range within `low` to `high`: two numbers in brackets, the first no larger than the second, or a
    /// single number for both.
    std::optional<std::pair<double, double>> range(std::string_view key, double low, double high) const;
    std::optional<bool> yes_or_no(std::string_view key) const;
    std::optional<std::string> text(std::string_view key) const;
    bool is_text(std::string_view key) const { return has(key) && table_.get(key)->is_string(); }
    /// An array of texts; empty if there is no such key.
    std::vector<std::string> texts(std::string_view key) const;
    /// An array of exactly `count` integers within [low, high].
    std::optional<std::vector<std::int64_t>> integers(std::string_view key, std::size_t count, std::int64_t low,
                                                      std::int64_t high) const;

    /// Throws InputError: `file:line:column: key why`. If the key is missing, the position is the table's.
    [[noreturn]] void refuse(std::string_view key, const std::string& why) const;

  private:
    const toml::table& table_;
    std::filesystem::path path_;
};

}  // namespace glint
