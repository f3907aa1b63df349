// How the processes under one lease divide it: like broker.cpp, without a lock and without a scheduler.
//
// A process claims a part in its own slot before it reads the directory again (write, then read). So if two processes
// claim room that suffices for only one of them, at least one sees the other's claim, and the later process withdraws.
// A part ends with its slot: when its process releases it, ends or is killed. There is no queue: these processes belong
// to one program.
// SPDX-License-Identifier: MIT
#include "gpu/lease/inherited_lease.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "gpu/lease/observer_history.hpp"
#include "gpu/lease/queue.hpp"
#include "gpu/process.hpp"
#include "gpu/text.hpp"

namespace glint::gpu::lease {
namespace {

constexpr double poll_s = 0.25;  // for the stop flag, and if there is no inotify

bool comes_before(const Record& a, const SlotName& name_of_a, const Record& b, const SlotName& name_of_b) {
    return a.arrived_ns != b.arrived_ns ? a.arrived_ns < b.arrived_ns : name_of_a < name_of_b;
}

class PartRequest {
  public:
    PartRequest(const Dependencies& deps, const LeaseRequest& request, const ScannedSlot& lease,
                const std::vector<PartGpu>& gpus)
        : deps_(deps),
          request_(request),
          lease_(lease),
          gpus_(gpus),
          bytes_(std::min(request.bytes, lease.record.need_bytes)),
          started_ns_(deps.clock->now_ns()) {}

    LeasePart run() {
        if (!enqueue()) return {best(deps_.directory->scan(), false), std::nullopt, 0};
        for (;;) {
            if (request_.stop && request_.stop->load()) {
                slot_->release();
                throw Cancelled("stopped while waiting for a part of the lease that this process runs under");
            }
            if (watch_) watch_->clear();
            if (try_claim()) return {best_, std::move(slot_), elapsed()};
            if (elapsed() >= request_.timeout_s) throw_timeout();
            wait();
        }
    }

  private:
    double elapsed() const { return double(deps_.clock->now_ns() - started_ns_) / 1e9; }

    bool publish(State state) {
        slot_->record.state = state;
        slot_->record.since_ns = slot_->record.beat_ns = deps_.clock->now_ns();
        return slot_->publish();
    }

    bool enqueue() {
        std::string why_not;
        slot_ = Slot::take(*deps_.directory, why_not);
        if (slot_) {
            Record& record = slot_->record;
            record.gpus = std::uint32_t(request_.gpus);
            record.need_bytes = bytes_;
            record.arrived_ns = started_ns_;
            record.lease_uid = lease_.name.uid, record.lease_number = lease_.name.number;
            record.lease_occupancy = lease_.record.occupancy;
            if (publish(State::part_waiting)) return true;
            slot_.reset();
            why_not = text("nothing can be written in ", deps_.directory->path(), " (is it full?)");
        }
        if (request_.log)
            request_.log(text(why_not, "; other programs under the same lease do not see the part of this one"));
        return false;
    }

    /// Returns the bytes of the lease on a GPU that remain for this request.
    std::uint64_t left(const PartGpu& gpu, const StateDir::Scan& scan) const {
        std::uint64_t taken = 0;
        std::set<std::pair<std::uint32_t, std::uint32_t>> processes{{pid_namespace(), std::uint32_t(::getpid())}};
        for (const ScannedSlot& other : scan.slots) {
            if (!counts(other)) continue;
            for (const Share& share : other.record.used_shares())
                if (share.gpu == gpu.gpu.id) {
                    taken += std::min(other.record.need_bytes, lease_.record.need_bytes);
                    processes.emplace(other.record.pid_namespace, other.record.pid);
                }
        }
        taken += (processes.size() - 1) * gpu.context_bytes;
        return lease_.record.need_bytes - std::min(lease_.record.need_bytes, taken);
    }

    /// Returns true if the other part counts: it is held, or is a claim that arrived earlier. An old claim does not
    /// count: it belongs to a stopped process, which checks again before it relies on the claim.
    bool counts(const ScannedSlot& other) const {
        const Record& record = other.record;
        if (!other.alive || (slot_ && other.name == slot_->name()) ||
            !is_part_of(record, lease_.name, lease_.record.occupancy))
            return false;
        if (record.state == State::part_holding) return true;
        const std::uint64_t now_ns = deps_.clock->now_ns();
        const bool fresh = double(now_ns - std::min(now_ns, record.since_ns)) / 1e9 <= claim_timeout_s;
        return record.state == State::part_claiming && fresh && slot_ &&
               comes_before(record, other.name, slot_->record, slot_->name());
    }

