// The history of leases: bounded, separate for each user, and robust against invalid content.
// SPDX-License-Identifier: MIT
#include "gpu/lease/history.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpu/process.hpp"
#include "tests/temporary_folder.hpp"

namespace glint::gpu::lease {
namespace {

namespace fs = std::filesystem;

class LeaseHistory : public ::testing::Test {
  protected:
    LeaseHistory() { ::chmod(folder.path().c_str(), 01777); }

    Slot holder(std::size_t gpus = 1) const {
        std::string why_not;
        std::optional<Slot> slot = Slot::take(directory, why_not);
        EXPECT_TRUE(slot) << why_not;
        slot->record.state = State::holding;
        slot->record.gpus = slot->record.share_count = std::uint32_t(gpus);
        for (std::size_t k = 0; k < gpus; ++k) {
            slot->record.shares[k].gpu[0] = static_cast<unsigned char>(k + 1);
            slot->record.shares[k].reserved_bytes = 1000 + k;
        }
        EXPECT_TRUE(slot->publish());
        return std::move(*slot);
    }
    fs::path place() const { return folder.path() / ("history." + std::to_string(::geteuid())); }
    fs::path file() const { return place() / "leases"; }

    glint::test::TemporaryFolder folder;
    StateDir directory{folder.path().string()};
    const std::vector<LeasedDevice> one{{0, "GPU-a", "A", 0}}, two{{0, "GPU-a", "A", 0}, {1, "GPU-b", "B", 0}};
};

}  // namespace

TEST_F(LeaseHistory, tells_what_lasts_what_has_ended_and_what_was_killed) {
    EXPECT_TRUE(past_leases(directory).empty());
    Slot ended = holder(), killed = holder(2), lasts = holder();
    note_begin(directory, ended, one);
    note_begin(directory, killed, two);
    note_begin(directory, lasts, one);
    note_end(directory, ended);
    ended.release();
    { const Slot gone = std::move(killed); }  // its record remains, as when the process is killed
    const std::vector<PastLease> all = past_leases(directory);
    ASSERT_EQ(all.size(), 4u);
    EXPECT_TRUE(all[0].ended_ns && !all[0].lasts);
    EXPECT_GE(*all[0].ended_ns, all[0].began_ns);
    EXPECT_EQ(all[0].uid, ::geteuid());
    EXPECT_EQ(all[0].pid, unsigned(::getpid()));
    EXPECT_EQ(all[0].program, process_info(unsigned(::getpid()))->name);
    EXPECT_EQ(all[1].gpu, "GPU-a");
    EXPECT_EQ(all[2].gpu, "GPU-b");
    EXPECT_EQ(all[2].reserved_bytes, 1001u);
    for (const std::size_t k : {1, 2}) EXPECT_TRUE(!all[k].ended_ns && !all[k].lasts) << k;
    EXPECT_TRUE(!all[3].ended_ns && all[3].lasts);
}

TEST_F(LeaseHistory, of_a_slot_that_has_another_owner_is_not_that_owner_s) {
    {
        const Slot killed = holder();
        note_begin(directory, killed, one);
    }
    const Slot next = holder();  // of the same slot
    note_begin(directory, next, one);
    note_end(directory, next);
    const std::vector<PastLease> all = past_leases(directory);
    ASSERT_EQ(all.size(), 2u);
    EXPECT_FALSE(all[0].ended_ns);
    EXPECT_FALSE(all[0].lasts);
    EXPECT_TRUE(all[1].ended_ns);
}

TEST_F(LeaseHistory, has_an_end_only_where_it_has_begun) {
    note_end(directory, holder());
    EXPECT_TRUE(past_leases(directory).empty());
    EXPECT_FALSE(fs::exists(place()));
}

TEST_F(LeaseHistory, is_bounded) {
    const Slot slot = holder();
    const std::size_t leases = 3 * history_entries;  // each has two entries
    for (std::size_t k = 0; k < leases; ++k) note_begin(directory, slot, one), note_end(directory, slot);
    note_begin(directory, slot, one);
    const std::size_t kept = past_leases(directory).size();
    EXPECT_GE(kept, history_entries / 2);
    EXPECT_LE(kept, history_entries);
    EXPECT_LE(fs::file_size(file()) + fs::file_size(place() / "leases.old"), 2 * history_entries * 104);
}

// Any user who can read the file can hold a shared lock, which must not stop the rotation.
TEST_F(LeaseHistory, is_bounded_and_new_whatever_others_lock) {
    const Slot slot = holder();
    note_begin(directory, slot, one);
    const int shared = ::open(file().c_str(), O_RDONLY | O_CLOEXEC),
              folder_lock = ::open(place().c_str(), O_RDONLY | O_CLOEXEC);
    ASSERT_EQ(::flock(shared, LOCK_SH), 0);
    ASSERT_EQ(::flock(folder_lock, LOCK_SH), 0);
    for (std::size_t k = 0; k < 2 * history_entries; ++k) note_begin(directory, slot, one), note_end(directory, slot);
    EXPECT_LE(fs::file_size(file()) + fs::file_size(place() / "leases.old"), 2 * history_entries * 104);
    EXPECT_EQ(int(fs::status(place() / "lock").permissions()), 0600) << "no other user can open it";
    EXPECT_TRUE(fs::is_empty(place() / "lock"));
    // A file that has grown beyond its bound: its newest entries count.
    std::string entries = glint::test::read_bytes(file());
    while (entries.size() < 3 * history_entries * 104) entries += entries;
    folder.write(place().filename().string() + "/leases", entries);
    note_begin(directory, slot, two);
    std::size_t of_two = 0;
    for (const PastLease& lease : past_leases(directory)) of_two += lease.gpu == "GPU-b";
    EXPECT_EQ(of_two, 1u);
    ::close(shared), ::close(folder_lock);
}

TEST_F(LeaseHistory, has_another_folder_if_its_name_is_taken) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can create files of two users";
    fs::create_directory(place());
    ASSERT_EQ(::chown(place().c_str(), 54321, 54321), 0);
    const Slot slot = holder();
    note_begin(directory, slot, one);
    ASSERT_EQ(past_leases(directory).size(), 1u);
    fs::remove(place());
    note_end(directory, slot);
    note_begin(directory, slot, one);
    ASSERT_EQ(past_leases(directory).size(), 2u);
    EXPECT_TRUE(past_leases(directory)[0].ended_ns);
    EXPECT_FALSE(fs::exists(place())) << "one folder at a time";
}

