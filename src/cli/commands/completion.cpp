// `glint completion`: scripts for the completion of glint's command lines in shells, and manual pages.
// SPDX-License-Identifier: MIT
#include "cli/command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <memory>

#include "cli/completion/command_tree.hpp"
#include "cli/print.hpp"
#include "glint/error.hpp"
#include "glint/version.hpp"
#include "io/files/atomic_file.hpp"

namespace glint::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* completion_footer = R"(
Examples:
  source <(glint completion bash)
  glint completion --install ~/.local/share
  glint completion zsh > ~/.zfunc/_glint

Prints a script for one shell. With --install, writes the scripts of all shells and the manual pages
below a folder named share, where the shells and man search for them: /usr/local/share for all
users, ~/.local/share for one. There, bash needs the package bash-completion, and zsh needs
FOLDER/zsh/site-functions in its fpath. `cmake --install` does the same.)";

struct CompletionFlags {
    std::string shell, folder;
};

CommandFacts facts_of(CLI::App& program) { return read_commands(program, {"lease"}); }

std::string script_for(const std::string& shell, const CommandFacts& program) {
    return shell == "bash"  ? bash_completion(program)
           : shell == "zsh" ? zsh_completion(program)
                            : fish_completion(program);
}

void write_file(const fs::path& path, const std::string& text) {
    std::error_code failed;
    fs::create_directories(path.parent_path(), failed);
    if (failed)
        throw OutputError(
            fmt::format("cannot create the folder {}: {}", path.parent_path().string(), failed.message()));
    AtomicFile file(path);
    file.write(text);
    file.commit();
}

void install(const fs::path& share, const CommandFacts& program) {
    write_file(share / "bash-completion/completions/glint", script_for("bash", program));
    write_file(share / "zsh/site-functions/_glint", script_for("zsh", program));
    write_file(share / "fish/vendor_completions.d/glint.fish", script_for("fish", program));
    for (const CommandFacts* command : all_commands(program))
        write_file(share / "man/man1" / (page_name(*command, program) + ".1"),
                   manual_page(*command, program, version()));
}

int run(const CompletionFlags& flags, CLI::App& program) {
    if (flags.shell.empty() == flags.folder.empty())
        throw OptionError("give a shell (bash, zsh or fish), or --install FOLDER for all shells and the manual pages");
    if (flags.shell.empty())
        install(flags.folder, facts_of(program));
    else
        put("{}", script_for(flags.shell, facts_of(program)));
    return exit_ok;
}

}  // namespace

int print_manual_page(CLI::App& program, const std::vector<std::string>& words) {
    const CommandFacts facts = facts_of(program);
    const std::string path = fmt::format("{}", fmt::join(words, " "));
    for (const CommandFacts* command : all_commands(facts))
        if (command->path == path) {
            put("{}", manual_page(*command, facts, version()));
            return exit_ok;
        }
    throw OptionError(fmt::format("there is no command {}: `glint --help` lists them", path));
}

Command add_completion(CLI::App& program) {
    const auto flags = std::make_shared<CompletionFlags>();
    CLI::App* app = program.add_subcommand("completion", "Prints shell completions, and installs manual pages");
    app->add_option("shell", flags->shell, "Shell for which to print the script")
        ->check(CLI::IsMember({"bash", "zsh", "fish"}));
    offer_folders(app->add_option("--install", flags->folder,
                                  "Write the scripts of all shells and the manual pages below this folder"));
    app->footer(completion_footer);
    return {app, [flags, &program] { return run(*flags, program); }};
}

}  // namespace glint::cli
