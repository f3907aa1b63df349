// What the page knows besides rows: figures, metadata and what is missing.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "glint/report.hpp"
#include "report/page_json.hpp"

namespace glint {

PageJson resolution_facts(const Resolution& resolution);
/// Positions per frame, nm, and at most 1000 values of their standard errors.
PageJson drift_facts(const Drift& drift);
/// Offset and gain of the camera by the table's history or the record of a run; null if unknown.
PageJson camera_facts(const Localizations& table, const PageJson& record);
/// Returns sentences: which columns and data the page lacks, and what is therefore not shown.
std::vector<std::string> missing_facts(const Localizations& table, const ReportOptions& options);

}  // namespace glint
