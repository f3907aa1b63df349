// Slots and their directory: which owners count as alive, which records are trusted, and which attacks are harmless.
// SPDX-License-Identifier: MIT
#include "gpu/lease/state_dir.hpp"

#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <csignal>
#include <cstring>
#include <fstream>

#include "gpu/lease/context_creation_lock.hpp"
#include "gpu/lease/watch.hpp"
#include "tests/lease_fixture.hpp"

using namespace glint::gpu;
using namespace glint::gpu::lease;
using namespace glint::gpu::lease::test;

namespace {

struct LeaseStateDir : LeaseTest {
    std::string own(int number) const { return SlotName{std::uint32_t(::geteuid()), std::uint32_t(number)}.text(); }
    int alive() const {
        int count = 0;
        for (const ScannedSlot& slot : scan().slots) count += slot.alive;
        return count;
    }
    /// Returns a complete slot file, as its owner would have left it.
    static std::string file_of(Record record) {
        ++record.sequence;
        seal(record);
        std::string bytes(slot_file_bytes, '\0');
        std::memcpy(bytes.data(), &record, sizeof record);
        return bytes;
    }
    static Record holding(std::uint64_t gibibytes) {
        Record record;
        record.state = State::holding;
        record.gpus = record.share_count = 1;
        record.need_bytes = gibibytes * gib;
        record.shares[0] = {gpus(1).gpus[0].id, gibibytes * gib, 0};
        return record;
    }
};

/// A pipe by which a child reports that it has reached a point, and by which the parent allows it to end.
struct Pipe {
    Pipe() { EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0); }
    ~Pipe() { ::close(ends[0]), ::close(ends[1]); }
    void tell() const { EXPECT_EQ(::write(ends[1], "x", 1), 1); }
    void hear() const {
        char c;
        EXPECT_EQ(::read(ends[0], &c, 1), 1);
    }
    int ends[2];
};

void end(pid_t child) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
}

}  // namespace

TEST_F(LeaseStateDir, shows_who_lives) {
    EXPECT_TRUE(scan().slots.empty());
    std::optional<Slot> slot = participant(State::holding, 8);
    ASSERT_EQ(scan().slots.size(), 1u);
    EXPECT_TRUE(scan().slots[0].alive);
    EXPECT_EQ(scan().slots[0].record.state, State::holding);
    EXPECT_EQ(scan().slots[0].record.used_shares()[0].reserved_bytes, 8 * gib + context_bytes);
    EXPECT_EQ(scan().slots[0].name.uid, ::geteuid());
    slot.reset();
    ASSERT_EQ(scan().slots.size(), 1u) << "the file stays";
    EXPECT_FALSE(scan().slots[0].alive);
}

TEST_F(LeaseStateDir, each_participant_has_a_slot_of_its_own_and_the_files_are_used_again) {
    {
        const Slot a = participant(State::waiting, 1), b = participant(State::waiting, 1);
        EXPECT_NE(a.name(), b.name());
    }
    const Slot c = participant(State::waiting, 1);
    EXPECT_EQ(c.name().number, 0u);
    EXPECT_EQ(folder.names().size(), 2u);
}

// A process may be stopped between taking the slot and writing to it: the dead owner's record must not become alive
// again.
TEST_F(LeaseStateDir, what_a_dead_owner_left_does_not_come_alive_with_the_next) {
    { const Slot killed = participant(State::holding, 60); }
    std::string why;
    const auto next = Slot::take(*deps.directory, why);
    ASSERT_TRUE(next);
    EXPECT_EQ(alive(), 0);
    EXPECT_EQ(next->record.state, State::absent);
}

TEST_F(LeaseStateDir, a_killed_holder_is_gone) {
    const Pipe ready;
    const pid_t child = ::fork();
    if (child == 0) {
        const Slot slot = participant(State::holding, 60);
        ready.tell();
        for (;;) ::pause();
    }
    ready.hear();
    EXPECT_EQ(alive(), 1);
    EXPECT_THROW(acquire(40), LeaseTimeout);
    end(child);
    EXPECT_EQ(alive(), 0);
    acquire(40);
}

