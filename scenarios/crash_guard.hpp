// libhdf5 trusts a file: a flipped byte can make it read where nothing is. So a file that somebody
// hands in is read in a child process, and a child that crashes is a damaged file.
#pragma once

#include <string>

namespace refrain {

/// Splits the process in two. Returns in the child, which does the work. The parent never returns:
/// it leaves with the child's exit status, or throws input_error that `path` is damaged where the
/// child crashed. To be called before there are threads and before anything is printed.
void guard_against_crashes(const std::string& path);

}  // namespace refrain
