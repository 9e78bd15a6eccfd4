// The layout of result files: names of parts, and the description of the run at the head.
#include "analysis/results_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "traces/error.hpp"

namespace refrain {
namespace {

constexpr std::string_view format_name = "refrain results";

std::optional<std::size_t> number(std::string_view text) {
  std::size_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

table parameter_table(const std::vector<setting>& parameters) {
  table t{{text_column("key", "dotted key, as in a scenario"),
           text_column("value", "resolved value, as text")}};
  for (const auto& [key, value] : parameters) {
    t.columns[0].texts().push_back(key);
    t.columns[1].texts().push_back(value);
  }
  return t;
}

std::vector<setting> read_parameters(const hdf5::group& where) {
  table t = hdf5::read_table(where.open("parameters"));
  std::vector<setting> parameters;
  for (std::size_t i = 0; i < t.rows(); ++i) {
    parameters.emplace_back(t.at("key").texts()[i], t.at("value").texts()[i]);
  }
  return parameters;
}

void check_format(const hdf5::group& root) {
  if (!root.has("run") || !root.open("run").has_attribute("schema_version")) {
    throw input_error{root.file(), "an HDF5 file, but not one of Refrain's results"};
  }
  hdf5::group run = root.open("run");
  if (!run.has_attribute("format") || run.text("format") != format_name) {
    throw input_error{root.file(), "an HDF5 file, but not one of Refrain's results"};
  }
  std::int64_t version = run.integer("schema_version");
  if (version < 1 || version > schema_version) {
    throw input_error{root.file(), fmt::format("results of schema version {}; this program reads "
                                               "versions up to {}: use a newer one",
                                               version, schema_version)};
  }
}

}  // namespace

std::filesystem::path parts_folder(const std::filesystem::path& path) {
  return path.string() + ".parts";
}

std::string part_name::text() const {
  return fmt::format("{:04}.{}.{:06}.h5", contender, table, number);
}

std::optional<part_name> part_name::parse(std::string_view text) {
  std::size_t first = text.find('.');
  std::size_t second = first == text.npos ? first : text.find('.', first + 1);
  if (second == text.npos || !text.ends_with(".h5") || text.size() < second + 4) {
    return std::nullopt;
  }
  auto contender = ::refrain::number(text.substr(0, first));
  auto part = ::refrain::number(text.substr(second + 1, text.size() - second - 4));
  if (!contender || !part) {
    return std::nullopt;
  }
  part_name name{*contender, std::string{text.substr(first + 1, second - first - 1)}, *part};
  return name.text() == text ? std::optional{name} : std::nullopt;
}

void write_description(hdf5::group& root, const run_description& run) {
  hdf5::group head = root.create("run");
  head.set_text("format", format_name);
  head.set_integer("schema_version", schema_version);
  head.set_text("name", run.name);
  head.set_unsigned("seed", run.seed);
  head.set_text("version", run.version);
  head.set_text("commit", run.commit);
  head.set_text("trace_sha256", run.trace_sha256);
  head.write_text("scenario", run.scenario);
  hdf5::write_table(head, "parameters", parameter_table(run.parameters));
  hdf5::group contenders = root.create("contenders");
  for (std::size_t i = 0; i < run.contenders.size(); ++i) {
    hdf5::group contender = contenders.create(run.contenders[i].name);
    contender.set_integer("index", static_cast<std::int64_t>(i));
    hdf5::write_table(contender, "parameters", parameter_table(run.contenders[i].parameters));
  }
}

run_description read_description(const hdf5::group& root) {
  check_format(root);
  hdf5::group head = root.open("run");
  run_description run;
  run.name = head.text("name");
  run.scenario = head.read_text("scenario");
  run.seed = head.unsigned_integer("seed");
  run.version = head.text("version");
  run.commit = head.text("commit");
  run.trace_sha256 = head.text("trace_sha256");
  run.parameters = read_parameters(head);
  hdf5::group contenders = root.open("contenders");
  for (const std::string& name : contenders.names()) {
    run.contenders.push_back({name, read_parameters(contenders.open(name))});
  }
  return run;
}

}  // namespace refrain