TEST_F(LeaseStateDir, a_forked_child_keeps_a_lease_alive_but_does_not_give_it_back) {
    const Pipe ready, finish;
    std::optional<Lease> lease = acquire(60);
    const pid_t child = ::fork();
    if (child == 0) {
        lease->publish_held(gib);
        lease.reset();  // as when the child's stack is unwound
        ready.tell();
        ::_exit(0);
    }
    ready.hear();
    ::waitpid(child, nullptr, 0);
    EXPECT_EQ(scan().slots[0].record.shares[0].held_bytes, 0u) << "the child cannot speak for its parent";
    EXPECT_THROW(acquire(40), LeaseTimeout);
}

TEST_F(LeaseStateDir, a_program_that_a_child_executes_keeps_the_lease_only_when_told_to) {
    for (const bool keep : {false, true}) {
        const Pipe input;
        std::optional<Lease> lease = acquire(60);
        const int descriptor = keep ? lease->keep_for_child() : -1;
        EXPECT_EQ(descriptor >= 0, keep);
        const Pipe output;
        const pid_t child = ::fork();
        if (child == 0) {
            ::dup2(input.ends[0], 0), ::dup2(output.ends[1], 1);
            ::execl("/bin/cat", "cat", nullptr);
            ::_exit(127);
        }
        input.tell();   // the answer comes once the program runs,
        output.hear();  // so every close at exec is done
        lease.reset();
        EXPECT_EQ(alive(), keep ? 1 : 0);
        if (keep)
            EXPECT_THROW(acquire(40), LeaseTimeout);
        else
            acquire(40);
        end(child);
        EXPECT_EQ(alive(), 0);
        acquire(40);
    }
}

TEST_F(LeaseStateDir, those_who_look_do_not_disturb_each_other_nor_make_the_dead_live) {
    { const Slot dead = participant(State::holding, 60); }
    const int file = ::open((folder / own(0)).c_str(), O_RDONLY | O_CLOEXEC);
    struct flock lock = liveness_lock(0);
    lock.l_type = F_RDLCK;
    lock.l_start = lock.l_len = 0;  // the whole file, as anybody who can read it may
    ASSERT_EQ(::fcntl(file, F_OFD_SETLK, &lock), 0);
    EXPECT_EQ(alive(), 0);
    const Slot slot = participant(State::holding, 60);
    EXPECT_EQ(slot.name().number, 1u) << "the locked one cannot be had";
    EXPECT_EQ(alive(), 1);
    ASSERT_EQ(::flock(file, LOCK_EX), 0);
    EXPECT_EQ(alive(), 1);
    ::close(file);
}

TEST_F(LeaseStateDir, a_record_that_is_torn_leaves_the_one_before) {
    Slot slot = participant(State::holding, 60);
    slot.record.shares[0].held_bytes = gib;
    slot.publish();
    const off_t last = slot.record.sequence % 2 ? off_t(copy_bytes) : 0;
    const int file = ::open((folder / own(0)).c_str(), O_RDWR | O_CLOEXEC);
    ASSERT_EQ(::pwrite(file, "garbage", 7, last + 100), 7);
    ASSERT_EQ(scan().slots.size(), 1u);
    EXPECT_EQ(scan().slots[0].record.shares[0].held_bytes, 0u);
    ASSERT_EQ(::pwrite(file, "garbage", 7, off_t(copy_bytes) - last + 100), 7);
    EXPECT_TRUE(scan().slots.empty());
    ::close(file);
    slot.publish();
    EXPECT_EQ(scan().slots.size(), 1u) << "the owner writes on";
}