TEST_F(LeaseHistory, can_be_read_by_all_and_written_by_its_user_alone) {
    const mode_t before = ::umask(077);
    note_begin(directory, holder(), one);
    ::umask(before);
    EXPECT_EQ(int(fs::status(place()).permissions()), 0755);
    EXPECT_EQ(int(fs::status(file()).permissions()), 0644);
}

TEST_F(LeaseHistory, of_nonsense_is_left_out) {
    note_begin(directory, holder(), one);
    std::string bytes = glint::test::read_bytes(file());
    ASSERT_EQ(bytes.size(), 104u);
    std::string future = bytes;
    future.replace(24, 8, "\xff\xff\xff\xff\xff\xff\xff\x7f");  // its time
    const std::string noise(333, '\xa5');
    folder.write(place().filename().string() + "/leases", bytes + future + noise);
    EXPECT_EQ(past_leases(directory).size(), 1u);
    fs::remove(file());
    fs::create_symlink("/etc/passwd", file());
    EXPECT_TRUE(past_leases(directory).empty());
    note_begin(directory, holder(), one);  // does not write there
    EXPECT_TRUE(fs::is_symlink(file()));
    fs::create_directory(folder / "history.4294967294");  // has another user's name
    fs::create_directory(folder / "history.x");
    EXPECT_TRUE(past_leases(directory).empty());
}

}  // namespace glint::gpu::lease
