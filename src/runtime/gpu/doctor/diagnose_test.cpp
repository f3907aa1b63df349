// The public diagnosis: its summary, text and JSON.
// SPDX-License-Identifier: MIT
#include "glint/gpu/diagnose.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace glint::gpu {
namespace {

Diagnosis sample() {
    return {{{Health::ok, "driver", "", "580.65.06", ""},
             {Health::ok, "ecc", "GPU-1", "no errors", ""},
             {Health::ok, "ecc", "GPU-2", "no errors", ""},
             {Health::warning, "processes", "GPU-1", "a \"zombie\" \\ \x1b[1m with caf\xc3\xa9 and \xff", "wait"},
             {Health::ok, "variables", "", "GLINT_ISA=avx2 (default)", ""}}};
}

}  // namespace

TEST(Diagnosis, is_summarized_by_its_worst_finding) {
    Diagnosis diagnosis = sample();
    EXPECT_TRUE(diagnosis.ok());
    EXPECT_EQ(diagnosis.health(), Health::warning);
    EXPECT_EQ(diagnosis.overall(), "ok, 1 warning");
    diagnosis.findings.push_back({Health::problem, "driver", "", "too old", "install another"});
    diagnosis.findings.push_back({Health::problem, "nvml", "", "missing", "install it"});
    EXPECT_FALSE(diagnosis.ok());
    EXPECT_EQ(diagnosis.overall(), "2 problems, 1 warning");
    EXPECT_EQ(Diagnosis().overall(), "ok");
}

TEST(Diagnosis, shows_every_gpu_and_variable_only_when_verbose) {
    const std::string brief = sample().text(), verbose = sample().text(true);
    EXPECT_EQ(brief.substr(0, brief.find('\n')), "ok       driver           580.65.06");
    EXPECT_NE(brief.find("ok       ecc              2 GPUs\n"), std::string::npos) << brief;
    EXPECT_EQ(brief.find("GPU-2"), std::string::npos);
    EXPECT_NE(brief.find("1 variable at default values"), std::string::npos);
    EXPECT_NE(verbose.find("GPU-2: no errors"), std::string::npos) << verbose;
    EXPECT_NE(verbose.find("GLINT_ISA=avx2 (default)"), std::string::npos);
    for (const std::string& text : {brief, verbose}) {
        EXPECT_TRUE(text.ends_with("\noverall: ok, 1 warning")) << text;
        EXPECT_NE(text.find("                          -> wait\n"), std::string::npos) << text;
        EXPECT_EQ(text.find('\x1b'), std::string::npos) << "no control characters for the terminal";
    }
}

TEST(Diagnosis, is_valid_json_whatever_the_names_of_processes_are) {
    const auto json = nlohmann::json::parse(sample().to_json());
    EXPECT_EQ(json.at("health"), "warning");
    EXPECT_EQ(json.at("problems"), 0);
    EXPECT_EQ(json.at("warnings"), 1);
    ASSERT_EQ(json.at("findings").size(), 5u);
    EXPECT_EQ(json.at("findings").at(3).at("found"), "a \"zombie\" \\ \x1b[1m with caf\xc3\xa9 and ?");
    EXPECT_EQ(json.at("findings").at(3).at("gpu"), "GPU-1");
    EXPECT_EQ(nlohmann::json::parse(Diagnosis().to_json()).at("findings").size(), 0u);
}

TEST(Diagnosis, of_this_machine_begins_with_the_driver_and_advises) {
    const Diagnosis diagnosis = diagnose();
    ASSERT_FALSE(diagnosis.findings.empty());
    EXPECT_EQ(diagnosis.findings.front().check, "driver");
    for (const Finding& finding : diagnosis.findings)
        EXPECT_EQ(finding.remedy.empty(), finding.health == Health::ok) << finding.found;
    EXPECT_FALSE(installation_guide().empty());
    EXPECT_NE(installation_guide(false).find("without kernels"), std::string::npos);
}

}  // namespace glint::gpu
