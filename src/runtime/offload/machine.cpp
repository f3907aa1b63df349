// The cost model: estimates from rates and learned corrections, updates from measured times, and the cache file.
//
// An estimate is (operations or bytes) / rate + latencies, times a correction by size from a Curve per operation, side
// and combination of transfers. learn() updates the curve with the ratio of measured to estimated time, so errors of
// the rates cancel after a few runs. One mutex guards rates and curves; it is held for microseconds, except by
// save(), which writes the file under it.
//
// Rates alone are wrong by a factor of several for small sizes and for libraries with internal thresholds. A table of
// times alone cannot be extended to sizes that were not run. So the rates determine the shape, and the curves correct
// it.
// SPDX-License-Identifier: MIT
#include "offload/machine.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "glint/environment.hpp"
#include "glint/error.hpp"
#include "glint/version.hpp"

namespace glint::offload {
namespace {

// Defaults per core, with SIMD, until something is measured; the curves correct them. About 12 cores saturate the
// memory of a socket, so more cores read and write no faster.
constexpr double flops_of_a_core = 2e10, bytes_of_a_core = 8e9, max_cores_on_memory = 12;

/// The UUID becomes part of a file's name: nothing but letters, digits and dashes.
std::string safe_file_name(const std::string& text) {
    std::string name;
    for (const char c : text) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '-';
    return name;
}

Constants default_constants(int threads) {
    Constants constants;
    constants.cpu_flops = threads * flops_of_a_core;
    constants.cpu_bytes = std::min<double>(threads, max_cores_on_memory) * bytes_of_a_core;
    return constants;
}

/// 0 if nothing is moved, or if the link was not measured: then decide() uses the fixed rules.
double seconds_for(std::uint64_t bytes, double bytes_per_s, double latency_s) {
    return bytes == 0 || bytes_per_s <= 0 ? 0 : latency_s + double(bytes) / bytes_per_s;
}

/// The points that have measurements, each with its octave.
nlohmann::json to_json(const Curve& curve) {
    nlohmann::json points = nlohmann::json::array();
    for (int k = 0; k < Curve::octaves; ++k)
        if (const Curve::Point& p = curve.points()[k]; p.count)
            points.push_back({k, p.log2_size, p.log_ratio, p.count});
    return points;
}

/// The file is the user's own, but may be damaged. Points with impossible values are ignored; other defects throw.
void from_json(const nlohmann::json& points, Curve& curve) {
    for (const auto& p : points) {
        const int octave = p.at(0);
        const Curve::Point point{p.at(1), p.at(2), p.at(3)};
        if (octave >= 0 && octave < Curve::octaves && std::isfinite(point.log2_size) && std::isfinite(point.log_ratio))
            curve.set(octave, point);
    }
}

/// Calls act(name, value) for all rates and latencies, so that reading and writing the file use the same names.
template <class Do>
void for_each_constant(Constants& c, const Do& act) {
    act("up_pinned", c.up_pinned), act("down_pinned", c.down_pinned);
    act("up_pageable", c.up_pageable), act("down_pageable", c.down_pageable);
    act("transfer_s", c.transfer_s), act("launch_s", c.launch_s), act("context_s", c.context_s),
        act("query_s", c.query_s);
    act("cpu_flops", c.cpu_flops), act("cpu_bytes", c.cpu_bytes);
    act("gpu_flops", c.gpu_flops), act("gpu_bytes", c.gpu_bytes);
}

}  // namespace

// A damaged file of the cost model is not an error: the session begins with the defaults.
Machine::Machine(MachineKey key, std::filesystem::path folder, std::shared_ptr<Machine> cpu)
    : key_(std::move(key)),
      folder_(std::move(folder)),
      cpu_(std::move(cpu)),
      constants_(default_constants(key_.threads)) {
    try {
        load();
    } catch (const std::exception&) {  // another version or a truncated file: start from the defaults
        constants_ = default_constants(key_.threads), last_gpu_ = {}, curves_.clear();
    }
}

// Models of machine_with() are destroyed at the end of the process.
Machine::~Machine() { save(); }

Constants Machine::constants() const {
    const std::lock_guard lock(mutex_);
    return constants_;
}

void Machine::set(const Constants& constants) {
    const std::lock_guard lock(mutex_);
    constants_ = constants, changed_ = true;
    be_last();
}

void Machine::set_library(const std::string& name, double seconds) {
    const std::lock_guard lock(mutex_);
    constants_.library_s[name] = seconds, changed_ = true;
}

void Machine::set_context(double seconds, double query_s) {
    const std::lock_guard lock(mutex_);
    constants_.context_s = seconds, changed_ = true;
    if (query_s > 0) constants_.query_s = query_s;
    be_last();
}

void Machine::be_last() {
    if (!cpu_) return;
    const std::lock_guard lock(cpu_->mutex_);
    cpu_->last_gpu_ = {key_.gpu_uuid, key_.driver}, cpu_->changed_ = true;
}

Machine::LastGpu Machine::last_gpu() const {
    const std::lock_guard lock(mutex_);
    return last_gpu_;
}

/// Index into tables of both sides.
static int column(Backend side) { return side == Backend::gpu ? 1 : 0; }

// The two sides move different operands: to the GPU and back if the GPU computes, to the host and back if the CPU does.
int Machine::movement(const Work& work, Backend side) {
    if (side == Backend::gpu) return (work.bytes_to_gpu ? 1 : 0) + (work.bytes_from_gpu ? 2 : 0);
    return (work.bytes_to_host ? 1 : 0) + (work.bytes_to_return ? 2 : 0);
}

// The estimate for one side, with the mutex held; `distance` receives how far in size the nearest measurement is.
//
// The measured time of an operation that moves data is a single number, which cannot be divided among its terms. So
// such runs correct all terms together, by the curve of their movement, in addition to the correction of the
// computation by runs without transfers. The estimate is proportional to the last correction applied; learn() relies on
// that.
Terms Machine::terms(const Work& work, Backend side, const Curves* curves, float log2_size, double& distance) const {
    const Constants& c = constants_;
    Terms terms;
    const double up = work.pinned ? c.up_pinned : c.up_pageable, down = work.pinned ? c.down_pinned : c.down_pageable;
    // Rates are those of all threads; some work uses fewer threads.
    const double share = work.cpu_threads > 0 ? std::min(1.0, double(work.cpu_threads) / key_.threads) : 1;
    double flops_per_s = c.cpu_flops * share, bytes_per_s = c.cpu_bytes * share;
    if (side == Backend::gpu) {
        flops_per_s = c.gpu_flops, bytes_per_s = c.gpu_bytes;
        // An upload whose data several operations will use is charged to each operation in part.
        terms.upload_s = seconds_for(work.bytes_to_gpu, up, c.transfer_s) / std::max(1.0, work.expected_reuse);
        terms.download_s = seconds_for(work.bytes_from_gpu, down, c.transfer_s);
        terms.launch_s = work.launches * c.launch_s;
    } else {
        terms.download_s = seconds_for(work.bytes_to_host, down, c.transfer_s);
        terms.upload_s = seconds_for(work.bytes_to_return, up, c.transfer_s);
    }
    // Roofline model: the longer of arithmetic and memory traffic hides the shorter.
    terms.compute_s =
        std::max(flops_per_s > 0 ? work.flops / flops_per_s : 0, bytes_per_s > 0 ? work.bytes / bytes_per_s : 0);
    const int moves = movement(work, side);
    if (!curves) {
        // Nothing measured: the maximum distance.
        distance = Curve::octaves;
        return terms;
    }
    const Curve::Value compute = curves->compute[column(side)].at(log2_size);
    terms.compute_s *= compute.ratio, terms.launch_s *= compute.ratio;
    distance = compute.octaves_off;
    if (!moves) return terms;
    const Curve::Value moved = curves->moved[column(side)][moves].at(log2_size);
    terms.upload_s *= moved.ratio, terms.download_s *= moved.ratio, terms.launch_s *= moved.ratio;
    terms.compute_s *= moved.ratio;
    // A point of either curve counts as a measurement: a run with other transfers still measures the computation.
    distance = std::min(distance, moved.octaves_off);
    return terms;
}

Terms Machine::terms_of_cpu(const Work& work, float log2_size, double& distance) const {
    const std::lock_guard lock(mutex_);
    const auto found = curves_.find(work.operation->key);
    return terms(work, Backend::cpu, found == curves_.end() ? nullptr : &found->second, log2_size, distance);
}

// At most one lock and one look-up per side, as this precedes every operation. Context and library are returned
// separately from the terms, since only the caller knows whether they are already loaded.
Machine::Estimate Machine::estimate(const Work& work) const {
    const std::lock_guard lock(mutex_);
    const auto found = curves_.find(work.operation->key);
    const Curves* curves = found == curves_.end() ? nullptr : &found->second;
    double of_cpu = 0, of_gpu = 0;
    const float log2_size = Curve::log2_of(work.size);
    Estimate estimate;
    estimate.cpu = is_of_cpu(work, Backend::cpu) ? cpu_->terms_of_cpu(work, log2_size, of_cpu)
                                                 : terms(work, Backend::cpu, curves, log2_size, of_cpu);
    estimate.gpu = terms(work, Backend::gpu, curves, log2_size, of_gpu);
    estimate.distance = std::max(of_cpu, of_gpu);
    estimate.gpu_measured = constants_.gpu_measured();
    estimate.context_s = constants_.context_s, estimate.query_s = constants_.query_s;
    if (!work.library.empty())
        if (const auto library = constants_.library_s.find(work.library); library != constants_.library_s.end())
            estimate.library_s = library->second;
    return estimate;
}

// The measured time over the estimate, times the correction that the estimate contains, is the ratio to the uncorrected
// estimate: what the curve stores. Learning from the corrected ratio would converge to its square root.
void Machine::learn(const Work& work, Backend side, double seconds) {
    if (is_of_cpu(work, side)) return cpu_->learn(work, side, seconds);
    const std::lock_guard lock(mutex_);
    Curves& curves = curves_[work.operation->key];
    if (curves.name.empty()) curves.name = work.operation->name;
    double distance = 0;
    // The run contains the whole upload, however many operations will use it.
    Work once = work;
    once.expected_reuse = 1;
    const Terms expected = terms(once, side, &curves, Curve::log2_of(work.size), distance);
    if (expected.total() <= 0) return;
    const int moves = movement(work, side);
    // Index 0 of `moved` is never used: without transfers the run belongs to `compute`.
    Curve& curve = moves ? curves.moved[column(side)][moves] : curves.compute[column(side)];
    curve.learn(work.size, seconds / expected.total() * curve.ratio(work.size));
    changed_ = true;
}

// Only from runs without transfers: for the CPU, all runs whose operands are on the host.
bool Machine::knows(const Work& work, Backend side) const {
    if (is_of_cpu(work, side)) return cpu_->knows(work, side);
    const std::lock_guard lock(mutex_);
    const auto found = curves_.find(work.operation->key);
    return found != curves_.end() && std::isfinite(found->second.compute[column(side)].octaves_off(work.size));
}

std::uint32_t Machine::runs(const Work& work, Backend side) const {
    if (is_of_cpu(work, side)) return cpu_->runs(work, side);
    const std::lock_guard lock(mutex_);
    const auto found = curves_.find(work.operation->key);
    if (found == curves_.end()) return 0;
    const int moves = movement(work, side);
    return (moves ? found->second.moved[column(side)][moves] : found->second.compute[column(side)]).count(work.size);
}

// One file per GPU. MIG instances have UUIDs of their own, so an instance is never mistaken for the whole GPU.
std::filesystem::path Machine::file() const {
    if (folder_.empty()) return {};
    return folder_ / fmt::format("offload-{}.json", key_.gpu_uuid.empty() ? "cpu" : safe_file_name(key_.gpu_uuid));
}

// Throws for any defect of the file; the constructor then resets what was read so far. constants_ is set last.
void Machine::load() {
    std::ifstream in(file());
    if (folder_.empty() || !in) return;
    const nlohmann::json all = nlohmann::json::parse(in);
    const nlohmann::json& of = all.at("machine");
    const MachineKey kept{of.at("gpu_uuid"), of.at("driver"), of.at("cpu"), of.at("threads"), of.at("version")};
    // Returns before anything is changed, without an error: the next save() replaces the file.
    if (kept != key_) return;  // measured with another GPU, driver, CPU, thread count or version
    Constants constants = default_constants(key_.threads);
    for_each_constant(constants, [&](const char* name, double& value) {
        value = all.at("constants").at(name);
        // A negative or infinite rate would decide every operation in the same way, permanently.
        if (!(value >= 0) || !std::isfinite(value)) throw Error("a constant is negative or infinite");
    });
    constants.library_s = all.at("library_s").get<decltype(constants.library_s)>();
    last_gpu_ = {all.at("last_gpu").at("uuid"), all.at("last_gpu").at("driver")};
    for (const auto& entry : all.at("operations")) {
        // Measurements of operations that this process does not run are kept and written again.
        Curves& curves = curves_[entry.at("key")];
        curves.name = entry.at("name");
        for (int side = 0; side < 2; ++side) {
            from_json(entry.at("compute").at(side), curves.compute[side]);
            for (int k = 0; k < 4; ++k) from_json(entry.at("moved").at(side).at(k), curves.moved[side][k]);
        }
    }
    constants_ = constants;
}

// Writes a temporary file and renames it, so that a process that is killed, or several that save at the same time,
// leave a complete file. The last writer wins: losing some measurements is harmless. No fsync: after a crash of the
// machine the file may be empty, and the next process measures again. A kill before the rename leaves a .part file,
// which nothing reads.
bool Machine::save() const noexcept try {
    const std::lock_guard lock(mutex_);
    if (folder_.empty() || !changed_) return !changed_;
    nlohmann::json all;
    all["machine"] = {{"gpu_uuid", key_.gpu_uuid},
                      {"driver", key_.driver},
                      {"cpu", key_.cpu},
                      {"threads", key_.threads},
                      {"version", key_.version}};
    // A copy, because for_each_constant() passes references that load() writes through.
    Constants constants = constants_;
    for_each_constant(constants, [&](const char* name, double& value) { all["constants"][name] = value; });
    all["library_s"] = constants_.library_s;
    all["last_gpu"] = {{"uuid", last_gpu_.uuid}, {"driver", last_gpu_.driver}};
    all["operations"] = nlohmann::json::array();
    for (const auto& [key, curves] : curves_) {
        nlohmann::json entry{{"key", key}, {"name", curves.name}};
        for (int side = 0; side < 2; ++side) {
            entry["compute"].push_back(to_json(curves.compute[side]));
            nlohmann::json moved;
            for (const Curve& curve : curves.moved[side]) moved.push_back(to_json(curve));
            entry["moved"].push_back(moved);
        }
        all["operations"].push_back(entry);
    }
    std::filesystem::create_directories(folder_);
    const std::filesystem::path final_name = file();
    // In the same directory, as rename() is atomic within a file system only. The PID separates processes that save at
    // the same time.
    const std::filesystem::path part = final_name.string() + fmt::format(".part-{}", ::getpid());
    std::ofstream out(part);
    out << all.dump(1) << '\n';
    out.close();
    // The state of the stream after close() includes the last flush: if the disk is full, the old file stays.
    std::error_code failed;
    if (out) std::filesystem::rename(part, final_name, failed);
    if (!out || failed) {
        std::filesystem::remove(part, failed);
        return false;
    }
    changed_ = false;
    return true;
} catch (const std::exception&) {
    return false;
}

// The next save() replaces the file by the empty model.
void Machine::forget() {
    const std::lock_guard lock(mutex_);
    constants_ = default_constants(key_.threads), last_gpu_ = {}, curves_.clear(), changed_ = true;
}

/// The handle is not closed: the runtime opens the same library next.
bool driver_is_there() {
    if (!environment::gpu_enabled()) return false;
    // The driver's device files, also under WSL, indicate a driver as reliably as its library, which takes longer to
    // load than a short run.
    static const bool there = access("/dev/nvidiactl", F_OK) == 0 || access("/dev/dxg", F_OK) == 0 ||
                              dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) != nullptr;
    return there;
}

