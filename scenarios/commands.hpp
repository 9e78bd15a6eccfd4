// The commands of the program, one file each, and what they share: exit statuses and the document
// that --json prints.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace refrain {

/// What the program tells its caller.
enum class exit_status : int { done = 0, failed = 1, bad_input = 2, interrupted = 130 };

/// Runs the program with the words after its name: finds the command, reports every failure as one
/// line on stderr.
int run_program(const std::vector<std::string>& words);

/// One command; the words are those after its name. Each throws input_error, usage_error, run_error
/// or interrupted.
void run_command(const std::vector<std::string>& words);
void replay_command(const std::vector<std::string>& words);
void policies_command(const std::vector<std::string>& words);
void show_command(const std::vector<std::string>& words);
void traces_command(const std::vector<std::string>& words);
void corpus_command(const std::vector<std::string>& words);
void calibrate_command(const std::vector<std::string>& words);
void validate_command(const std::vector<std::string>& words);
void model_command(const std::vector<std::string>& words);
void new_command(const std::vector<std::string>& words);
void check_command(const std::vector<std::string>& words);

/// The text as one line.
std::string one_line(std::string_view text);

}  // namespace refrain
