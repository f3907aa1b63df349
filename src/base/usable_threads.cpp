// The number of threads that can run concurrently: CPU affinity and cgroup quotas.
// SPDX-License-Identifier: MIT
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "glint/environment.hpp"

namespace glint::environment {
namespace {

namespace fs = std::filesystem;

constexpr double no_quota = std::numeric_limits<double>::infinity();

int threads_by_affinity() {
    for (std::size_t most = 1024; most <= 1 << 20; most *= 4) {  // the kernel refuses a set smaller than its own
        cpu_set_t* cpus = CPU_ALLOC(most);
        if (!cpus) break;
        const std::size_t bytes = CPU_ALLOC_SIZE(most);
        const int count = sched_getaffinity(0, bytes, cpus) == 0 ? CPU_COUNT_S(bytes, cpus) : 0;
        CPU_FREE(cpus);
        if (count > 0) return count;
    }
    return std::max(1, int(std::thread::hardware_concurrency()));
}

double cpus_of(double quota_us, double period_us) {
    return quota_us > 0 && period_us > 0 ? quota_us / period_us : no_quota;
}

/// Version 2: "250000 100000", or "max 100000".
double quota_v2(const fs::path& folder) {
    double quota_us = 0, period_us = 0;
    std::ifstream file(folder / "cpu.max");
    return file >> quota_us >> period_us ? cpus_of(quota_us, period_us) : no_quota;
}

/// Version 1: a quota of -1 means no quota.
double quota_v1(const fs::path& folder) {
    double quota_us = 0, period_us = 0;
    std::ifstream quota(folder / "cpu.cfs_quota_us"), period(folder / "cpu.cfs_period_us");
    return quota >> quota_us && period >> period_us ? cpus_of(quota_us, period_us) : no_quota;
}

/// Returns the minimum over a group and its ancestors, up to the mount point. In a container, the path may be that of
/// the host, of which only the mounted folder is visible.
double min_quota(const fs::path& mount, const std::string& group, double (*quota)(const fs::path&)) {
    double least = quota(mount);
    if (group.find("..") != group.npos) return least;
    fs::path folder = mount;
    for (const fs::path& part : fs::path(group).relative_path()) least = std::min(least, quota(folder /= part));
    return least;
}

bool holds(const std::string& controllers, const std::string& wanted) {
    std::istringstream names(controllers);
    for (std::string name; std::getline(names, name, ',');)
        if (name == wanted) return true;
    return false;
}

/// Lines of /proc/self/cgroup: "0::/user.slice" in version 2, "4:cpu,cpuacct:/docker/12ab" in version 1.
double cpus_by_cgroups(const std::string& root) {
    const fs::path mounts = root + "/sys/fs/cgroup";
    double least = no_quota;
    std::ifstream groups(root + "/proc/self/cgroup");
    for (std::string line; std::getline(groups, line);) {
        const std::size_t first = line.find(':'), second = line.find(':', first + 1);
        if (first == line.npos || second == line.npos) continue;
        const std::string controllers = line.substr(first + 1, second - first - 1), group = line.substr(second + 1);
        if (controllers.empty())
            for (const fs::path& mount : {mounts, mounts / "unified"})
                least = std::min(least, min_quota(mount, group, quota_v2));
        if (holds(controllers, "cpu"))
            for (const fs::path& mount : {mounts / controllers, mounts / "cpu"})
                least = std::min(least, min_quota(mount, group, quota_v1));
    }
    return least;
}

}  // namespace

int usable_threads(const std::string& root) {
    constexpr double rounding = 1e-6;
    const int threads = threads_by_affinity();
    const double cpus = std::ceil(cpus_by_cgroups(root) - rounding);
    return cpus < threads ? std::max(1, int(cpus)) : threads;
}

}  // namespace glint::environment
