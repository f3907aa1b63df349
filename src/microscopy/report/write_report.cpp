// Puts the page together: the page of the folder web, facts as JSON, and pieces of rows as text.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <tbb/parallel_for.h>
#include <tbb/task_group.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <functional>
#include <memory>
#include <utility>

#include "base/arena.hpp"
#include "glint/error.hpp"
#include "glint/report.hpp"
#include "glint/version.hpp"
#include "io/files/atomic_file.hpp"
#include "io/files/check_outputs.hpp"
#include "report/base64.hpp"
#include "report/facts.hpp"
#include "report/raw_frames.hpp"
#include "report/rounded_table.hpp"
#include "report/still.hpp"
#include "report/web_page.hpp"

namespace glint {
namespace {

constexpr double megabyte = 1e6, max_size_mb = 2000;
constexpr double min_row_bytes = 5;  ///< of a row in the file: a table with more rows cannot be stored whole

void stop_report(const StopFlag* stop) {
    if (stop && *stop) throw Cancelled("stopped: no report was written");
}

void check_report_options(const ReportOptions& options) {
    if (!(options.size_mb >= 0.1 && options.size_mb <= max_size_mb))
        throw OptionError(fmt::format("`report_size={:g}`: give 0.1 to {:g} MB", options.size_mb, max_size_mb));
    if (options.raw_frames < 0 || options.raw_frames > 100)
        throw OptionError(fmt::format("`raw_frames={}`: give 0 to 100", options.raw_frames));
    if (!(options.frames_mb >= 0 && options.frames_mb <= max_size_mb))
        throw OptionError(fmt::format("frames_mb is {:g}: give 0 to {:g} MB", options.frames_mb, max_size_mb));
}

/// Rows of the table in memory: all rows, or a random sample if there are too many for the file.
struct RowsInMemory {
    Localizations own;
    const Localizations* rows = nullptr;
    std::size_t all = 0;  ///< rows of the table
};

RowsInMemory rows_of(TablePieces& table, const ReportOptions& options) {
    RowsInMemory found;
    const auto max_rows = std::size_t(options.size_mb * megabyte / min_row_bytes);
    if (const auto* whole = dynamic_cast<const WholeTable*>(&table); whole && whole->like().size() <= max_rows) {
        found.rows = &whole->like(), found.all = found.rows->size();
        return found;
    }
    bool is_first = true;
    const auto keep_rows = [&](Localizations&& part) {
        if (std::exchange(is_first, false))
            found.own = std::move(part);
        else
            append(found.own, part);
    };
    table.for_each([&](const Localizations& piece) {
        stop_report(options.stop);
        found.all += piece.size();
        if (found.all <= max_rows) keep_rows(Localizations(piece));
    });
    found.rows = &found.own;
    if (found.all <= max_rows) return found;
    found.own = {}, is_first = true;
    // Not the bits by which RoundedTable divides rows into pieces: both choices must be independent.
    const auto limit = std::uint64_t(double(max_rows) / double(found.all) * 4294967296.0);
    std::size_t before = 0;
    table.for_each([&](const Localizations& piece) {
        stop_report(options.stop);
        std::vector<std::size_t> keep;
        for (std::size_t row = 0; row < piece.size(); ++row)
            if ((row_hash(before + row) & 0xffffffffu) < limit) keep.push_back(row);
        before += piece.size();
        keep_rows(select(piece, keep));
    });
    return found;
}

/// Encodes pieces until the file is full. Pieces are random, so the first ones are an unbiased sample.
std::vector<std::string> texts_of(const RoundedTable& stored, const ReportOptions& options) {
    const auto limit = std::size_t(options.size_mb * megabyte);
    std::vector<std::string> texts(stored.pieces());
    std::size_t bytes = 0, kept = 0;
    in_own_arena([&] {
        const std::size_t together = 4 * std::size_t(std::max(1, own_threads()));
        for (std::size_t first = 0; first < texts.size() && kept == first; first += together) {
            stop_report(options.stop);
            const std::size_t end = std::min(texts.size(), first + together);
            tbb::parallel_for(first, end, [&](std::size_t k) { texts[k] = stored.text_of(k); });
            for (; kept < end; ++kept) {
                if (kept > 0 && bytes + texts[kept].size() > limit) break;
                bytes += texts[kept].size();
            }
        }
    });
    texts.resize(kept);
    return texts;
}

std::string now_text() {
    const std::time_t now = std::time(nullptr);
    std::tm utc{};
    gmtime_r(&now, &utc);
    char text[32];
    return {text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &utc)};
}

std::string policy_hash(std::string_view hexadecimal) {
    std::vector<std::uint8_t> bytes;
    for (std::size_t k = 0; k + 1 < hexadecimal.size(); k += 2)
        bytes.push_back(std::uint8_t(std::stoi(std::string(hexadecimal.substr(k, 2)), nullptr, 16)));
    return "'sha256-" + base64(bytes) + "'";
}

/// Permits the page's own script and style, and pictures that it makes; nothing from elsewhere.
std::string policy() {
    return fmt::format(
        "default-src 'none'; script-src {}; style-src {}; img-src data: blob:; base-uri 'none'; form-action 'none'",
        policy_hash(page_script.sha256), policy_hash(page_style.sha256));
}

PageJson record_json(const std::string& text) {
    if (text.empty()) return nullptr;
    PageJson json = PageJson::parse(text, nullptr, false);
    return json.is_object() ? json : PageJson();
}

/// Writes the template, with parts instead of their names in braces.
void write_page(AtomicFile& file, const std::function<void(std::string_view)>& put) {
    std::string_view rest = page_template;
    while (!rest.empty()) {
        const std::size_t begin = rest.find("{{"), end = rest.find("}}", begin == rest.npos ? rest.size() : begin);
        if (end == rest.npos) break;
        file.write(rest.substr(0, begin));
        put(rest.substr(begin + 2, end - begin - 2));
        rest.remove_prefix(end + 2);
    }
    file.write(rest);
}

void write_data(AtomicFile& file, std::string_view type, std::string_view id, std::string_view text) {
    file.write(fmt::format("<script type=\"{}\" class=\"{}\">", type, id));
    file.write(text);
    file.write("</script>\n");
}

/// Why a movie is not that of the table; empty if it may be.
std::string find_other_movie(const MovieInfo& movie, const Localizations& table) {
    if (table.width > 0 && table.height > 0 && (movie.width != table.width || movie.height != table.height))
        return fmt::format(
            "Raw frames are not shown: the movie has {} x {} px, and the table is of {} x {} px. Give the table's "
            "movie.",
            movie.width, movie.height, table.width, table.height);
    if (table.frames > 0 && movie.frames != unknown_frames && movie.frames < table.frames)
        return fmt::format(
            "Raw frames are not shown: the movie has {} frames, and the table is of {}. Give the table's movie.",
            movie.frames, table.frames);
    return {};
}

}  // namespace

