// Localizing by several ranks: how they come together, work, and end.
//
// - main.cpp initializes MPI (world.cpp); cores.cpp divides a node's cores among its ranks.
// - Rank 0 runs cli/commands/localize.cpp. For each task it calls the other ranks, which open the movie too and compare
//   fingerprints.
// - Rank 0 has the Run (run/run.hpp), which owns the output. Each rank localizes in a separate thread and writes a file
//   of records.
// - coordinator.cpp is the loop of the thread that uses MPI; frame_scheduler.cpp decides which rank gets which frames.
// - At the end rank 0's Run reads all records in the order of frames.
// SPDX-License-Identifier: MIT
#include "mpi/localize.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <thread>

#include "base/start_threads.hpp"
#include "cli/command.hpp"
#include "cli/info_json.hpp"
#include "cli/report.hpp"
#include "glint/error.hpp"
#include "mpi/coordinator.hpp"
#include "mpi/rank_report.hpp"
#include "run/run.hpp"
#include "run/run_files.hpp"
#include "run/settings.hpp"

namespace glint::mpi {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// Encodes as CBOR, because JSON texts must be UTF-8 and names of files may not be.
std::string packed(const Json& json) {
    std::string bytes;
    Json::to_cbor(json, bytes);
    return bytes;
}

/// Returns the number of frames for each rank if all ranks are equally fast.
std::int64_t share_of(const LocalizeJob& job, const World& world) {
    return std::max<std::int64_t>((job.frames.end - job.frames.begin) / world.size(), 1);
}

/// The input and output of one rank for a task.
struct Part {
    OpenedTask& opened;
    LocalizeJob job;
    Fingerprint fingerprint;
    fs::path path;
    std::unique_ptr<RecordFile> records;
};

/// Prepares the job with this rank's share of its node's cores, unless the number of threads was given.
LocalizeJob job_of(const World& world, const OpenedTask& opened) {
    LocalizeOptions options = opened.options;
    if (options.threads == 0) options.threads = world.threads();
    return prepare_job(*opened.movie, opened.facts.camera, options);
}

void open_part(const World& world, const cli::LocalizeTask& task, const std::string& run, Part& part) {
    part.path = part_path(task.out, run, world.rank());
    part.records = new_part(part.path, part.fingerprint, TableLayout(part.job.like));
}

/// Returns a rank's report before the work begins: ready, or its error.
Json ready_word(const World& world, const Part* part, std::exception_ptr error) {
    return {{"host", world.host()},
            {"threads", part ? part->job.threads : 0},
            {"fingerprint", part ? part->fingerprint : Fingerprint()},
            {"error", to_json(error, world.rank(), world.host())}};
}

/// Throws if a rank cannot begin, or has another fingerprint than rank 0 ("then" in the message).
void require_unanimity(const std::vector<Json>& words) {
    const auto fingerprint = words.front().at("fingerprint").get<Fingerprint>();
    for (std::size_t rank = 0; rank < words.size(); ++rank) {
        if (const std::exception_ptr error = error_of(words[rank].at("error"))) std::rethrow_exception(error);
        const std::string changes = differences(fingerprint, words[rank].at("fingerprint").get<Fingerprint>());
        if (changes.empty()) continue;
        throw OptionError(
            fmt::format("rank {} ({}) would not get the results of rank 0: {}, where \"then\" is rank 0. All need the "
                        "same files, and "
                        "one instruction set: GLINT_ISA=avx2, say, in the environment of all",
                        rank, words[rank].at("host").get<std::string>(), changes));
    }
}

std::vector<Json> unpacked(const std::vector<std::string>& words) {
    std::vector<Json> all;
    for (const std::string& word : words) all.push_back(Json::from_cbor(word));
    return all;
}

/// Does this rank's part in a separate thread, while this thread communicates with the other ranks.
Json work(const World& world, Part& part, Coordinator& team, const std::function<void()>& talk) {
    PartDone done;
    std::int64_t frames = 0, rows = 0;
    const std::int64_t all = part.job.frames.end - part.job.frames.begin;  // the maximum for this rank
    part.job.options.stop = &team.stop();
    std::jthread worker;
    const auto sink = [&](const BlockResult& block) {
        part.records->append(block);
        frames += block.frames(), rows += std::int64_t(block.rows.size());
        team.done(block.frames(), std::int64_t(block.rows.size()));
    };
    const auto next_after_sync = [&] {  // finished frames are on the disk before the rank requests more
        part.records->sync();
        return team.next();
    };
    const auto run = [&] {
        done = run_part(*part.opened.movie, part.job, all, next_after_sync, sink);
        try {
            part.records->sync();
        } catch (const Error&) {
            if (!done.error) done.error = std::current_exception();
        }
        team.end(done.error != nullptr);
    };
    try {
        worker = start_thread(run);
    } catch (const Error&) {
        done.error = std::current_exception();
        team.end(true);
    }
    try {
        talk();
    } catch (const std::exception& error) {  // a rank has died, so the run cannot end in an orderly way
        cli::report(fmt::format("{}; finished frames are kept in {}: continue with --resume", error.what(),
                                part.path.parent_path().string())
                        .c_str(),
                    "internal", cli::exit_internal, false);
        world.abort(cli::exit_internal);
    }
    if (worker.joinable()) worker.join();
    const bool wrote = part.records->holds_records();
    part.records.reset();
    return {{"rank", world.rank()},
            {"host", world.host()},
            {"frames", frames},
            {"localizations", rows},
            {"part", wrote ? part.path.string() : ""},
            {"error", to_json(done.error, world.rank(), world.host())},
            {"fit", cli::fit_json(done.fit)}};
}

/// Starts the task on all ranks, or cancels it on all. On rank 0, throws the error of a rank that cannot begin.
std::string gather_team(const World& world, const cli::LocalizeTask& task, const std::string& run, Part& part) {
    std::string word = packed({{"movies", task.movies}, {"out", task.out.string()}, {"run", run}});
    world.broadcast(word);
    std::exception_ptr error;
    try {
        open_part(world, task, run, part);
    } catch (const std::exception&) {
        error = std::current_exception();
    }
    const std::vector<Json> ready = unpacked(world.gather(packed(ready_word(world, &part, error))));
    try {
        require_unanimity(ready);
    } catch (const std::exception&) {
        error = std::current_exception();
    }
    std::string verdict = error ? "no" : "go";
    world.broadcast(verdict);
    if (error) {
        part.records.reset();
        std::rethrow_exception(error);
    }
    std::set<std::string> hosts;
    int threads = 0;
    for (const Json& rank : ready) {
        hosts.insert(rank.at("host").get<std::string>());
        threads += rank.at("threads").get<int>();
    }
    return fmt::format(
        "{} rank{} on {} node{}, {} thread{}; finished frames are kept in {}, and --resume continues from there",
        world.size(), world.size() == 1 ? "" : "s", hosts.size(), hosts.size() == 1 ? "" : "s", threads,
        threads == 1 ? "" : "s", parts_path(task.out).string());
}

/// The first error, the paths of the written files, and the statistics for --json.
struct Reports {
    std::exception_ptr error;
    std::vector<fs::path> written;
    std::vector<FitInfo> fits;
    Json figures = Json::array();