TEST_F(LeaseStateDir, records_are_validated) {
    const auto valid = [](auto change) {
        Record record = holding(8);
        change(record);
        seal(record);
        const auto* bytes = reinterpret_cast<const unsigned char*>(&record);
        return unseal({bytes, sizeof record}).has_value();
    };
    EXPECT_TRUE(valid([](Record&) {}));
    EXPECT_FALSE(valid([](Record& r) { r.version = Record::this_version - 1; }));
    EXPECT_FALSE(valid([](Record& r) { r.magic ^= 1; }));
    EXPECT_FALSE(valid([](Record& r) { r.state = State(7); }));
    EXPECT_FALSE(valid([](Record& r) { r.gpus = 0; }));
    EXPECT_FALSE(valid([](Record& r) { r.gpus = 33; }));
    EXPECT_FALSE(valid([](Record& r) { r.share_count = 33; }));
    EXPECT_FALSE(valid([](Record& r) { r.share_count = ~0u; }));
    EXPECT_FALSE(valid([](Record& r) { r.need_bytes = ~std::uint64_t(0); }));
    EXPECT_FALSE(valid([](Record& r) { r.shares[0].reserved_bytes = std::uint64_t(1) << 51; }));
    EXPECT_FALSE(valid([](Record& r) { r.shares[0].held_bytes = std::uint64_t(1) << 51; }));
    EXPECT_FALSE(valid([](Record& r) { r.shares[0].more_contexts = 5000; }));
    EXPECT_FALSE(valid([](Record& r) { r.sequence = ~std::uint64_t(0); }));
    EXPECT_FALSE(valid([](Record& r) { r.share_count = 2, r.shares[1] = r.shares[0]; })) << "one GPU twice";
    Record broken = holding(8);
    seal(broken);
    broken.shares[0].reserved_bytes -= 1;
    EXPECT_FALSE(unseal({reinterpret_cast<const unsigned char*>(&broken), sizeof broken}));
    EXPECT_FALSE(unseal({reinterpret_cast<const unsigned char*>(&broken), 10}));
}

TEST_F(LeaseStateDir, uuids_are_compared_by_their_digits) {
    EXPECT_EQ(gpu_id("GPU-11121314-1516-1718-191a-1b1c1d1e1f20"), gpu_id("MIG-11121314-1516-1718-191A-1B1C1D1E1F20"));
    EXPECT_EQ(gpu_id("GPU-11121314-1516-1718-191a-1b1c1d1e1f20")->at(15), 0x20);
    EXPECT_FALSE(gpu_id("GPU-1112"));
    EXPECT_FALSE(gpu_id(""));
    EXPECT_FALSE(gpu_id("GPU-11121314-1516-1718-191a-1b1c1d1e1f2021"));
}

TEST_F(LeaseStateDir, whatever_lies_there_is_survived) {
    const Slot honest = participant(State::holding, 60);
    std::filesystem::create_symlink(folder / own(0), folder / own(1));
    std::filesystem::create_symlink("/dev/zero", folder / own(2));
    std::filesystem::create_symlink("nowhere", folder / own(3));
    ASSERT_EQ(::mkfifo((folder / own(4)).c_str(), 0666), 0);
    std::filesystem::create_directory(folder / own(5));
    folder.write(own(6), "");
    folder.write(own(7), std::string(100000, 'x'));
    folder.write("other", file_of(holding(60)));
    std::filesystem::create_hard_link(folder / "other", folder / own(8));
    const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, (folder / own(9)).c_str(), sizeof address.sun_path - 1);
    ASSERT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    std::ofstream(folder / own(10)).close();
    std::filesystem::resize_file(folder / own(10), std::uintmax_t(1) << 40);
    for (const char* name : {"slot.", "slot.1", "slot.1.", "slot.-1.0", "slot.0x1.0", "slot.01.0", "slot.1.9999",
                             "slot.1.1.1", "slot.99999999999.0", "slot. 1.0"})
        folder.write(name, file_of(holding(60)));
    EXPECT_EQ(scan().slots.size(), 1u);
    EXPECT_EQ(alive(), 1);
    EXPECT_THROW(acquire(40), LeaseTimeout);
    std::vector<Lease> leases;
    for (int k = 0; k < 4; ++k) leases.push_back(acquire(2));
    EXPECT_EQ(alive(), 5);
    EXPECT_EQ(glint::test::read_bytes(folder / own(7)), std::string(100000, 'x')) << "no slot file: not written over";
    EXPECT_EQ(glint::test::read_bytes(folder / "other"), file_of(holding(60))) << "linked from elsewhere";
    ::close(socket);
}

