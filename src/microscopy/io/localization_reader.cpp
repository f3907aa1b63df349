// Reads tables in pieces. Values that depend on all rows are found before the first piece is returned.
// SPDX-License-Identifier: MIT
#include "glint/localization_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>

#include "base/system.hpp"
#include "data/table_facts.hpp"
#include "glint/error.hpp"
#include "io/files/file_state.hpp"
#include "io/localization_formats.hpp"

namespace glint {
namespace {

constexpr std::size_t everything = std::numeric_limits<std::size_t>::max();

/// Values that depend on all rows.
struct Survey {
    std::size_t rows = 0;
    float x_end = 0, y_end = 0;
    std::uint32_t first_frame = std::numeric_limits<std::uint32_t>::max(), last_frame = 0;
    std::map<std::string, std::optional<double>> idle,
        tell_apart;  ///< the common value of all rows so far; nullopt: there are several

    void add(const Localizations& piece) {
        rows += piece.size();
        for (std::size_t row = 0; row < piece.size(); ++row) {
            x_end = std::max(x_end, piece.x_px[row]), y_end = std::max(y_end, piece.y_px[row]);
            first_frame = std::min(first_frame, piece.frame[row]), last_frame = std::max(last_frame, piece.frame[row]);
        }
        look_for_other_values(piece, idle);
        look_for_other_values(piece, tell_apart);
    }

  private:
    void look_for_other_values(const Localizations& piece, std::map<std::string, std::optional<double>>& in) const {
        for (auto& [name, value] : in) {
            const auto found = piece.extra.find(name);
            if (found == piece.extra.end() || found->second.values.empty()) continue;
            const std::vector<double>& values = found->second.values;
            if (rows == piece.size()) value = values.front();
            const auto is_other = [&known = value](double other) { return other != known; };  // clang 14: not `value`
            if (std::any_of(values.begin(), values.end(), is_other)) value.reset();
        }
    }
};

}  // namespace

struct LocalizationReader::State {
    State(const std::filesystem::path& path, const Warn& warn, const PieceOptions& options)
        : stop(options.stop),
          unchanged(path),
          text(options.text),
          file(open_table(path, options.pixel_size_nm, warn, text)) {
        if (text.first_frame && *text.first_frame != 0 && *text.first_frame != 1)
            throw OptionError(fmt::format("the first frame has the number {}: give 0 or 1", *text.first_frame));
        if (!file->is_text && warn && (text.first_frame || !text.columns.empty()))
            warn(fmt::format(
                "{} is no text table: the number of its first frame and its columns are as the file says, not as given",
                path.string()));
        file->builder.require_columns();
        if (options.piece_bytes == everything) require_memory();
        piece_rows = rows_of_piece(options.piece_bytes);
        while (!survey_rows()) {
        }
        if (!is_whole) {
            file->builder.settle();
            like = first_row();
        }
        complete_facts();
        adjust(like);
    }

    /// Returns the number of rows of a piece. A text takes ten times as long to read, so one of up to four pieces is
    /// read in one piece.
    std::size_t rows_of_piece(std::size_t bytes) const {
        constexpr std::size_t longer = 4;
        if (bytes == everything) return everything;
        const std::size_t rows = std::max<std::size_t>(1, bytes / file->builder.row_bytes());
        return file->is_text && file->likely_rows < longer * rows ? longer * rows : rows;
    }

    void require_memory() const {
        const double needed = double(file->rows.value_or(0)) * double(file->builder.row_bytes());
        const auto available = double(memory_bytes("MemAvailable"));
        if (available > 0 && needed > available)
            throw InputError(
                fmt::format("{} has {} rows, which take {:.1f} GB of memory, of which {:.1f} are free: choose rows by "
                            "glint filter, which needs "
                            "memory for some of them at a time, as in `where=frame < 10000`",
                            file->path.string(), *file->rows, needed / 1e9, available / 1e9));
    }

    /// Reads all rows, or only the first if these suffice. Returns false if a column's first number came late: earlier
    /// rows were then scanned as if the column were missing.
    bool survey_rows() {
        restart();
        survey = {};
        for (const std::string& name : file->idle) survey.idle[name];
        for (const std::string& name : file->tell_apart) survey.tell_apart[name] = 0;
        bool is_settled = true;
        for (bool is_first = true;; is_first = false) {
            const std::size_t rows = add_rows(piece_rows);
            const bool has_news = file->builder.find_numbers();
            is_whole = is_first && rows < piece_rows;
            if (is_whole) file->builder.settle();
            Localizations piece = file->builder.take();
            survey.add(piece);
            is_settled &= is_first || !has_news;
            if (is_whole) like = std::move(piece);
            if (rows < piece_rows) return is_settled && finish_pass();
            if (is_first && knows_enough()) return true;
        }
    }

    bool knows_enough() const {
        const auto is_open = [](const auto& idle) { return idle.second.has_value(); };
        return !file->is_text && !file->builder.may_have_mean_frames() && file->builder.all_have_numbers() &&
               survey.rows > 0 && file->about.width > 0 && file->about.height > 0 && file->about.frames > 0 &&
               std::none_of(survey.idle.begin(), survey.idle.end(), is_open);
    }

    /// The first row that is kept.
    Localizations first_row() {
        constexpr std::size_t some = 1024;
        restart();
        for (std::size_t rows = some; rows == some;) {
            rows = add_rows(some);
            if (const Localizations piece = file->builder.take(); piece.size() > 0)
                return select(piece, std::array<std::size_t, 1>{});
        }
        return file->builder.take();
    }

