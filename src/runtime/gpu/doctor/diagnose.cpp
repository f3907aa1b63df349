// The complete diagnosis: its summary, as text and as JSON.
// SPDX-License-Identifier: MIT
#include "glint/gpu/diagnose.hpp"

#include <algorithm>

#include "base/utf8.hpp"
#include "gpu/doctor/doctor.hpp"
#include "gpu/doctor/guide.hpp"
#include "gpu/text.hpp"

namespace glint::gpu {
namespace {

std::string padded(std::string words, std::size_t width) {
    words.resize(std::max(width, words.size()), ' ');
    return words;
}

std::string lines(const Finding& finding) {
    std::string all = text(padded(to_name(finding.health), 7), "  ", padded(finding.check, 15), "  ",
                           finding.gpu.empty() ? "" : finding.gpu + ": ", printable(finding.found), '\n');
    if (!finding.remedy.empty()) all += text(std::string(26, ' '), "-> ", printable(finding.remedy), '\n');
    return all;
}

/// A variable with its default value is not specific to this machine.
bool is_default(const Finding& finding) {
    return finding.check == "variables" && finding.health == Health::ok && finding.found.ends_with(" (default)");
}

/// Combines all variables with default values into one finding.
std::vector<Finding> without_defaults(std::vector<Finding> findings) {
    const auto count = std::erase_if(findings, is_default);
    if (count > 0)
        findings.push_back({Health::ok, "variables", "",
                            text(count, " variable", count == 1 ? "" : "s", " at default values (-v lists them)"), ""});
    return findings;
}

/// JSON is UTF-8: other bytes become '?'.
std::string quoted(const std::string& words) {
    constexpr const char* digits = "0123456789abcdef";
    std::string all = "\"";
    for (std::size_t k = 0; k < words.size(); ++k) {
        const auto c = static_cast<unsigned char>(words[k]);
        const std::size_t length = utf8_length(words, k);
        if (c == '"' || c == '\\')
            all += {'\\', char(c)};
        else if (c < ' ')
            all += text("\\u00", digits[c >> 4], digits[c & 15]);
        else if (length == 0)
            all += '?';
        else
            all += words.substr(k, length), k += length - 1;
    }
    return all + '"';
}

}  // namespace

const char* to_name(Health health) {
    return health == Health::ok ? "ok" : health == Health::warning ? "warning" : "problem";
}

Health Diagnosis::health() const {
    Health worst = Health::ok;
    for (const Finding& finding : findings) worst = std::max(worst, finding.health);
    return worst;
}

int Diagnosis::count(Health wanted) const {
    return int(std::count_if(findings.begin(), findings.end(), [=](const Finding& f) { return f.health == wanted; }));
}

std::string Diagnosis::overall() const {
    const auto number = [](int n, const char* what) { return gpu::text(n, " ", what, n == 1 ? "" : "s"); };
    const int problems = count(Health::problem), warnings = count(Health::warning);
    return (problems ? number(problems, "problem") : "ok") + (warnings ? ", " + number(warnings, "warning") : "");
}

std::string Diagnosis::text(bool verbose) const {
    const std::vector<Finding> shown = verbose ? findings : without_defaults(findings);
    std::vector<std::string> checks;
    for (const Finding& finding : shown)
        if (std::find(checks.begin(), checks.end(), finding.check) == checks.end()) checks.push_back(finding.check);
    std::string all;
    for (const std::string& check : checks) {
        const auto of_gpu = [&](const Finding& f) { return f.check == check && !f.gpu.empty(); };
        const bool shared = !verbose && std::count_if(shown.begin(), shown.end(), of_gpu) > 1;
        int well = 0;
        for (const Finding& finding : shown)
            if (shared && of_gpu(finding) && finding.health == Health::ok)
                ++well;
            else if (finding.check == check)
                all += lines(finding);
        if (well) all += lines({Health::ok, check, "", gpu::text(well, " GPU", well > 1 ? "s" : ""), ""});
    }
    return all + "overall: " + overall();
}

std::string Diagnosis::to_json() const {
    std::string all = gpu::text("{\n  \"health\": ", quoted(to_name(health())), ",\n  \"overall\": ", quoted(overall()),
                                ",\n  \"problems\": ", count(Health::problem),
                                ",\n  \"warnings\": ", count(Health::warning), ",\n  \"findings\": [");
    const char* before = "\n";
    for (const Finding& finding : findings) {
        all += gpu::text(before, "    {\n      \"health\": ", quoted(to_name(finding.health)),
                         ",\n      \"check\": ", quoted(finding.check), ",\n      \"gpu\": ", quoted(finding.gpu),
                         ",\n      \"found\": ", quoted(finding.found), ",\n      \"remedy\": ", quoted(finding.remedy),
                         "\n    }");
        before = ",\n";
    }
    return all + (findings.empty() ? "]\n}" : "\n  ]\n}");
}

Diagnosis diagnose() { return {doctor::examine({"GLINT_DATA", "GLINT_SHARED_SEEDS"})}; }

std::string installation_guide(bool has_kernels) {
    return doctor::installation_guide(doctor::this_machine(has_kernels));
}

}  // namespace glint::gpu
