// The groups of one frame: which windows share pixels, the pixels of each group, and large groups divided into blocks.
//
// A group with more windows than a block can hold is bisected until its blocks are small enough.
// - Each block is fitted with all other molecules as a known signal.
// - Blocks beside other blocks are fitted up to twice more, because all molecules are known only then.
// - If the known light comes from many molecules or from the same group, the blocks are first fitted without a search.
//   A fit of a lone window contains the light of several molecules, and a search beside it would compensate for that.
// - Blocks that share no pixels may have the same turn, and are then fitted simultaneously.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "fit/joint/windows.hpp"
#include "glint/fits.hpp"
#include "glint/rois.hpp"
#include "psf/in_double.hpp"

namespace glint {

/// Data that all frames share. Does not own it.
struct GroupInput {
    const Rois& rois;  // the windows of the fits
    const Rois& wide;  // larger windows of the same spots
    const PsfInDouble& psf;
    JointFitter& fitter;  // the calling thread's fitter
    int shapes;           // parameters beyond the first four
    const Fits& fits;     // row k belongs to window k
};

class FrameGroups {
  public:
    /// For windows [begin, end), all of one frame.
    FrameGroups(const GroupInput& input, std::size_t begin, std::size_t end);

    /// Blocks are fitted in passes, and each pass in turns.
    static constexpr int passes = 4;
    int turns() const { return turns_; }
    /// Fits the blocks of a turn, with the light of other blocks as known so far. Calls look() before each fit.
    void find(int pass, int turn, const std::function<void()>& look);
    /// Instead of fitting, appends the blocks of a turn to `cuts`, which the caller fits before settle().
    void collect(int pass, int turn, std::vector<JointCut>& cuts);
    /// Call it after find(), or after fitting all cuts of collect().
    void settle(int pass);
    /// After the last pass: appends the rows of all windows to `out`, and the size of each row's group to `group_sizes`
    /// (0 if the fit is unchanged).
    void write(Fits& out, std::vector<std::uint32_t>& group_sizes);

  private:
    using Windows = std::span<std::size_t>;  // elements of windows_
    /// The fit of a block.
    struct Work {
        std::size_t group = 0;
        int turn = 0;
        bool is_part = false;  // of a group that was divided
        bool again = false;    // it receives light of other fitted blocks
        bool is_late = false;  // it is searched only after all blocks were fitted
        Rectangle rectangle;
        JointPixels pixels;  // pixels as fitted here, from the first turn on
        // light of other blocks in the last turn, and in the one before; used if a GPU cuts
        std::vector<JointLight> light;
        std::vector<JointLight> earlier;
        JointFit fit;
    };
    /// A block of a group, or a lone molecule.
    struct GroupBlock {
        Windows windows;
        std::unique_ptr<Work> work;                       // null: its fits stay unchanged
        double left = 0, right = 0, top = 0, bottom = 0;  // the box that its molecules' light reaches
        std::uint32_t seen = 0;                           // the last blocks_near() call that found it
    };
    /// A molecule of a block's fit; of an unchanged window, its own fit.
    struct Row {
        std::size_t window, number;  // number: in the fit
        const Work* work;
    };

    bool is_alone(Windows group) const;
    bool is_explained(Windows group) const;
    bool has_bad_pixels(Windows group) const;
    void start(Windows windows, JointFit& fit) const;
    const std::vector<Emitter>& molecules_of(const GroupBlock& block);
    void take_turns();
    void leave_to_others(std::size_t b, int pass);
    bool is_anothers(std::size_t b, const Emitter& emitter, int pass);
    bool is_within(const GroupBlock& block, double x, double y) const;
    void measure(GroupBlock& block);
    void clear_cells();
    template <class Act>
    void for_cells(double left, double right, double top, double bottom, const Act& act);
    void note_light(std::size_t b);
    const std::vector<std::uint32_t>& blocks_near(double left, double right, double top, double bottom);
    std::vector<JointLight> light_of_others(std::size_t b);
    static bool has_turn(const Work& work, int pass);
    static bool searches(const Work& work, int pass);
    void cut(std::size_t b);
    bool cut_again(std::size_t b);
    template <class Act>
    void for_turn(int pass, int turn, const Act& act);
    std::size_t window_index(const Emitter& emitter, Windows windows) const;
    void write(const Row& row, Fits& out, std::vector<std::uint32_t>& group_sizes) const;

    const GroupInput& input_;
    std::vector<std::size_t> windows_;
    int turns_ = 0;
    std::vector<GroupBlock> blocks_;
    std::vector<std::uint32_t> molecules_;  // number of molecules, by group
    std::vector<std::size_t> at_work_;      // blocks between collect() and settle()
    static constexpr int cell_px = 32;
    static constexpr std::uint32_t none = UINT32_MAX;
    int columns_ = 1, rows_ = 1;
    struct Lit {
        std::uint32_t block, next;  // index into lit_
    };
    std::vector<Lit> lit_;              // the blocks whose light reaches into each cell
    std::vector<std::uint32_t> cells_;  // the first entry of each cell in lit_, or none
    std::vector<std::uint32_t> near_;
    std::uint32_t look_ = 0;           // number of the current blocks_near() call
    std::vector<float> known_before_;  // of the current block
    JointFit stays_;                   // result of molecules_of()
};

}  // namespace glint