TEST_F(LeaseStateDir, a_file_that_says_it_is_another_users_does_not_count) {
    folder.write("slot.54321.0", file_of(holding(60)));
    const int file = ::open((folder / "slot.54321.0").c_str(), O_RDWR | O_CLOEXEC);
    struct flock lock = liveness_lock(0);
    ASSERT_EQ(::fcntl(file, F_OFD_SETLK, &lock), 0);
    EXPECT_EQ(alive(), 0);
    const bool given = ::geteuid() == 0 && ::fchown(file, 54321, 54321) == 0;
    EXPECT_EQ(alive(), given ? 1 : 0) << "it counts once it is that user's";
    ::close(file);
}

TEST_F(LeaseStateDir, users_share_a_directory) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can be two users";
    ::chmod(folder.path().c_str(), 01777);
    const mode_t mask = ::umask(077);
    const Lease of_root = acquire(30);
    ASSERT_EQ(::seteuid(54321), 0);
    deps.directory = std::make_shared<StateDir>(folder.path());
    EXPECT_THROW(acquire(60), LeaseTimeout) << "sees the other user's lease";
    std::optional<Lease> of_user = acquire(20);
    EXPECT_TRUE(of_user->visible());
    auto creation_lock = lock_context_creation(*deps.directory, probe->observation.gpus[0].id, *clock);
    EXPECT_TRUE(creation_lock);
    ASSERT_EQ(::seteuid(0), 0);
    EXPECT_THROW(acquire(40), LeaseTimeout) << "and is seen";
    clock->at(1, [&] { creation_lock.reset(); });
    EXPECT_TRUE(lock_context_creation(*deps.directory, probe->observation.gpus[0].id, *clock)) << "another user's lock";
    EXPECT_NEAR(clock->seconds(), 1, 0.02);
    const LeaseSnapshot seen = snapshot_in(deps);
    ASSERT_EQ(seen.gpus[0].holders.size(), 2u);
    EXPECT_EQ(seen.gpus[0].holders[1].uid, 54321u);
    ::umask(mask);
}

TEST_F(LeaseStateDir, is_made_for_all_users_whatever_the_umask) {
    const mode_t mask = ::umask(077);
    const StateDir made(folder / "leases");
    ::umask(mask);
    EXPECT_EQ(made.why_not(), "");
    struct stat status {};
    ASSERT_EQ(::stat((folder / "leases").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, mode_t(01777));
}

TEST_F(LeaseStateDir, says_why_it_cannot_be_used) {
    std::filesystem::create_symlink(folder.path(), folder / "link");
    EXPECT_NE(StateDir(folder / "link").why_not(), "");
    EXPECT_NE(StateDir(folder / "a" / "b").why_not().find("GLINT_LEASE_DIR"), std::string::npos);
    std::filesystem::create_directory(folder / "open");
    ::chmod((folder / "open").c_str(), 0777);
    EXPECT_NE(StateDir(folder / "open").why_not().find("chmod +t"), std::string::npos);
    ::chmod((folder / "open").c_str(), 01777);
    EXPECT_EQ(StateDir(folder / "open").why_not(), "");
    EXPECT_FALSE(StateDir(folder / "nothing" / "there").scan().complete);
}

// Reading takes about 0.1 s. More than 262,144 files are not read, but creating so many takes too long for a test.
TEST_F(LeaseStateDir, many_files_of_somebody_do_not_hide_leases) {
    for (int k = 0; k < 17000; ++k)
        ::close(::open((folder / ("x" + std::to_string(k))).c_str(), O_CREAT | O_WRONLY, 0644));
    const Lease lease = acquire(60);
    EXPECT_TRUE(lease.visible());
    EXPECT_TRUE(scan().complete);
    EXPECT_THROW(acquire(40), LeaseTimeout);
}

// Another user has created empty files with all default slot names of this user. The leases are coordinated
// nevertheless.
TEST_F(LeaseStateDir, names_that_another_user_has_taken_are_no_obstacle) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can create files of two users";
    for (std::uint32_t k = 0; k < slots_per_user; ++k)
        ASSERT_EQ(::chown(folder.write(own(int(k)), "").c_str(), 54321, 54321), 0);
    std::optional<Lease> lease = acquire(60);
    ASSERT_TRUE(lease->visible());
    EXPECT_THROW(acquire(40), LeaseTimeout);
    const Lease second = acquire(10);
    EXPECT_TRUE(second.visible());
    EXPECT_EQ(alive(), 2);
    ASSERT_EQ(scan().slots.size(), 2u);
    for (const ScannedSlot& slot : scan().slots) EXPECT_GE(slot.name.number, first_random_number);
    lease.reset();
    const Lease third = acquire(60);
    EXPECT_TRUE(third.visible());
    EXPECT_EQ(scan().slots.size(), 2u) << "files of random names are used again, too";
    std::filesystem::remove(folder / own(7));  // the other user makes way
    const Lease fourth = acquire(5);
    EXPECT_EQ(alive(), 3);
    EXPECT_EQ(scan().slots.front().name.number, 7u);
}

