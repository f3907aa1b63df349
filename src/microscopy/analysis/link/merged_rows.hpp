// What merged tables and those in pieces share.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "glint/link.hpp"

namespace glint {

/// A row for each of `tracks` tracks, numbered from `first` on; `track`, from 0, of each row. `links` tells of all.
Localizations merged_rows(const Localizations& table, std::span<const std::uint32_t> track, std::size_t tracks,
                          std::size_t first, const Links& links);

/// What earlier links said of rows, n or len; without, a row is one localization, and one frame long.
std::vector<double> counts_of_rows(const Localizations& table, const char* name);

/// The step that links add to the history of a table like this.
std::string history_of_links(const Links& links, const Localizations& like, bool merged);

constexpr const char* links_of_another_table = "these links are of another table";

}  // namespace glint
