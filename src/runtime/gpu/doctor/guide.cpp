// Determines which parts are missing, and the commands that install them.
// SPDX-License-Identifier: MIT
#include "gpu/doctor/guide.hpp"

#include <algorithm>
#include <initializer_list>
#include <sstream>

#include "gpu/text.hpp"

namespace glint::gpu::doctor {
namespace {

/// Returns the value of KEY=value or KEY="value" in os-release.
std::string release_value(const std::string& os_release, const std::string& key) {
    std::istringstream lines(os_release);
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with(key + '=')) continue;
        std::string value = line.substr(key.size() + 1);
        std::erase_if(value, [](char c) { return c == '"' || c == '\''; });
        return value;
    }
    return "";
}

bool is_word_of(const std::string& words, const std::string& wanted) {
    std::istringstream each(words);
    for (std::string word; each >> word;)
        if (word == wanted || word.starts_with(wanted + '-')) return true;  // opensuse-leap
    return false;
}

/// Returns the distribution, or the known distribution that it derives from (ID_LIKE lists the closest first).
System distribution(const Machine& machine) {
    constexpr struct {
        const char* id;
        System system;
    } known[] = {{"ubuntu", System::ubuntu}, {"debian", System::debian}, {"rhel", System::rhel},
                 {"centos", System::rhel},   {"fedora", System::fedora}, {"sles", System::suse},
                 {"opensuse", System::suse}, {"suse", System::suse},     {"arch", System::arch}};
    for (const char* key : {"ID", "ID_LIKE"})
        for (const auto& one : known)
            if (is_word_of(release_value(machine.os_release, key), one.id)) return one.system;
    return System::any;
}

/// The name of NVIDIA's repository: "ubuntu2404", "rhel9", "opensuse15". Empty for derivatives with their own versions.
std::string repository_name(const Machine& machine, System system) {
    const std::string id = release_value(machine.os_release, "ID");
    std::string version = release_value(machine.os_release, "VERSION_ID");
    const std::string major = version.substr(0, version.find('.'));
    if (version.empty()) return "";
    if (system == System::rhel) return "rhel" + major;  // rebuilds have the same version numbers
    if (system == System::suse) return (is_word_of(id, "opensuse") ? "opensuse" : "sles") + major;
    if (id == "ubuntu") return std::erase(version, '.'), "ubuntu" + version;
    if (id == "debian" || id == "fedora") return id + major;
    return "";
}

