// A PSF survives conversion to text. The texts of tables and journals have the same bytes as those of earlier versions.
// SPDX-License-Identifier: MIT
#include "psf/psf_text.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "glint/error.hpp"
#include "psf/curve_in_um.hpp"
#include "tests/expect_error.hpp"

using namespace glint;

namespace {

// Contains micrometres without a short decimal form.
Psf odd_psf() {
    return {PsfModel::AstigmaticXYZNB,
            1000 * (0.1 + 0.2),
            in_nm({1.0 / 3, 1.0 / 7, -1e-300, 0.4, std::nextafter(1.0, 2.0), -0.0, 3e22, 0.3, -0.55, 0.45, 13, 0.117}),
            {}};
}

Psf calibrated() { return {PsfModel::AstigmaticXYZNB, 0, {130, 140, 200, 400, 0.1, 0.2, 0.3, 0.4, -500, 500}, {}}; }

}  // namespace

TEST(PsfText, returns_every_bit_of_a_psf) {
    for (const Psf& psf : {Psf{}, odd_psf(), calibrated(), Psf{PsfModel::GaussianXYNBS, 130, {}, {}}}) {
        const Psf same = parse_psf(to_text(psf));
        EXPECT_EQ(same.model, psf.model);
        EXPECT_EQ(same.sigma_nm, psf.sigma_nm);
        const AstigmaticCurve &a = same.curve, &b = psf.curve;
        for (double AstigmaticCurve::*value :
             {&AstigmaticCurve::sx0_nm, &AstigmaticCurve::sy0_nm, &AstigmaticCurve::gamma_nm, &AstigmaticCurve::d_nm,
              &AstigmaticCurve::ax, &AstigmaticCurve::bx, &AstigmaticCurve::ay, &AstigmaticCurve::by,
              &AstigmaticCurve::z_min_nm, &AstigmaticCurve::z_max_nm, &AstigmaticCurve::pixel_size_nm})
            EXPECT_EQ(a.*value, b.*value);
        EXPECT_EQ(in_um(a).sx0_um, in_um(b).sx0_um);
        EXPECT_EQ(a.roi_size, b.roi_size);
        EXPECT_EQ(same.numbers, psf.numbers);
        EXPECT_EQ(to_text(same), to_text(psf)) << "with the sign of 0";
        EXPECT_EQ(content_hash(same), content_hash(psf));
    }
    EXPECT_EQ(to_text({PsfModel::GaussianXYNB, 130, {}, {}}), "GaussianXYNB sigma_um=0.13");
    EXPECT_TRUE(to_text(odd_psf()).starts_with(
        "AstigmaticXYZNB sigma_um=0.30000000000000004 sx0_um=0.3333333333333333 sy0_um=0.14285714285714285 "))
        << to_text(odd_psf());
    EXPECT_EQ(to_text({}), "GaussianXYNB");
    EXPECT_TRUE(std::isnan(parse_psf(to_text({PsfModel::GaussianXYNB, NAN, {}, {}})).sigma_nm));
}

TEST(PsfText, hashes_tell_psfs_apart) {
    Psf psf = calibrated();
    const std::uint64_t hash = content_hash(psf);
    psf.curve.by = std::nextafter(psf.curve.by, 1.0);
    EXPECT_NE(content_hash(psf), hash);
}

TEST(PsfText, what_is_no_psf_is_refused) {
    test::expect_error<InputError>([] { parse_psf(""); }, {"no PSF model"});
    test::expect_error<InputError>([] { parse_psf("Airy sigma_um=0.13"); }, {"Airy"});
    test::expect_error<InputError>([] { parse_psf("GaussianXYNB sigma_um=wide"); }, {"sigma_um=wide"});
    test::expect_error<InputError>([] { parse_psf("GaussianXYNB sigma_um="); }, {"sigma_um="});
    test::expect_error<InputError>([] { parse_psf("GaussianXYNB roi_size=7.5"); }, {"roi_size=7.5"});
    test::expect_error<InputError>([] { parse_psf("GaussianXYNB width=1"); }, {"width=1"});
    test::expect_error<InputError>([] { parse_psf("GaussianXYNB numbers=1,2"); }, {"2 numbers", "has 0"});
}

TEST(PsfText, has_the_bytes_of_files_written_before) {
    const Psf gaussian{PsfModel::GaussianXYNB, 130, {}, {}};
    EXPECT_EQ(psf_setting(gaussian), "GaussianXYNB 130 nm");
    EXPECT_EQ(provenance_of(gaussian), "Sigma (nm): 130\n");
    EXPECT_EQ(psf_file_line(gaussian, "lens.h5"), "") << "it has no table";
    EXPECT_EQ(psf_setting(calibrated()), "AstigmaticXYZNB 0.13 0.14 0.2 0.4 0.1 0.2 0.3 0.4 -0.5 0.5");
    EXPECT_EQ(provenance_of(calibrated()),
              "Calibration (um): {sx0: 0.13, sy0: 0.14, gamma: 0.2, d: 0.4, ax: 0.1, bx: 0.2, ay: 0.3, by: 0.4, "
              "z_min: -0.5, z_max: 0.5}\n");
    nlohmann::ordered_json json = psf_json(calibrated());
    EXPECT_EQ(json.at("hash").get<std::string>().size(), 16u);
    json.erase("hash");
    EXPECT_EQ(json.dump(),
              R"({"model":"AstigmaticXYZNB","calibration_um":{"sx0":0.13,"sy0":0.14,"gamma":0.2,"d":0.4,"ax":0.1,)"
              R"("bx":0.2,"ay":0.3,"by":0.4,"z_min":-0.5,"z_max":0.5}})");
}
