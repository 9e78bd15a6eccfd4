#include "traces/source.hpp"

namespace refrain {

namespace {

std::map<std::string_view, trace_format>& formats() {
  static std::map<std::string_view, trace_format> all;
  return all;
}

}  // namespace

register_trace_format::register_trace_format(trace_format format) {
  bool is_new = formats().emplace(format.name, format).second;
  REFRAIN_ASSERT(is_new);
}

const std::map<std::string_view, trace_format>& trace_formats() {
  return formats();
}

std::unique_ptr<source> open_trace(std::string_view format, const source_options& options) {
  auto found = formats().find(format);
  if (found == formats().end()) {
    std::vector<std::string_view> names;
    for (const auto& [name, _] : formats()) {
      names.push_back(name);
    }
    throw input_error{options.path, unknown_name("trace format", format, names)};
  }
  return found->second.open(options);
}

}  // namespace refrain