    explicit Reports(const std::vector<Json>& ranks) {
        for (Json rank : ranks) {
            if (!error) error = error_of(rank.at("error"));
            if (const std::string path = rank.at("part"); !path.empty()) written.push_back(path);
            fits.push_back(cli::fit_of(rank.at("fit")));
            rank.erase("part"), rank.erase("error");
            figures.push_back(std::move(rank));
        }
    }
};

void lead_team(Coordinator& team, const Part& part, const Run& run) {
    const std::int64_t all = part.job.frames.end - part.job.frames.begin;
    const auto report = [&](std::int64_t frames, std::int64_t rows) {
        if (part.opened.options.progress)
            part.opened.options.progress(run.finished_frames() + frames, all, run.finished_rows() + rows);
    };
    report(0, 0);
    team.lead(run.to_do(), report);
}

LocalizeResult lead_task(const World& world, const StopFlag& interrupted, const cli::LocalizeTask& task,
                         OpenedTask& opened, cli::Console& console, Json& more) {
    LocalizeJob job = job_of(world, opened);
    Run run(*opened.movie, opened.facts.camera, task.out, job, Writers::several);
    if (run.to_do().empty()) return run.finish({}, nullptr);
    Part part{opened, job, run.fingerprint(), {}, nullptr};
    console.notice(gather_team(world, task, run.name(), part));
    Coordinator team(world, interrupted, frames_at_once(part.opened.movie->info(), job, share_of(job, world)));
    const Json mine = work(world, part, team, [&] { lead_team(team, part, run); });
    const Reports reports(unpacked(world.gather(packed(mine))));
    LocalizeResult result = run.finish(reports.written, reports.error);
    result.fit = sum_of(reports.fits);
    more["ranks"] = reports.figures;
    return result;
}

void join_task(const World& world, const cli::LocalizeFlags& flags, const StopFlag& interrupted, const Json& word) {
    const cli::LocalizeTask task{word.at("movies"), word.at("out").get<std::string>()};
    cli::Console console({.json = false, .quiet = true});
    std::optional<OpenedTask> opened;
    std::optional<Part> part;
    std::exception_ptr error;
    try {
        opened = cli::open_task(task, flags, console);
        opened->options.warn = {}, opened->options.on_decision = {};  // rank 0 prints the same messages
        const LocalizeJob job = job_of(world, *opened);
        const Fingerprint fingerprint = fingerprint_of(*opened->movie, opened->facts.camera, job);
        part.emplace(Part{*opened, job, fingerprint, {}, nullptr});
        open_part(world, task, word.at("run"), *part);
    } catch (const std::exception&) {
        error = std::current_exception();
    }
    world.gather(packed(ready_word(world, part ? &*part : nullptr, error)));
    std::string verdict;
    world.broadcast(verdict);
    if (verdict != "go") return;
    Coordinator team(world, interrupted,
                     frames_at_once(part->opened.movie->info(), part->job, share_of(part->job, world)));
    world.gather(packed(work(world, *part, team, [&] { team.follow(); })));
}

}  // namespace

int lead_localize(const World& world, const cli::LocalizeFlags& flags, const StopFlag& interrupted) {
    return cli::localize_all(flags,
                             [&](const cli::LocalizeTask& task, OpenedTask& opened, cli::Console& console, Json& more) {
                                 return lead_task(world, interrupted, task, opened, console, more);
                             });
}

void follow_localize(const World& world, const cli::LocalizeFlags& flags, const StopFlag& interrupted) {
    for (std::string word; world.broadcast(word), !word.empty();)
        join_task(world, flags, interrupted, Json::from_cbor(word));
}

void send_home(const World& world) {
    std::string nothing;
    world.broadcast(nothing);
}

}  // namespace glint::mpi
