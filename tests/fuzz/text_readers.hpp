// Inputs of the fuzzers of texts inside files, and of journals.
// SPDX-License-Identifier: MIT
#pragma once

#include <fcntl.h>

#include <cstring>
#include <limits>
#include <span>

#include "base/hash.hpp"
#include "glint/filter.hpp"
#include "io/micromanager.hpp"
#include "io/picasso/metadata.hpp"
#include "io/tiff/metadata.hpp"
#include "io/tiff/ome_planes.hpp"
#include "run/finished_frames.hpp"
#include "tests/fuzz/readers.hpp"

namespace glint::fuzz {

/// Reads a text as the description in a TIFF's first page, as by each program, and the set of files that it lists.
inline void description(Bytes bytes) {
    const std::string text(bytes.begin(), bytes.end());
    read_imagej_description(text, 10, 10);
    read_micromanager(text);
    micromanager_channels(text);
    exposure_ms_in_info(text);
    try {
        const OmeMovie ome = read_ome_description(text, "a.tif").ome;
        std::vector<std::int64_t> counts(ome.files.size() + 1, 3);
        const OmePages placed = pages_of(ome, counts);
        const std::int64_t planes = count_of(ome_axes(ome));
        for (const OmePage& one : placed.pages)
            if (one.plane < 0 || one.page < 0 || one.page >= 3 || one.file >= std::int64_t(ome.files.size()) ||
                (placed.contradiction.empty() && one.plane >= planes))
                std::abort();
    } catch (const InputError&) {
    }
}

/// Reads Picasso's steps as YAML and as JSON, and writes and reads them again.
inline void metadata(Bytes bytes) {
    const std::string text(bytes.begin(), bytes.end());
    for (const auto read : {steps_from_yaml, steps_from_json}) {
        int bad = 0;
        const Steps steps = with_facts(read(text, bad), {7, 8, 9, 100});
        const MovieFacts facts = facts_in(steps);
        if (facts.width != 7 || facts.height != 8 || facts.frames != 9) std::abort();
        to_yaml(steps);
        if (steps_from_json(to_json(steps), bad).size() > steps.size()) std::abort();
    }
}

/// Evaluates a condition of `glint filter` on three rows.
inline void conditions(Bytes bytes) {
    Localizations table;
    table.frame = {0, 1, 2}, table.x_px = {1, 2, 3}, table.y_px = {4, 5, 6}, table.photons = {100, -1, 1e30f};
    table.extra["n"].values = {0, 1e300, std::numeric_limits<double>::quiet_NaN()};
    table.pixel_size_nm = 100;
    const std::string text(bytes.begin(), bytes.end());
    try {
        const Filtered kept = filter(table, std::span(&text, 1));
        if (kept.clauses.empty() || kept.clauses.back().left != kept.table.size()) std::abort();
    } catch (const OptionError&) {
    }
}

/// Reads any bytes as a part of a run, and as one record, with the right checksum, of an otherwise valid part.
inline void records(Bytes bytes) {
    Localizations like;
    like.frame = {0}, like.x_px = like.y_px = like.photons = {1};
    const TableLayout layout(like);
    const Fingerprint fingerprint = {{"movie", "m"}};
    const auto read = [&](const std::filesystem::path& path) {
        try {
            FinishedFrames finished(fingerprint, layout, {0, 1000});
            finished.add(path, [](const BlockResult& block) {
                if (block.rows.x_px.size() != block.rows.size() || block.frames() < 1) std::abort();
            });
            for (const FrameRange& gap : finished.gaps())
                if (gap.begin < 0 || gap.begin >= gap.end || gap.end > 1000) std::abort();
            finished.for_each([](const BlockResult&) {});
        } catch (const Error&) {
        }
    };
    read(written(bytes, "any.part"));
    RecordFile file(scratch_folder() / "one.part", layout);
    file.open(O_RDWR | O_CREAT | O_TRUNC);
    file.start(fingerprint);
    std::string record(bytes.begin(), bytes.end());
    const std::uint64_t hash = hash_of(record.data(), record.size());
    record.append(reinterpret_cast<const char*>(&hash), sizeof hash);
    std::ofstream(file.path(), std::ios::binary | std::ios::app).write(record.data(), std::streamsize(record.size()));
    read(file.path());
}

}  // namespace glint::fuzz
