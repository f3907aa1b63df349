// Messages between a warm worker and its clients: structs in their memory layout, since both sides have the same build.
//
// A client sends Hello, and the worker answers with Greeting. Then the worker answers
// - each FitJob with a FitReply, in order,
// - or, after a MovieSetup, each MovieJob with a MovieReply,
// - or a request for facts with Facts.
//
// A message of another size, or with a value out of range, ends the connection.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "fit/cuda/batch.hpp"
#include "glint/camera.hpp"
#include "glint/psf.hpp"

namespace glint::warm_worker {

constexpr std::uint64_t magic_number = 0x316b72776c676c67;  // "glglwrk1"; also checks the byte order

/// Text of bounded length; longer text is truncated. Text from another process need not end with a zero.
template <std::size_t most>
struct Text {
    std::array<char, most> bytes{};
    void operator=(std::string_view text) {
        bytes = {};
        text.copy(bytes.data(), most);
    }
    std::string str() const {
        const std::string_view all(bytes.data(), most);
        return std::string(all.substr(0, all.find('\0')));
    }
};

/// Purpose of a connection.
enum class RequestKind : std::uint32_t { fits, movie, facts };

struct Hello {
    std::uint64_t magic = magic_number;
    Text<64> build;  ///< build_identity()
    RequestKind request = RequestKind::fits;
};

struct Greeting {
    std::uint64_t magic = magic_number;
    Text<64> build;
    std::uint32_t pid = 0;
    Text<64> uuid;    ///< of the GPU; empty if the worker has none
    Text<512> why;    ///< reason for having no GPU
    Text<128> name;   ///< of the GPU
    Text<64> driver;  ///< the driver's version
};

constexpr std::size_t max_psf_text = 1024;

/// A Psf without its table, and the FitSettings for fits of one molecule.
struct FitSetup {
    Text<max_psf_text> psf;  ///< to_text(psf)
    std::uint32_t has_table = 0;
    double pixel_size_nm = 0;
    int max_iterations = 0;  // this and the following as in FitSettings
    float tolerance = 0, position_margin_px = 0, min_width_px = 0, max_width_px = 0;
};

/// A CameraView without its maps.
struct CameraSetup {
    int width = 0, height = 0;  ///< px
    float excess_noise = 1;
    CameraView::Pixel pixel{0, 1, 0, 1};  ///< as in CameraView's constructor from parts
    std::uint32_t has_maps = 0;
};

/// The columns of RoiView that a job has, as bits. A bool from another process might have an invalid value.
enum Columns : std::uint32_t { has_variance = 1, has_qe = 2, has_additive = 4, has_camera = 8, has_corners = 16 };

/// Rows to fit, in shared memory. The data of layout_of() begin at `at`, the results at results_at(). A message with a
/// descriptor replaces the memory of earlier jobs. That memory begins with the LargeParts (camera_setup.hpp) of all
/// jobs in it.
struct FitJob {
    std::int64_t rows = 0;
    std::uint64_t at = 0;
    int size = 0;  ///< edge of the ROIs, px
    PixelType type = PixelType::float32;
    std::uint32_t columns = 0;
    int known_starts = 0;
    FitSetup setup;
    CameraSetup camera;  ///< used with has_camera; otherwise the next fields are:
    float variance_scalar = 0, qe_scalar = 1, excess_noise = 1;  // as in RoiView
};

/// Start and end of the results of a job with this layout, relative to FitJob::at.
inline std::uint64_t results_at(const BatchLayout& layout) { return layout.up; }
inline std::uint64_t end_of(const BatchLayout& layout) { return layout.up + layout.down; }

enum class Outcome : std::uint32_t {
    fitted,
    refused,    ///< an option is wrong
    too_large,  ///< no room for the results of a MovieJob: request fewer frames
    not_there,  ///< the file has no such frames, or reading them would wait: send them in memory
    failed      ///< of the GPU: the worker ends
};

struct FitReply {
    Outcome outcome = Outcome::failed;
    Text<1024> what;                                                         ///< the reason, if not fitted
    std::int64_t batches = 0, batch_size = 0, bytes_up = 0, bytes_down = 0;  // this and the following as in FitInfo
    double transfer_s = 0, kernel_s = 0;
};

/// Settings that all jobs of a movie share. Comes with a descriptor of their memory, which begins with the LargeParts,
/// as for a FitJob.
struct MovieSetup {
    FitSetup fit;
    CameraSetup camera;
    PixelType type = PixelType::uint16;
    int roi_size = 0;
    double threshold = 0;
    std::uint32_t joint = 0;  ///< any_emitters; the following fields are for joint fits
    double psf_misfit = 0, min_width_nm = 0, max_width_nm = 0;
    std::array<float, 25> satellites{};  ///< as in LoneSpots
    double pair_excess = 0;              ///< as in LoneSpots
    double pixel_size_nm = 0;
    int neighbor_rounds = 0;
    std::uint32_t keep_failed = 0, keep_defective = 0;
    double saturation_adu = 0;
};

enum class FramesFrom : std::uint32_t {
    memory,  ///< the memory contains the frames
    /// the memory contains their offsets in a file, as 64-bit numbers; a message with a descriptor changes the file
    file
};

/// A block of frames to localize, through shared memory. A client may have one job at a time per `place`.
struct MovieJob {
    FramesFrom from = FramesFrom::memory;
    std::uint32_t count = 0;             ///< number of frames
    std::uint64_t at = 0;                ///< start of the frames, or of their offsets
    std::int64_t first_frame = 0;        ///< its number in the movie
    std::uint64_t place = 0, bytes = 0;  ///< position and size of the room for results
};

struct MovieReply {
    std::uint64_t place = 0;  ///< MovieJob::place
    std::int64_t fits = 0;
    FitReply done;
};

struct ClientFacts {
    std::uint32_t pid = 0;
    std::int64_t fits = 0;  ///< of this client so far
};

struct Facts {
    static constexpr std::size_t most = 64;
    double idle_s = 0;        ///< time since the last job ended
    std::int64_t fits = 0;    ///< of all clients so far
    std::uint32_t count = 0;  ///< number of clients; the first `most` are listed
    std::array<ClientFacts, most> clients{};
};

template <class Message>
constexpr bool is_message = std::is_trivially_copyable_v<Message>;

}  // namespace glint::warm_worker