    /// Returns the requested number of GPUs with the most room. Empty if `with_room` is set and too few GPUs have
    /// enough room.
    std::vector<PartGpu> best(const StateDir::Scan& scan, bool with_room) const {
        std::vector<std::pair<std::uint64_t, const PartGpu*>> rooms;
        for (const PartGpu& gpu : gpus_) {
            const std::uint64_t room = left(gpu, scan);
            if (!with_room || room >= bytes_) rooms.emplace_back(room, &gpu);
        }
        std::stable_sort(rooms.begin(), rooms.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
        std::vector<PartGpu> chosen;
        if (int(rooms.size()) < request_.gpus) return chosen;
        for (int k = 0; k < request_.gpus; ++k) chosen.push_back(*rooms[std::size_t(k)].second);
        return chosen;
    }

    bool still_fits(const std::vector<PartGpu>& gpus) const {
        const StateDir::Scan scan = deps_.directory->scan();
        return scan.complete &&
               std::ranges::all_of(gpus, [&](const PartGpu& gpu) { return left(gpu, scan) >= bytes_; });
    }

    bool try_claim() {
        scan_ = deps_.directory->scan();
        best_ = best(scan_, true);
        if (!scan_.complete || best_.empty()) return false;
        Record& record = slot_->record;
        record.share_count = 0;
        for (const PartGpu& gpu : best_)
            record.shares[record.share_count++] = {gpu.gpu.id, bytes_ + gpu.context_bytes, 0};
        const bool claimed = publish(State::part_claiming);
        const std::uint64_t claimed_ns = record.since_ns;
        deps_.test_point("part claimed");
        const auto late = [&] { return double(deps_.clock->now_ns() - claimed_ns) / 1e9 > claim_timeout_s / 2; };
        if (claimed && still_fits(best_) && publish(State::part_holding) && (!late() || still_fits(best_))) return true;
        record.share_count = 0;
        publish(State::part_waiting);
        slot_->notify_watchers();  // the claim may have blocked another process's claim
        return false;
    }

    void wait() {
        if (!watch_) {
            waiting_file_.show(*slot_);  // idle sessions of the same program then release their memory
            watch_.emplace(deps_.directory->path());
            return;
        }
        const double left_s = request_.timeout_s - elapsed();
        deps_.clock->wait(watch_->descriptor(), std::clamp(left_s, 0.0, poll_s));
        if (double(deps_.clock->now_ns() - slot_->record.beat_ns) / 1e9 >= heartbeat_interval_s) {
            publish(State::part_waiting);
            waiting_file_.show(*slot_);
        }
        if (!request_.on_wait) return;
        std::uint64_t max_left = 0;
        for (const PartGpu& gpu : gpus_) max_left = std::max(max_left, left(gpu, scan_));
        request_.on_wait(elapsed(), max_left, bytes_);
    }

    [[noreturn]] void throw_timeout() {
        std::uint64_t max_left = 0;
        for (const PartGpu& gpu : gpus_) max_left = std::max(max_left, left(gpu, scan_));
        std::string holders;
        for (const ScannedSlot& other : scan_.slots)
            if (counts(other))
                holders += text(holders.empty() ? "" : ", ", "process ", other.record.pid, " (",
                                bytes_text(other.record.need_bytes), ")");
        slot_->release();
        throw LeaseTimeout(text("the lease that this process runs under has ", bytes_text(lease_.record.need_bytes),
                                " on each GPU, of which ", bytes_text(max_left), " are left and ", bytes_text(bytes_),
                                " are needed (a process after the first costs a context too); parts of it have ",
                                holders, ": request less (`gpu_memory`), or a larger lease with `lease_memory`"),
                           bytes_, max_left);
    }

    const Dependencies& deps_;
    const LeaseRequest& request_;
    const ScannedSlot& lease_;
    const std::vector<PartGpu>& gpus_;
    const std::uint64_t bytes_;
    const std::uint64_t started_ns_;
    std::optional<Slot> slot_;
    std::optional<Watch> watch_;
    WaitingFile waiting_file_{*deps_.directory};
    StateDir::Scan scan_;
    std::vector<PartGpu> best_;
};

}  // namespace

bool is_part_of(const Record& record, const SlotName& slot, std::uint32_t occupancy) {
    const bool part = record.state == State::part_waiting || record.state == State::part_claiming ||
                      record.state == State::part_holding;
    return part && record.lease_uid == slot.uid && record.lease_number == slot.number &&
           record.lease_occupancy == occupancy;
}

LeasePart admit_part(const Dependencies& deps, const LeaseRequest& request, const ScannedSlot& lease,
                     const std::vector<PartGpu>& gpus) {
    return PartRequest(deps, request, lease, gpus).run();
}

}  // namespace glint::gpu::lease
