// Checks the lease directory: access, ownership, file system, visibility from containers, inotify.
// SPDX-License-Identifier: MIT
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "gpu/doctor/doctor.hpp"
#include "gpu/lease/state_dir.hpp"
#include "gpu/lease/watch.hpp"
#include "gpu/process.hpp"
#include "gpu/text.hpp"

namespace glint::gpu::doctor {
namespace {

constexpr const char* by_administrator =
    "have an administrator create it at boot: docs/how-to/administrators.md has the line for tmpfiles.d";

/// In a user namespace, uids differ from those outside: files then seem to belong to another user there.
bool has_own_users() {
    std::istringstream map(content_of("/proc/self/uid_map"));
    unsigned long inside = 0, outside = 0, count = 0;
    map >> inside >> outside >> count;
    return map && (inside != 0 || outside != 0 || count < 4294967295ul);
}

/// The name of a network file system, null for a local one. Other machines may write there, and locks may not be local.
const char* network_file_system(const std::string& path) {
    constexpr struct {
        unsigned type;
        const char* name;
    } known[] = {{0x6969, "NFS"},        {0xff534d42, "CIFS"}, {0xfe534d42, "SMB"},
                 {0x0bd00bd3, "Lustre"}, {0x47504653, "GPFS"}, {0x19830326, "BeeGFS"},
                 {0x00c36400, "Ceph"},   {0x65735546, "FUSE"}, {0x01021997, "9P"}};
    struct statfs status {};
    if (::statfs(path.c_str(), &status) != 0) return nullptr;
    const auto found = std::find_if(std::begin(known), std::end(known),
                                    [&](const auto& k) { return k.type == unsigned(status.f_type); });
    return found == std::end(known) ? nullptr : found->name;
}

/// Returns the user in the names "slot.UID.NUMBER", "history.UID" and "worker.UID", the last two also with ".RANDOM";
/// empty for another name.
std::string user_in(const std::string& name) {
    for (const std::string_view kind : {"slot.", "history.", "worker."}) {
        if (!name.starts_with(kind)) continue;
        const std::string user = name.substr(kind.size(), name.find('.', kind.size()) - kind.size());
        if (!user.empty() && user.find_first_not_of("0123456789") == std::string::npos) return user;
    }
    return "";
}

class Check {
  public:
    explicit Check(const std::string& path) : path_(path) {}

    Findings run() {
        struct stat status {};
        if (::lstat(path_.c_str(), &status) != 0) return missing(), findings_;
        if (S_ISLNK(status.st_mode)) {
            say(Health::problem, "it is a symbolic link, which any user could have created",
                "set GLINT_LEASE_DIR to the directory itself, or remove the link");
            return findings_;
        }
        const lease::StateDir directory(path_);
        if (!directory.why_not().empty()) {
            say(Health::problem, directory.why_not() + ": no coordination with other processes, only NVML is used",
                by_administrator);
            return findings_;
        }
        check_owner(status);
        check_place();
        check_waking();
        count_slots(directory);
        return findings_;
    }

  private:
    void say(Health health, const std::string& found, const std::string& remedy = "") {
        findings_.push_back({health, "lease directory", "", text(path_, ": ", found), remedy});
    }

    void missing() {
        const std::string parent = std::filesystem::path(path_).parent_path().string();
        if (errno == ENOENT && ::access(parent.empty() ? "." : parent.c_str(), W_OK | X_OK) == 0)
            say(Health::ok, "not there yet; the first lease creates it");
        else
            say(Health::problem, "it is missing, and this user cannot create it: no coordination with other processes",
                by_administrator);
    }

    void check_owner(const struct stat& status) {
        if (status.st_uid != 0 && status.st_uid != ::geteuid())
            say(Health::warning, text("it belongs to user ", status.st_uid, ", who could remove leases of others"),
                by_administrator);
        if ((status.st_mode & 0007) != 0007)
            say(Health::warning, "not all users may write there, so some leases are not visible",
                text("chmod 1777 ", path_));
    }

    void check_place() {
        if (const char* name = network_file_system(path_))
            say(Health::problem, text("it lies on ", name, ", which other machines may share"),
                "set GLINT_LEASE_DIR to a local directory of this machine, the same for all users: "
                "/dev/shm/glint-lease");
        if (has_own_users())
            say(Health::warning, "this container has its own user namespace: its leases are ignored outside",
                "start it without a user namespace (not rootless), or lease on the host: glint lease -- CONTAINER ...");
        if (!in_container()) return;
        if (const std::string why = why_private(content_of("/proc/self/mountinfo"), path_); !why.empty())
            say(Health::warning, "it is not visible outside this container: " + why,
                text("mount the host's into it: -v ", path_, ":", path_, ", or --ipc=host"));
    }

