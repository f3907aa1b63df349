// The missing parts and their commands, on distributions other than this machine's.
// SPDX-License-Identifier: MIT
#include "gpu/doctor/guide.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "gpu/driver.hpp"
#include "tests/temporary_folder.hpp"

namespace glint::gpu::doctor {
namespace {

using glint::test::TemporaryFolder;

constexpr const char *ubuntu =
                         "NAME=\"Ubuntu\"\nID=ubuntu\nID_LIKE=debian\nVERSION_ID=\"24.04\"\n"
                         "PRETTY_NAME=\"Ubuntu 24.04.1 LTS\"\n",
                     *debian = "ID=debian\nVERSION_ID=\"12\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n",
                     *mint = "ID=linuxmint\nID_LIKE=\"ubuntu debian\"\nVERSION_ID=\"22\"\n",
                     *fedora = "ID=fedora\nVERSION_ID=42\n",
                     *rocky = "ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\nVERSION_ID=\"9.4\"\n",
                     *leap = "ID=\"opensuse-leap\"\nID_LIKE=\"suse opensuse\"\nVERSION_ID=\"15.6\"\n",
                     *arch = "ID=arch\n", *manjaro = "ID=manjaro\nID_LIKE=arch\n", *unknown = "ID=plan9\n";

/// A machine with a GPU and nothing installed.
Machine bare(const char* os_release) {
    Machine machine;
    machine.os_release = os_release;
    machine.nvidia_on_bus = true;
    machine.why_no_driver = "no NVIDIA driver";
    machine.why_no_nvml = "no NVML";
    machine.has_library = [](const std::string&) { return false; };
    return machine;
}

Machine complete(const char* os_release) {
    Machine machine;
    machine.os_release = os_release;
    machine.nvidia_on_bus = machine.driver_fits = machine.device_files = true;
    return machine;
}

/// Returns the lines for a part, each with its line end; "(not missing)" for a part that exists.
std::string how(const Machine& machine, const std::string& part) {
    for (const Missing& missing : missing_parts(machine)) {
        if (missing.part != part) continue;
        std::string lines;
        for (const std::string& line : missing.how) lines += line + '\n';
        return lines;
    }
    return "(not missing)";
}

void expect_in(const std::string& part, const std::string& all) {
    EXPECT_NE(all.find(part), std::string::npos) << '"' << part << "\" in: " << all;
}

}  // namespace

TEST(Guide, says_that_nothing_is_missing) {
    EXPECT_EQ(installation_guide(complete(ubuntu)), "Ubuntu 24.04.1 LTS\nnothing is missing\n");
    EXPECT_TRUE(missing_parts(complete(unknown)).empty());
}

TEST(Guide, knows_the_packages_of_each_distribution) {
    const struct {
        const char *os_release, *driver, *fftw, *cublas;
    } cases[] = {
        {ubuntu, "apt install nvidia-driver-580", "apt install libfftw3-single3 libfftw3-double3", "libcublas-13-0"},
        {debian, "apt install nvidia-open", "apt install libfftw3-single3 libfftw3-double3", "libcublas-13-0"},
        {mint, "apt install nvidia-driver-580", "apt install libfftw3-single3 libfftw3-double3", "libcublas-13-0"},
        {fedora, "dnf install nvidia-open", "dnf install fftw-libs-single fftw-libs-double", "dnf install libcublas"},
        {rocky, "dnf module enable nvidia-driver:open-dkms", "dnf install fftw-libs-single", "dnf install libcublas"},
        {leap, "zypper install nvidia-open", "zypper install libfftw3-3", "zypper install libcublas-13-0"},
        {arch, "pacman -S nvidia-open nvidia-utils", "pacman -S fftw", "pacman -S cuda"},
        {manjaro, "pacman -S nvidia-open nvidia-utils", "pacman -S fftw", "pacman -S cuda"},
        {unknown, "https://www.nvidia.com/drivers", "fftw.org", "pip install nvidia-cublas"},
        {"", "https://www.nvidia.com/drivers", "fftw.org", "pip install nvidia-cublas"},
    };
    for (const auto& one : cases) {
        SCOPED_TRACE(one.os_release);
        expect_in(one.driver, how(bare(one.os_release), "driver"));
        expect_in(one.fftw, how(bare(one.os_release), "fftw"));
        expect_in(one.cublas, how(bare(one.os_release), "cublas"));
    }
}

TEST(Guide, names_nvidias_repository_once) {
    const std::string guide = installation_guide(bare(ubuntu));
    const std::string repository = "compute/cuda/repos/ubuntu2404/x86_64/cuda-keyring_1.1-1_all.deb";
    expect_in(repository, guide);
    EXPECT_EQ(guide.find(repository), guide.rfind(repository)) << guide;
    expect_in("repos/debian12/", installation_guide(bare(debian)));
    expect_in("repos/fedora42/x86_64/cuda-fedora42.repo", installation_guide(bare(fedora)));
    expect_in("repos/rhel9/x86_64/cuda-rhel9.repo", installation_guide(bare(rocky)));
    expect_in("repos/opensuse15/x86_64/cuda-opensuse15.repo", installation_guide(bare(leap)));
    EXPECT_EQ(installation_guide(bare(mint)).find("repos/"), std::string::npos) << "its numbers are not Ubuntu's";
    Machine arm = bare(ubuntu);
    arm.processor = "aarch64";
    expect_in("repos/ubuntu2404/sbsa/", installation_guide(arm));
}

TEST(Guide, leaves_the_driver_to_the_host_of_a_container) {
    Machine machine = bare(ubuntu);
    machine.container = true;
    expect_in("--gpus all", how(machine, "driver"));
    EXPECT_EQ(how(machine, "driver").find("apt"), std::string::npos) << how(machine, "driver");
    expect_in("apt install libcublas-13-0", how(machine, "cublas"));
    expect_in("Ubuntu 24.04.1 LTS, in a container\n", installation_guide(machine));
    machine.driver_fits = true, machine.why_no_driver = "";
    expect_in("NVIDIA_DRIVER_CAPABILITIES=compute,utility", how(machine, "nvml"));
    EXPECT_EQ(how(machine, "driver"), "(not missing)");
}

TEST(Guide, leaves_the_driver_of_wsl_to_windows) {
    Machine machine = bare(ubuntu);
    machine.wsl = true, machine.nvidia_on_bus = false;
    expect_in("wsl --update", how(machine, "driver"));
    expect_in("in Windows", how(machine, "driver"));
    EXPECT_EQ(how(machine, "driver").find("apt"), std::string::npos);
    machine.driver_fits = true, machine.why_no_driver = "";
    EXPECT_EQ(how(machine, "device files"), "(not missing)") << "it has others";
}

TEST(Guide, makes_device_files_where_the_driver_is_there_without) {
    Machine machine = complete(debian);
    machine.why_no_driver = "no device", machine.device_files = false;
    expect_in("modprobe nvidia", how(machine, "device files"));
    machine.device_files = true;
    expect_in("`glint doctor` shows more", how(machine, "gpu"));
}

TEST(Guide, says_when_there_seems_to_be_no_gpu_at_all) {
    Machine machine = bare(debian);
    EXPECT_EQ(installation_guide(machine).find("only if there is a GPU"), std::string::npos);
    machine.nvidia_on_bus = false;
    expect_in("only if there is a GPU", installation_guide(machine));
}

TEST(Guide, asks_for_nvcc_only_to_build_kernels) {
    Machine machine = complete(ubuntu);
    machine.nvcc = false;
    EXPECT_EQ(how(machine, "nvcc"), "(not missing)");
    machine.kernels = false;
    expect_in("cuda-nvcc-13-0", how(machine, "nvcc"));
    machine.nvcc = true;
    expect_in("./dev build", how(machine, "kernels"));
}

TEST(Guide, takes_libraries_of_either_cuda) {
    Machine machine = complete(ubuntu);
    machine.has_library = [](const std::string& file) {
        return file == "libcublas.so.12" || file == "libcufft.so.12" || file == "libfftw3.so.3";
    };
    EXPECT_EQ(how(machine, "cublas"), "(not missing)");
    EXPECT_EQ(how(machine, "cufft"), "(not missing)");
    expect_in("libcusolver-13-0", how(machine, "cusolver"));
    expect_in("libfftw3-single3", how(machine, "fftw"));
    expect_in("libopenblas0-pthread", how(machine, "openblas"));
}

TEST(Guide, switches_gpus_on_first) {
    Machine machine = bare(ubuntu);
    machine.switched_off = "GPUs are switched off";
    EXPECT_EQ(how(machine, "switch"), "unset GLINT_GPU_ENABLED\n");
    EXPECT_EQ(how(machine, "driver"), "(not missing)") << "nobody has looked";
}

TEST(Guide, looks_at_the_machine) {
    TemporaryFolder root;
    for (const char* folder : {"etc", "proc", "dev", "sys/bus/pci/devices/0000:01:00.0"})
        std::filesystem::create_directories(root / folder);
    root.write("etc/os-release", ubuntu);
    root.write("proc/version", "Linux version 5.15.153.1-Microsoft-standard-WSL2");
    root.write(".dockerenv", "");
    root.write("dev/nvidiactl", "");
    root.write("sys/bus/pci/devices/0000:01:00.0/vendor", "0x10de\n");
    Machine machine = this_machine(true, root.path().string());
    EXPECT_EQ(system_name(machine), "Ubuntu 24.04.1 LTS, in WSL2, in a container");
    EXPECT_TRUE(machine.nvidia_on_bus);
    EXPECT_FALSE(machine.device_files) << "nvidia-uvm is not there";
    EXPECT_EQ(machine.why_no_driver, driver().why);
    EXPECT_FALSE(machine.has_library("libnobody_has_this.so.1"));
    EXPECT_TRUE(machine.has_library("libc.so.6"));
    root.write("dev/nvidia-uvm", "");
    root.write("proc/version", "Linux version 6.8.0-generic");
    machine = this_machine(true, root.path().string());
    EXPECT_TRUE(machine.device_files);
    EXPECT_FALSE(machine.wsl);
}

}  // namespace glint::gpu::doctor