// Any user who can read a file can hold a read lock on it. Such locks on dead slots must not exhaust the slots.
TEST_F(LeaseStateDir, dead_slots_that_others_have_locked_make_way) {
    std::vector<Descriptor> locks;
    for (std::uint32_t k = 0; k < slots_per_user; ++k) {
        folder.write(own(int(k)), file_of(holding(1)) + std::string(k % 2, '\0'));
        std::filesystem::resize_file(folder / own(int(k)), slot_file_bytes);
        locks.emplace_back(::open((folder / own(int(k))).c_str(), O_RDONLY | O_CLOEXEC));
        struct flock lock = liveness_lock(0);
        lock.l_type = F_RDLCK;
        lock.l_start = k % 2, lock.l_len = 0;  // the bytes of owners alone, or all
        ASSERT_EQ(::fcntl(locks.back().get(), F_OFD_SETLK, &lock), 0);
    }
    const Lease a = acquire(60);
    ASSERT_TRUE(a.visible());
    EXPECT_EQ(alive(), 1);
    EXPECT_THROW(acquire(40), LeaseTimeout);
    const Lease b = acquire(10);
    EXPECT_TRUE(b.visible());
    EXPECT_EQ(alive(), 2) << "the slot of a live owner stays";
}

// Both attacks: another user has created all default names of slots, and holds read locks on all slots with random
// names.
TEST_F(LeaseStateDir, dead_slots_of_random_names_that_others_have_locked_make_way) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can create files of two users";
    std::vector<Descriptor> locks;
    for (std::uint32_t k = 0; k < slots_per_user; ++k) {
        ASSERT_EQ(::chown(folder.write(own(int(k)), "").c_str(), 54321, 54321), 0);
        const std::string name = own(int(first_random_number + k));
        folder.write(name, file_of(holding(1)));
        std::filesystem::resize_file(folder / name, slot_file_bytes);
        locks.emplace_back(::open((folder / name).c_str(), O_RDONLY | O_CLOEXEC));
        struct flock lock = liveness_lock(0);
        lock.l_type = F_RDLCK;
        lock.l_start = lock.l_len = 0;
        ASSERT_EQ(::fcntl(locks.back().get(), F_OFD_SETLK, &lock), 0);
    }
    const Lease a = acquire(60);
    ASSERT_TRUE(a.visible());
    EXPECT_THROW(acquire(40), LeaseTimeout);
    EXPECT_EQ(alive(), 1);
}