    void check_waking() {
        if (lease::Watch(path_).descriptor() < 0)
            say(Health::warning, "inotify is not available, so waiting requests poll every few seconds",
                "raise /proc/sys/fs/inotify/max_user_instances");
    }

    void count_slots(const lease::StateDir& directory) {
        const std::string intruders = name_intruders();
        const lease::StateDir::Scan scan = directory.scan();
        if (!scan.complete)
            return say(Health::problem, "it holds too many files, so it is not used" + intruders,
                       "remove all but slot.*, create.*, history.*, worker.* and waiting");
        if (!intruders.empty())
            say(Health::warning, "it contains files that do not belong to leases" + intruders,
                "their owner or root may remove them; leases do not depend on them");
        const auto left = std::count_if(scan.slots.begin(), scan.slots.end(), [](const lease::ScannedSlot& slot) {
            return !slot.alive && slot.record.state != lease::State::absent;
        });
        say(Health::ok,
            text(scan.slots.size(), " slots",
                 left ? text(", ", left, " of them left by processes that were killed; they will be reused") : ""));
    }

    /// Counts files that do not belong to leases, by owner: files with other names, and slots and folders with another
    /// user's name, which is printed.
    std::string name_intruders() const {
        struct Files {
            int count = 0;
            std::set<std::string> of;  // the users in the names of these files
        };
        std::map<uid_t, Files> files;
        std::error_code ended;
        for (std::filesystem::directory_iterator entry(path_, ended), end; !ended && entry != end;
             entry.increment(ended)) {
            struct stat status {};
            if (::lstat(entry->path().c_str(), &status) != 0) continue;
            const std::string name = entry->path().filename().string();
            const auto slot = lease::parse_slot_name(name.c_str());
            const bool file = slot ? slot->uid == status.st_uid : name.starts_with("create.") || name == "waiting";
            const std::string claimed = user_in(name);
            const bool folder =
                !claimed.empty() && !name.starts_with("slot.") && claimed == std::to_string(status.st_uid);
            if (S_ISDIR(status.st_mode) ? folder : file && S_ISREG(status.st_mode)) continue;
            Files& its = files[status.st_uid];
            ++its.count;
            if (!claimed.empty() && claimed != std::to_string(status.st_uid)) its.of.insert(claimed);
        }
        std::string words;
        for (const auto& [user, its] : files) {
            words += text(words.empty() ? ": " : ", ", its.count, " of user ", user);
            if (!its.of.empty()) words += text(", with names that are for user ", *its.of.begin());
            if (its.of.size() > 1) words += text(" and ", its.of.size() - 1, " more users");
        }
        return words;
    }

    const std::string& path_;
    Findings findings_;
};

}  // namespace

bool in_container(const std::string& root) {
    std::error_code ignored;
    for (const char* mark : {"/.dockerenv", "/run/.containerenv", "/.singularity.d"})
        if (std::filesystem::exists(root + mark, ignored)) return true;
    return root.empty() && (!in_first_pid_namespace() || std::getenv("container"));
}

std::string why_private(const std::string& mountinfo, const std::string& path) {
    // ID PARENT MAJOR:MINOR ROOT MOUNT-POINT OPTIONS... - TYPE SOURCE OPTIONS
    std::string point, type, source;
    std::istringstream lines(mountinfo);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string skipped, here, word;
        words >> skipped >> skipped >> skipped >> skipped >> here;
        while (words >> word && word != "-") {
        }
        std::string its_type, its_source;
        words >> its_type >> its_source;
        const bool contains = here == "/" || path == here || path.starts_with(here + '/');
        if (contains && here.size() >= point.size()) point = here, type = its_type, source = its_source;
    }
    if (point == path) return "";  // a separate mount: shared deliberately
    if (type == "overlay") return "it lies in the container's own file system";
    if (type == "tmpfs" && source == "shm") return point + " is the container's own";
    return "";
}

Findings check_directory(const std::string& path) { return Check(path).run(); }

}  // namespace glint::gpu::doctor