void replace(std::string& text, const std::string& what, const std::string& with) {
    for (std::size_t at = 0; (at = text.find(what, at)) != text.npos; at += with.size())
        text.replace(at, what.size(), with);
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

bool has_any(const Machine& machine, std::initializer_list<const char*> files) {
    return std::any_of(files.begin(), files.end(), [&](const char* file) { return machine.has_library(file); });
}

class Guide {
  public:
    explicit Guide(const Machine& machine) : machine_(machine), distribution_(distribution(machine)) {}

    std::vector<Missing> run() {
        if (!machine_.switched_off.empty())
            missing_.push_back({"switch", machine_.switched_off, {"unset GLINT_GPU_ENABLED"}});
        else
            look_at_driver();
        look_at_build();
        if (!has_any(machine_, {"libcublas.so.13", "libcublas.so.12"}))
            add(Part::cublas, "cublas", "products of matrices on the GPU need cuBLAS", distribution_);
        if (!has_any(machine_, {"libcufft.so.12", "libcufft.so.11"}))
            add(Part::cufft, "cufft", "Fourier transforms on the GPU need cuFFT", distribution_);
        if (!has_any(machine_, {"libcusolver.so.12", "libcusolver.so.11"}))
            add(Part::cusolver, "cusolver", "decompositions on the GPU need cuSOLVER", distribution_);
        if (!has_any(machine_, {"libopenblas.so.0", "libopenblasp.so.0", "libopenblas_pthreads.so.0"}))
            add(Part::openblas, "openblas", "products and decompositions of matrices on the CPU need OpenBLAS",
                distribution_);
        if (!has_any(machine_, {"libfftw3f.so.3"}) || !has_any(machine_, {"libfftw3.so.3"}))
            add(Part::fftw, "fftw", "Fourier transforms on the CPU need FFTW (libfftw3f.so.3 and libfftw3.so.3)",
                distribution_);
        return std::move(missing_);
    }

  private:
    /// Returns where to install the driver: a container and WSL2 use the driver of the host.
    System system() const {
        return machine_.container ? System::container : machine_.wsl ? System::wsl : distribution_;
    }

    void look_at_driver() {
        const std::string place = machine_.nvidia_on_bus || machine_.wsl || machine_.why_no_driver.empty()
                                      ? ""
                                      : " (the PCI bus shows no NVIDIA device: only if there is a GPU)";
        if (!machine_.driver_fits) return add(Part::driver, "driver", machine_.why_no_driver + place, system());
        if (!machine_.device_files && !machine_.wsl && !machine_.why_no_driver.empty())
            add(Part::device_files, "device files", "/dev/nvidiactl and /dev/nvidia-uvm do not both exist" + place,
                system());
        else if (!machine_.why_no_driver.empty())
            missing_.push_back({"gpu", machine_.why_no_driver, {"# nothing to install: `glint doctor` shows more"}});
        if (!machine_.why_no_nvml.empty())
            add(Part::nvml, "nvml", "the free memory and the processes of a GPU are not known: " + machine_.why_no_nvml,
                system());
    }

    void look_at_build() {
        if (machine_.kernels) return;
        const std::string why =
            "this glint was built without kernels for GPUs; nvcc is needed to build them, not to run them";
        if (!machine_.nvcc)
            add(Part::nvcc, "nvcc", why, distribution_);
        else
            missing_.push_back({"kernels", why, {}});
        missing_.back().how.push_back("./dev setup gpu && ./dev build");
    }

    void add(Part part, const std::string& name, const std::string& why, System system) {
        Missing& added = missing_.emplace_back(Missing{name, why, {}});
        if (comes_from_nvidia(part, system)) added.how = repository();
        for (std::string& line : lines_of(how_to(part, system))) added.how.push_back(std::move(line));
    }

    /// Whether NVIDIA's repository is needed. Ubuntu packages the driver itself; containers and WSL2 use the driver of
    /// the host.
    static bool comes_from_nvidia(Part part, System system) {
        if (part == Part::driver)
            return system != System::ubuntu && system != System::container && system != System::wsl;
        return part == Part::nvcc || part == Part::cublas || part == Part::cufft || part == Part::cusolver;
    }

    /// The lines that add NVIDIA's repository; printed once for all parts.
    std::vector<std::string> repository() {
        const char* lines = repository_lines(distribution_);
        if (!lines || repository_told_) return {};
        repository_told_ = true;
        const std::string name = repository_name(machine_, distribution_);
        if (name.empty())
            return {
                "# NVIDIA's packages, for the release that this one corresponds to: "
                "https://developer.nvidia.com/cuda-downloads"};
        std::string text = lines;
        replace(text, "{repository}",
                "https://developer.download.nvidia.com/compute/cuda/repos/" + name + '/' +
                    (machine_.processor == "aarch64" ? "sbsa" : machine_.processor));
        replace(text, "{name}", "cuda-" + name);
        return lines_of(text);
    }

    const Machine& machine_;
    const System distribution_;
    bool repository_told_ = false;
    std::vector<Missing> missing_;
};

}  // namespace

std::vector<Missing> missing_parts(const Machine& machine) { return Guide(machine).run(); }

std::string system_name(const Machine& machine) {
    std::string name = release_value(machine.os_release, "PRETTY_NAME");
    if (name.empty()) name = "Linux of an unknown distribution";
    return name + (machine.wsl ? ", in WSL2" : "") + (machine.container ? ", in a container" : "");
}

std::string installation_guide(const Machine& machine) {
    const std::vector<Missing> missing = missing_parts(machine);
    std::string guide = system_name(machine) + '\n';
    if (missing.empty()) return guide + "nothing is missing\n";
    for (const Missing& part : missing) {
        guide += text('\n', part.part, ": ", part.why, '\n');
        for (const std::string& line : part.how) guide += "    " + line + '\n';
    }
    return guide;
}

}  // namespace glint::gpu::doctor
