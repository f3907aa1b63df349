// The command line: lists the subcommands, runs the one that was named, and turns errors into exit codes.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "base/start_threads.hpp"
#include "bench/bench.hpp"
#include "cli/command.hpp"
#include "cli/parsing/parse_errors.hpp"
#include "cli/print.hpp"
#include "cli/process.hpp"
#include "cli/report.hpp"
#include "glint/environment.hpp"
#include "glint/version.hpp"

namespace glint::cli {
namespace {

struct Listed {
    Command (*add)(CLI::App&);
    const char* group;
};

constexpr const char* from_movies = "Movies to localizations";
constexpr const char* of_results = "Localizations and pictures";
constexpr const char* of_gpus = "GPUs";
constexpr const char* others = "Other";
constexpr const char* hidden = "";

/// Every subcommand, in the order of `glint --help`; the last one is for glint itself.
constexpr Listed listed[] = {
    {add_run, from_movies},       {add_localize, from_movies}, {add_inspect, from_movies},   {add_fit, from_movies},
    {add_calibrate, from_movies}, {add_simulate, from_movies}, {add_drift, of_results},      {add_render, of_results},
    {add_filter, of_results},     {add_link, of_results},      {add_resolution, of_results}, {add_cluster, of_results},
    {add_report, of_results},     {add_score, of_results},     {add_convert, of_results},    {add_devices, of_gpus},
    {add_lease, of_gpus},         {add_submit, of_gpus},       {add_jobs, of_gpus},          {add_top, of_gpus},
    {add_doctor, of_gpus},        {add_formats, others},       {add_bench, others},          {add_completion, others},
    {add_gpu_worker, hidden}};

constexpr int name_width = 14;  // of a command in the list, so that each has one line

constexpr const char* help_footer = R"(Results go to stdout; notices, warnings and progress to stderr.
Exit codes: 0 done; 1 internal error; 2 wrong options; 3 bad input; 4 output could not be written;
            5 no GPU could be used, or none had room in time, or it failed; 6 glint doctor found a problem;
            7 not enough memory;
            130 interrupted (Ctrl-C, SIGTERM, or the terminal was closed), what was finished is kept.
`glint COMMAND --help`, or `glint help COMMAND`, explains a command and its flags, with examples;
`glint help --man COMMAND | man -l -` shows the same as a manual page.)";

/// Names a flag without the value that it has where it stands alone: --colors, not --colors{auto}.
class HelpFormatter : public CLI::Formatter {
  public:
    std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
        const std::string name = CLI::Formatter::make_option_name(option, is_positional);
        return name.substr(0, name.find('{'));
    }
};

/// `glint help COMMAND ...` is `glint COMMAND ... --help`; `words` begins with the program's name.
void take_help_as_flag(std::vector<char*>& words) {
    static char flag[] = "--help";
    if (words.size() < 2 || std::strcmp(words[1], "help") != 0) return;
    words.erase(words.begin() + 1);
    words.push_back(flag);
}

/// Whether the first word should be a command and is none.
bool is_no_command(const CLI::App& program, const char* word) {
    const auto commands = program.get_subcommands([](const CLI::App*) { return true; });
    return word[0] != '-' && std::none_of(commands.begin(), commands.end(),
                                          [&](const CLI::App* command) { return command->get_name() == word; });
}

/// Returns the start of another program's command line: after `--`, or at the first word that is neither a flag nor a
/// flag's value.
char** program_in(const CLI::App& command, char** begin, char** end) {
    for (char** word = begin; word != end; ++word) {
        const std::string_view text = *word;
        if (text == "--") return word;
        if (!text.starts_with('-')) return word;
        const CLI::Option* flag = command.get_option_no_throw(std::string(text));
        if (flag && flag->get_items_expected_max() > 0 && word + 1 != end) ++word;
    }
    return end;
}

/// Takes another program's command line away from ours; how many words are left.
int split_at_dashes(const std::vector<Command>& commands, int argc, char** argv) {
    for (const Command& command : commands) {
        if (!command.program || argc < 2 || command.app->get_name() != argv[1]) continue;
        char** end = argv + argc;
        char** dashes = std::find_if(argv, end, [](const char* word) { return std::strcmp(word, "--") == 0; });
        char** first = program_in(*command.app, argv + 2, end);
        if (dashes != end) first = std::min(first, dashes);
        if (first == end) continue;
        command.program->assign(first + (std::strcmp(*first, "--") == 0), end);
        return int(first - argv);
    }
    return argc;
}

int parse_and_run(CLI::App& program, int argc, char** argv) {
    std::vector<Command> commands;
    program.formatter(std::make_shared<HelpFormatter>());
    for (const auto& [add, group] : listed) {
        commands.push_back(add(program));
        commands.back().app->group(group);
    }
    program.formatter(std::make_shared<HelpFormatter>());  // its own: the commands' lists of flags are wider
    program.get_formatter()->column_width(name_width);
    std::vector<char*> words(argv, argv + argc);
    if (argc > 2 && std::strcmp(argv[1], "help") == 0 && std::strcmp(argv[2], "--man") == 0)
        return print_manual_page(program, {argv + 3, argv + argc});
    take_help_as_flag(words);
    argc = split_at_dashes(commands, int(words.size()), words.data()), argv = words.data();
    if (argc > 1 && is_no_command(program, argv[1]))
        return report(explain_no_command(argv[1], program).c_str(), "options", exit_options, wants_json(argc, argv));
    try {
        program.parse(argc, argv);
    } catch (const CLI::Success& success) {  // --help, --version
        return print_help(program, success);
    } catch (const CLI::ParseError& error) {
        const std::string message = explain(error, program);
        return report(message.c_str(), "options", exit_options, wants_json(argc, argv));
    }
    for (const Command& command : commands) {
        if (!command.app->parsed()) continue;
        if (const std::string message = explain_wrong_value(*command.app); !message.empty())
            return report(message.c_str(), "options", exit_options, wants_json(argc, argv));
        const std::string name = command.app->get_name();
        if (name != "doctor" && name != "completion") environment::check();  // the doctor lists all problems
        if (!command.program) open_few_connections();  // a program of the user's inherits the environment
        return command.run();
    }
    put_text(program.help());
    return exit_options;
}

int run(int argc, char** argv) {
    CLI::App program("glint fits single molecules in microscope movies by maximum likelihood.", "glint");
    program.set_version_flag("--version", "glint " + version());
    program.footer(help_footer);
    return report_errors([&] { return parse_and_run(program, argc, argv); }, wants_json(argc, argv));
}

}  // namespace
}  // namespace glint::cli

int main(int argc, char** argv) {
    glint::cli::prepare_streams();
    return glint::run_on_deep_stack([&] { return glint::cli::run(argc, argv); });
}