ReportInfo write_report(const std::filesystem::path& path, TablePieces& pieces, const ReportOptions& options,
                        IfExists if_exists) {
    check_report_options(options);
    check_outputs({path}, if_exists, {});
    AtomicFile file(path, if_exists);
    const RowsInMemory in_memory = rows_of(pieces, options);
    const Localizations& table = *in_memory.rows;
    const PageJson record = record_json(options.record);

    RawFrames frames;
    std::string still;
    std::unique_ptr<RoundedTable> rounded;
    std::vector<std::string> texts;
    in_own_arena([&] {
        tbb::task_group beside;  // drawn while rows are compressed
        beside.run([&] { still = still_picture(table); });
        try {
            rounded = std::make_unique<RoundedTable>(table);
            texts = texts_of(*rounded, options);
        } catch (...) {
            beside.wait();
            throw;
        }
        beside.wait();
    });
    const RoundedTable& stored = *rounded;
    if (options.movie) frames.note = find_other_movie(options.movie->info(), table);
    if (options.movie && frames.note.empty())
        frames = read_raw_frames(*options.movie, table, options.raw_frames, options.frames_mb * megabyte, options.drift,
                                 options.stop);
    stop_report(options.stop);

    ReportInfo info;
    const double share = in_memory.all > 0 ? double(table.size()) / double(in_memory.all) : 1;
    PageJson piece_rows = PageJson::array();
    for (std::size_t k = 0; k < texts.size(); ++k) {
        piece_rows.push_back(stored.rows_of(k));
        info.stored_rows += stored.rows_of(k), info.row_bytes += texts[k].size();
    }
    const std::size_t without_position = table.size() - stored.rows();
    info.rows = share < 1 ? in_memory.all : stored.rows();
    info.raw_frames = int(frames.texts.size());
    info.missing = missing_facts(table, options);
    if (without_position > 0)
        info.missing.push_back(fmt::format(
            "Rows without a position, or more than {:.3g} px away, are left out: {}. `glint filter` counts the latter.",
            stored.limit_px(), without_position));
    if (stored.far_z() > 0)
        info.missing.push_back(
            fmt::format("Rows whose z is far from that of all others are shown without z: {}.", stored.far_z()));
    if (!frames.note.empty()) info.missing.push_back(frames.note);
    if (share < 1 && !frames.texts.empty())
        info.missing.push_back("Raw frames show the molecules of the sample alone.");

    const PageJson facts{
        {"version", 1},
        {"program", "glint " + version()},
        {"created", now_text()},
        {"title", !options.title.empty()   ? options.title
                  : options.tables.empty() ? std::string("Localizations")
                                           : std::filesystem::path(options.tables.front()).filename().string()},
        {"tables", options.tables},
        {"channels", options.channels},
        {"rows", info.rows},
        {"stored_rows", info.stored_rows},
        {"pixel_size_nm", table.pixel_size_nm},
        {"width", table.width},
        {"height", table.height},
        {"frames", table.frames},
        {"columns", stored.columns_json()},
        {"left_out", stored.left_out()},
        {"missing", info.missing},
        {"pieces", piece_rows},
        {"resolution", options.resolution ? resolution_facts(*options.resolution) : PageJson()},
        {"drift", options.drift ? drift_facts(*options.drift) : PageJson()},
        {"camera", camera_facts(table, record)},
        {"raw_frames", frames.json},
        {"record", record},
        {"history", table.history},
        {"warnings", options.warnings},
    };
    write_page(file, [&](std::string_view part) {
        if (part == "POLICY") return file.write(policy());
        if (part == "STYLE") return file.write(page_style.text);
        if (part == "SCRIPT") return file.write(page_script.text);
        write_data(file, "application/json", "data-facts", text_in_page(facts));
        for (const std::string& text : texts) write_data(file, "application/octet-stream", "data-rows", text);
        for (const std::string& text : frames.texts) write_data(file, "application/octet-stream", "data-frame", text);
        if (!still.empty()) write_data(file, "image/png", "data-still", still);
    });
    info.bytes = file.size();
    file.commit();
    return info;
}

ReportInfo write_report(const std::filesystem::path& path, const Localizations& table, const ReportOptions& options,
                        IfExists if_exists) {
    WholeTable whole(table);
    return write_report(path, whole, options, if_exists);
}

}  // namespace glint
