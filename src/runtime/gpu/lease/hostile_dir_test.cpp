// A state directory with content that an attacker, or a broken disk, may create: no crash, no hang, and no grant of
// memory that an honest holder has. GLINT_LEASE_FUZZ sets the number of states tried, GLINT_LEASE_SEED the first of
// them.
// SPDX-License-Identifier: MIT
#include <sys/stat.h>

#include <cstdlib>
#include <cstring>
#include <random>

#include "tests/lease_fixture.hpp"
#include "tests/thorough.hpp"

using namespace glint::gpu;
using namespace glint::gpu::lease;
using namespace glint::gpu::lease::test;

namespace {

long number(const char* variable, long otherwise) {
    const char* value = std::getenv(variable);
    return value && *value ? std::atol(value) : otherwise;
}

struct HostileLeaseDir : LeaseTest {
    static constexpr int files = 6;
    std::mt19937_64 random;
    bool well_formed[files] = {}, alive[files] = {};
    std::optional<Descriptor> locks[files];

    std::uint64_t below(std::uint64_t n) { return random() % n; }

    /// Some names are this user's, some another's; the honest holder has number 0.
    std::string name(int k) const {
        return SlotName{std::uint32_t(::geteuid()) + (k % 3 == 2), std::uint32_t(1 + k)}.text();
    }

    std::uint64_t amount() {
        switch (below(5)) {
            case 0: return 0;
            case 1: return below(100) * gib;
            case 2: return std::uint64_t(1) << below(64);
            case 3: return ~std::uint64_t(0) - below(3);
            default: return random();
        }
    }

    Record any_record() {
        Record r;
        unsigned char noise[sizeof r];
        for (unsigned char& byte : noise) byte = static_cast<unsigned char>(random());
        if (below(2))
            std::memcpy(&r, noise, sizeof r), r.magic = Record::magic_number, r.version = Record::this_version;
        r.state = State(below(9));
        r.sequence = amount();
        r.occupancy = std::uint32_t(amount());
        r.gpus = std::uint32_t(below(4));
        r.share_count = std::uint32_t(below(5));
        r.need_bytes = amount();
        r.arrived_ns = below(2) ? clock->now_ns() - below(1000) : amount();
        r.since_ns = below(2) ? clock->now_ns() : amount();
        r.beat_ns = below(2) ? clock->now_ns() : amount();
        for (Share& share : r.shares) {
            share = {GpuId{}, amount(), amount(), std::uint32_t(below(2) ? below(10) : amount())};
            share.gpu[0] = static_cast<unsigned char>(below(4));
            share.gpu[1] = static_cast<unsigned char>(below(3));
        }
        for (Admission& a : r.admissions) a = {amount(), amount()};
        return r;
    }

    std::string content(int k) {
        std::string bytes(slot_file_bytes, '\0');
        switch (below(4)) {
            case 0:
                for (char& byte : bytes) byte = char(random());
                break;
            case 1: break;
            default:
                for (const std::size_t at : {std::size_t(0), copy_bytes}) {
                    Record r = any_record();
                    seal(r);
                    std::memcpy(bytes.data() + at, &r, sizeof r);
                }
                well_formed[k] = true;
                for (std::uint64_t n = below(3); n > 0; --n) bytes[below(bytes.size())] ^= char(1 << below(8));
        }
        constexpr std::size_t lengths[] = {
            0, 1, 100, 2000, 2048, 4095, slot_file_bytes, slot_file_bytes, slot_file_bytes};
        bytes.resize(below(20) ? lengths[below(std::size(lengths))] : 1 << 18);
        return bytes;
    }

    void change(int k) {
        const std::filesystem::path path = folder / name(k);
        locks[k].reset();
        std::filesystem::remove_all(path);
        well_formed[k] = alive[k] = false;
        switch (below(16)) {
            case 0: std::filesystem::create_symlink(folder / name(int(below(files))), path); return;
            case 1: std::filesystem::create_symlink(below(2) ? "/dev/zero" : "/dev/null", path); return;
            case 2: ::mkfifo(path.c_str(), 0666); return;
            case 3: std::filesystem::create_directory(path); return;
            case 4: std::filesystem::create_hard_link(folder / "bystander", path); return;
            case 5: return;
            default: break;
        }
        Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
        const std::string bytes = content(k);
        ASSERT_EQ(::pwrite(file.get(), bytes.data(), bytes.size(), 0), ssize_t(bytes.size()));
        const uid_t owner = k % 3 == 2 && below(2) ? 1 : 0;
        ASSERT_TRUE(::geteuid() != 0 || ::fchown(file.get(), owner, 0) == 0);
        if (below(2) == 0) return;
        struct flock all {};
        all.l_type = short(below(2) ? F_WRLCK : F_RDLCK);
        all.l_whence = SEEK_SET;
        ::fcntl(file.get(), F_OFD_SETLK, &all);
        alive[k] = true;
        locks[k] = std::move(file);
    }
};

}  // namespace

TEST_F(HostileLeaseDir, grants_nothing_that_an_honest_holder_has) {
    const long states = number("GLINT_LEASE_FUZZ", glint::test::sample(20000)), seed = number("GLINT_LEASE_SEED", 1);
    const std::string mine = folder.write("bystander", std::string(slot_file_bytes, 'b'));
    const Lease honest = acquire(60);
    long granted = 0, trusted = 0;
    for (long state = 0; state < states; ++state) {
        random.seed(std::uint64_t(seed + state));
        for (std::uint64_t n = 1 + below(3); n > 0; --n) change(int(below(files)));
        ASSERT_THROW(acquire(20), LeaseTimeout) << "seed " << seed + state;
        bool harmless = true;
        for (int k = 0; k < files; ++k) harmless &= !well_formed[k];
        try {
            const Lease lease = acquire(10);
            ASSERT_TRUE(lease.visible()) << "seed " << seed + state;
            ++granted;
        } catch (const LeaseTimeout&) {
            ASSERT_FALSE(harmless) << "seed " << seed + state << ": what is malformed is ignored";
        }
        trusted += harmless;
        ASSERT_GE(snapshot_in(deps).gpus.at(0).holders.size(), 1u);
    }
    EXPECT_EQ(glint::test::read_bytes(mine), std::string(slot_file_bytes, 'b'));
    EXPECT_GT(granted, states / 4);
    EXPECT_GT(trusted, states / 1000);
}
