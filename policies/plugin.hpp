// Plug-ins: shared libraries with policies in them, built outside of the tree from the same files
// that would stand in it. A file is read before it is loaded: without the marker that
// refrain_add_policy leaves, or with one that differs from this program's (other headers, other
// flags that change layouts), no code of it runs. Policies from plug-ins are guarded (guard.hpp).
// Loading changes the registry, so it comes before there are threads.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace refrain {

/// A plug-in that is part of this process until its end.
struct loaded_plugin {
  std::string file;                        ///< as it was named first
  std::string sha256;                      ///< of the file
  std::vector<std::string_view> policies;  ///< names, in order of registration
};

/// Loads the file; a second time it only returns what it holds. Throws input_error{where, ...} that
/// names the file where it is no plug-in, was built for another program, does not load, or
/// registers nothing, a bound, or a name that is taken or no name.
const loaded_plugin& load_plugin(const std::string& file, const std::string& where);

}  // namespace refrain