    /// Returns true if frames count from 1, according to the user, the format or the rows.
    bool begins_at_one() const {
        const std::string name = file->path.string();
        const auto warn = [&](const std::string& what) {
            if (file->warn) file->warn(name + ": " + what);
        };
        const bool has_frame_0 = survey.first_frame == 0;
        if (text.first_frame && file->is_text) {
            if (*text.first_frame == 1 && has_frame_0)
                throw OptionError(fmt::format(
                    "{}: has a frame 0, so its frames do not count from 1: leave out `first_frame=1`", name));
            return *text.first_frame == 1;
        }
        if (file->first_frame == 0) return false;
        if (has_frame_0 && file->is_first_frame_known)
            warn("frames should count from 1, but there is a frame 0: taken as counted from 0");
        if (has_frame_0) return false;
        if (!file->is_first_frame_known)
            warn(fmt::format(
                "nothing says if its frames count from 0 or from 1, and the first row is in frame {}: taken as "
                "counted from 1, and positions as measured from the first pixel's {}. If frames count from "
                "0, give `first_frame=0`",
                survey.first_frame, file->origin));
        return true;
    }

    void complete_facts() {
        Localizations ends = std::move(file->about);
        if (survey.rows > 0) frames_begin = begins_at_one();
        for (const auto& [name, value] : survey.tell_apart)
            if (!value && file->warn)
                file->warn(
                    fmt::format("{}: has rows of several values of {}, and all are one table: choose by "
                                "glint filter, as in `where={} == 0`",
                                file->path.string(), name, name));
        ends.x_px = {survey.x_end}, ends.y_px = {survey.y_end};
        constexpr std::uint32_t beyond_last =
            std::numeric_limits<std::uint32_t>::max();  // files that count from 1 hold the last
        if (survey.rows > 0 && !frames_begin && survey.last_frame == beyond_last)
            throw InputError(fmt::format("{}: has a frame {}, counted from 0: the largest number is {}",
                                         file->path.string(), beyond_last, beyond_last - 1));
        if (survey.rows > 0) ends.frame = {survey.last_frame - frames_begin};
        fill_unknown_extent(ends);
        ends.x_px.clear(), ends.y_px.clear(), ends.frame.clear();
        file->about = std::move(ends);
    }

    /// Converts rows as stored in the file to rows of the table.
    void adjust(Localizations& piece) const {
        if (frames_begin) {
            for (std::uint32_t& frame : piece.frame) --frame;
            if (const auto mean = piece.extra.find(mean_frame_column);
                mean != piece.extra.end() && file->builder.has_mean_frames())
                for (double& frame : mean->second.values) --frame;
        }
        for (const auto& [name, value] : survey.idle)
            if (value) piece.extra.erase(name);
        const Localizations& about = file->about;
        piece.width = about.width, piece.height = about.height, piece.frames = about.frames;
        piece.pixel_size_nm = about.pixel_size_nm, piece.history = about.history;
    }

    void for_each(const Visit& visit) {
        rows_visited = 0;
        const auto hand_on = [&](const Localizations& piece) {
            rows_visited += piece.size();
            visit(piece);
        };
        if (is_whole) return hand_on(like);
        restart();
        bool is_visited = false;
        for (bool is_last = false; !is_last;) {
            is_last = add_rows(piece_rows) < piece_rows;
            Localizations piece = file->builder.take();
            adjust(piece);
            if (piece.size() == 0 && (is_visited || !is_last)) continue;
            is_visited = true;
            hand_on(piece);
        }
        finish_pass();
    }

    void restart() {
        file->restart();
        file->builder.restart();
        rows_read = 0;
    }

    std::size_t add_rows(std::size_t most) {
        if (stop && *stop) throw Cancelled(fmt::format("stopped while {} was read", file->path.string()));
        std::size_t rows = 0;
        try {
            rows = file->add_rows(most);
        } catch (const InputError&) {
            unchanged.require();  // a change of the file is the likelier reason
            throw;
        }
        unchanged.require();
        rows_read += rows;
        if (rows_in_file && rows_read > *rows_in_file) unchanged.throw_changed();  // within the clock's resolution
        return rows;
    }

    /// Called after the last row. Always returns true.
    bool finish_pass() {
        if (!rows_in_file) file->builder.tell_losses();
        if (rows_in_file.value_or(rows_read) != rows_read) unchanged.throw_changed();
        rows_in_file = rows_read;
        return true;
    }

    const StopFlag* stop;
    UnchangedFile unchanged;
    TextConventions text;
    std::unique_ptr<TableFile> file;
    std::size_t piece_rows = 0, rows_read = 0, rows_visited = 0;
    std::optional<std::size_t> rows_in_file;
    Survey survey;
    Localizations like;
    bool is_whole = false, frames_begin = false;  ///< `like` has all rows; frames count from 1
};

LocalizationReader::LocalizationReader(const std::filesystem::path& path, const Warn& warn, const PieceOptions& options)
    : state_(std::make_unique<State>(path, warn, options)) {}
LocalizationReader::~LocalizationReader() = default;
Localizations LocalizationReader::example() const {
    if (state_->like.size() > 0) return state_->like;
    Localizations row = state_->file->builder.example();
    for (const std::string& name : state_->file->idle) row.extra.erase(name);
    state_->adjust(row);
    return row;
}
const Localizations& LocalizationReader::like() const { return state_->like; }
void LocalizationReader::for_each(const Visit& visit) { state_->for_each(visit); }
std::size_t LocalizationReader::rows() const { return state_->rows_visited; }

Localizations read_localizations(const std::filesystem::path& path, const Warn& warn, double pixel_size_nm,
                                 const TextConventions& text) {
    return std::move(LocalizationReader::State(path, warn, {pixel_size_nm, everything, nullptr, text}).like);
}

}  // namespace glint
