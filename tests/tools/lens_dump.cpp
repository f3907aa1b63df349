// Prints what read_lens says about a measured PSF as JSON, and writes its coefficients as raw floats, or writes it in
// another format: for judges in Python.
// SPDX-License-Identifier: MIT
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "glint/error.hpp"
#include "glint/psf_io.hpp"

namespace {

void print_facts(const glint::Lens& lens) {
    const glint::PsfTable& table = *lens.table;
    nlohmann::json errors = nlohmann::json::array();
    for (const glint::LensError& error : lens.errors)
        errors.push_back({error.z_nm, error.z_bias_nm, error.z_rms_nm, error.crlb_nm});
    std::cout << nlohmann::json{{"shape", {table.shape()[0], table.shape()[1], table.shape()[2]}},
                                {"pixel_size_nm", table.scale().pixel_size_nm},
                                {"z_min_nm", table.scale().z_min_nm},
                                {"z_max_nm", table.scale().z_max_nm},
                                {"samples_per_px", table.scale().samples_per_px},
                                {"usable_nm", {lens.usable_min_nm, lens.usable_max_nm}},
                                {"origin", lens.origin},
                                {"date", lens.date},
                                {"errors", errors}}
                     .dump()
              << "\n";
}

void write(const glint::Lens& lens, const std::string& format, const char* path) {
    if (format == "glint") glint::write_lens(path, lens);
    if (format == "smap") glint::write_smap_lens(path, lens);
    if (format == "picasso") glint::write_picasso_lens(path, lens);
    if (format == "raw") {
        const auto values = lens.table->values();
        std::ofstream(path, std::ios::binary)
            .write(reinterpret_cast<const char*>(values.data()), std::streamsize(values.size_bytes()));
    }
}

}  // namespace

/// LENS raw|glint|smap|picasso OUT [PIXEL_SIZE_NM [CHANNEL]]
int main(int count, char** arguments) try {
    if (count < 4) return 2;
    glint::ReadLensOptions options;
    if (count > 4) options.pixel_size_nm = std::atof(arguments[4]);
    if (count > 5) options.channel = std::atoi(arguments[5]);
    const glint::Lens lens = glint::read_lens(arguments[1], options);
    print_facts(lens);
    write(lens, arguments[2], arguments[3]);
    return 0;
} catch (const glint::Error& error) {
    std::cerr << error.what() << "\n";
    return 1;
}