TEST_F(LeaseStateDir, slots_of_one_user_are_bounded_and_do_not_hide_those_of_others) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can create files of two users";
    const Lease lease = acquire(60);
    for (std::uint32_t k = 0; k < 4500; ++k) {
        const std::string name = SlotName{0x7fff0000, first_random_number + k}.text();
        ASSERT_EQ(::chown(folder.write(name, file_of(holding(60))).c_str(), 0x7fff0000, 0), 0);
    }
    EXPECT_LE(scan().slots.size(), 4097u);
    EXPECT_EQ(alive(), 1);
}

TEST_F(LeaseStateDir, own_folders_have_another_name_if_it_is_taken) {
    std::string why_not;
    const auto open = [&](IfMissing if_missing) {
        why_not.clear();
        return bool(open_own_folder(*deps.directory, "kind", 0700, if_missing, why_not));
    };
    const std::uint32_t uid = std::uint32_t(::geteuid());
    const std::string plain = "kind." + std::to_string(uid);
    EXPECT_FALSE(open(IfMissing::leave));
    EXPECT_TRUE(folder.names().empty());
    EXPECT_TRUE(open(IfMissing::create));
    EXPECT_TRUE(open(IfMissing::leave));
    EXPECT_EQ(deps.directory->folders("kind", uid), std::vector<std::string>{plain});
    ::chmod((folder / plain).c_str(), 0720);
    EXPECT_FALSE(open(IfMissing::create));
    EXPECT_NE(why_not.find("mode 720"), std::string::npos) << why_not;
    if (uid != 0) GTEST_SKIP() << "the rest needs root: a folder of another user";
    ::chmod((folder / plain).c_str(), 0700);
    ASSERT_EQ(::chown((folder / plain).c_str(), 54321, 54321), 0);
    EXPECT_FALSE(open(IfMissing::leave));
    EXPECT_TRUE(open(IfMissing::create));
    const auto found = deps.directory->folders("kind", uid);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_TRUE(found[0].starts_with(plain + '.')) << found[0];
    EXPECT_GE(found[0].size(), plain.size() + 17);
    std::filesystem::remove(folder / plain);
    EXPECT_TRUE(open(IfMissing::create));
    EXPECT_EQ(deps.directory->folders("kind", uid), found) << "still the one that is in use";
    std::filesystem::create_directory_symlink(folder / found[0], folder / plain);
    ASSERT_EQ(::lchown((folder / plain).c_str(), 54321, 54321), 0);
    EXPECT_TRUE(open(IfMissing::create)) << "another user's link is not followed";
    EXPECT_EQ(deps.directory->folders("kind", uid), found);
}

TEST_F(LeaseStateDir, a_user_has_so_many_slots_and_then_goes_alone) {
    for (std::uint32_t k = 0; k < slots_per_user; ++k) folder.write(own(int(k)), "no slot file");
    EXPECT_FALSE(acquire(8).visible());
}

TEST_F(LeaseStateDir, a_watch_sees_ends_and_rings_but_not_signs_of_life) {
    Slot slot = participant(State::waiting, 8);
    std::optional<Slot> other = participant(State::waiting, 8);
    Watch all(folder.path()), one(folder.path());
    if (all.descriptor() < 0) GTEST_SKIP() << "no inotify to be had";
    EXPECT_TRUE(one.watch_only(slot.name().text()));
    EXPECT_FALSE(one.watch_only(slot.name().text()));
    slot.publish();
    scan();
    EXPECT_FALSE(all.clear());
    slot.notify_watchers();
    EXPECT_TRUE(all.clear());
    EXPECT_TRUE(one.clear());
    other.reset();
    EXPECT_TRUE(all.clear());
    EXPECT_FALSE(one.clear());
    const Pipe ready;
    const pid_t child = ::fork();
    if (child == 0) {
        const Slot doomed = participant(State::holding, 60);
        ready.tell();
        for (;;) ::pause();
    }
    ready.hear();
    all.clear();
    end(child);
    EXPECT_TRUE(all.clear()) << "the kernel closed it";
}
