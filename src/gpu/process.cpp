// Reads processes from /proc.
// SPDX-License-Identifier: MIT
#include "gpu/process.hpp"

#include <sys/stat.h>

#include <fstream>
#include <iterator>
#include <sstream>

namespace glint::gpu {
namespace {

std::string folder_of(unsigned pid) { return "/proc/" + std::to_string(pid); }

std::string content(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

std::optional<ProcessInfo> process_info(unsigned pid) {
    struct stat status {};
    if (::stat(folder_of(pid).c_str(), &status) != 0) return {};
    const std::string words = content(folder_of(pid) + "/stat");         // PID (NAME) STATE PARENT ...
    const std::size_t open = words.find('('), close = words.rfind(')');  // the name may have brackets of its own
    if (open == words.npos || close == words.npos) return {};
    ProcessInfo info;
    info.uid = status.st_uid;
    info.name = words.substr(open + 1, close - open - 1);
    std::istringstream rest(words.substr(close + 1));
    if (!(rest >> info.state >> info.parent)) return {};
    return info;
}

bool is_stopped(unsigned pid, std::uint32_t uid) {
    const auto info = process_info(pid);
    return info && info->uid == uid && (info->state == 'T' || info->state == 't');
}

std::vector<unsigned> lineage(unsigned pid) {
    constexpr std::size_t max_generations = 256;  // bounds the loop should pids be reused meanwhile
    std::vector<unsigned> pids;
    while (pid != 0 && pids.size() < max_generations) {
        pids.push_back(pid);
        const auto info = process_info(pid);
        pid = info ? info->parent : 0;
    }
    return pids;
}

bool was_started_with(unsigned pid, const std::string& variable) {
    const std::string all = '\0' + content(folder_of(pid) + "/environ");
    return all.find('\0' + variable + '\0') != all.npos;
}

}  // namespace glint::gpu