// The model of the first core: all cores are assumed to be equal. Without this line (ARM), the key depends on the other
// fields.
std::string cpu_model() {
    std::ifstream in("/proc/cpuinfo");
    for (std::string line; std::getline(in, line);)
        if (line.rfind("model name", 0) == 0)
            if (const auto colon = line.find(": "); colon != std::string::npos) return line.substr(colon + 2);
    return "unknown";
}

std::filesystem::path cache_folder() {
    // By the XDG specification, relative paths are ignored.
    if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && cache[0] == '/')
        return std::filesystem::path(cache) / "glint";
    if (const char* home = std::getenv("HOME"); home && home[0] == '/')
        return std::filesystem::path(home) / ".cache" / "glint";
    return {};
}

// Shared by all sessions and fitters of the process: each uses all measurements, and none overwrites the file of
// another.
std::shared_ptr<Machine> machine_with(const std::string& gpu_uuid, const std::string& driver) {
    static std::mutex mutex;
    static std::map<std::pair<std::string, std::string>, std::shared_ptr<Machine>> known;
    // Once, because reading /proc/cpuinfo takes milliseconds on machines with many cores.
    static const std::string cpu = cpu_model();
    const std::lock_guard lock(mutex);
    // CPU and threads are read once: they cannot change while the process lives.
    const auto of = [&](const std::string& uuid, const std::string& by, std::shared_ptr<Machine> without) {
        auto& machine = known[{uuid, by}];
        if (!machine)
            machine = std::make_shared<Machine>(MachineKey{uuid, by, cpu, environment::threads(), version()},
                                                cache_folder(), std::move(without));
        return machine;
    };
    const std::shared_ptr<Machine> without = of("", "", nullptr);
    return gpu_uuid.empty() ? without : of(gpu_uuid, driver, without);
}

std::shared_ptr<Machine> with_last_gpu(const std::shared_ptr<Machine>& cpu) {
    const Machine::LastGpu last = cpu->last_gpu();
    return last.uuid.empty() ? cpu : machine_with(last.uuid, last.driver);
}

}  // namespace glint::offload
