// Hardware profiles against the fit they were written from, and bad profile files.
#include "gpu/profile.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "support.hpp"

namespace refrain {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string rtx_4090_text() {
  std::ifstream stream{std::string{REFRAIN_SOURCE_DIR} + "/gpu/profiles/rtx-4090.toml"};
  return std::string{std::istreambuf_iterator<char>{stream}, {}};
}

std::string error_of(const std::string& old_text, const std::string& new_text) {
  std::string text = rtx_4090_text();
  std::size_t at = text.find(old_text);
  EXPECT_NE(at, std::string::npos) << old_text;
  text.replace(at, old_text.size(), new_text);
  temporary_file file{"changed-profile.toml", text};
  return input_error_of([&] { load_profile(file.path()); });
}

TEST(profile, knows_ten_gpus) {
  EXPECT_THAT(profile_names(), ElementsAre("a100-80gb-sxm", "a40", "a6000", "b200", "h100-sxm",
                                           "h200", "l40s", "rtx-3090", "rtx-4090", "rtx-pro-6000"));
  for (const std::string& name : profile_names()) {
    hardware_profile profile = load_profile(name);
    EXPECT_EQ(profile.name, name);
    EXPECT_FALSE(profile.stack.empty());
    EXPECT_EQ(profile.activations, 1'240'000'000);
  }
}

TEST(profile, holds_the_fitted_numbers_to_the_last_bit) {
  std::string path = std::string{REFRAIN_SHARED_DATA} + "/gpu-profiles/fitted/params.json";
  if (!std::filesystem::exists(path)) {
    GTEST_SKIP() << path << " is absent";
  }
  const std::map<std::string, std::string> keys = {{"a100-80gb-sxm", "A100-80GB-SXM"},
                                                   {"h100-sxm", "H100-SXM"},
                                                   {"h200", "H200"},
                                                   {"l40s", "L40S"},
                                                   {"b200", "B200"},
                                                   {"rtx-pro-6000", "RTX-PRO-6000"},
                                                   {"rtx-4090", "RTX-4090"},
                                                   {"a40", "A40"},
                                                   {"a6000", "A6000"},
                                                   {"rtx-3090", "RTX-3090"}};
  simdjson::dom::parser parser;
  simdjson::dom::element document = parser.load(path);
  for (const auto& [name, key] : keys) {
    SCOPED_TRACE(name);
    hardware_profile p = load_profile(name);
    auto fitted = [&, k = key](const char* section, const char* value) {
      return static_cast<double>(document[k][section][value]);
    };
    EXPECT_EQ(p.gemm.launch_s, fitted("gemm", "t0"));
    EXPECT_EQ(p.gemm.bandwidth_bytes_per_s, fitted("gemm", "B"));
    EXPECT_EQ(p.gemm.rate_flop_per_s, fitted("gemm", "R"));
    EXPECT_EQ(p.gemm.sharpness, fitted("gemm", "p"));
    EXPECT_EQ(p.prefill_attention.launch_s, fitted("pre", "t0"));
    EXPECT_EQ(p.prefill_attention.bandwidth_bytes_per_s, fitted("pre", "B"));
    EXPECT_EQ(p.prefill_attention.rate_flop_per_s, fitted("pre", "R"));
    EXPECT_EQ(p.prefill_attention.sharpness, fitted("pre", "p"));
    EXPECT_EQ(p.prefill_attention.sweep_s_per_key, fitted("pre", "kappa"));
    EXPECT_EQ(p.prefill_attention.tile_fixed_keys, fitted("pre", "h"));
    EXPECT_EQ(p.prefill_attention.mixed_rows, fitted("pre", "rd"));
    EXPECT_EQ(p.decode_attention.launch_s, fitted("dec", "t0"));
    EXPECT_EQ(p.decode_attention.bandwidth_bytes_per_s, fitted("dec", "B"));
    EXPECT_EQ(p.decode_attention.s_per_sequence_head, fitted("dec", "w"));
    EXPECT_EQ(p.elementwise.launch_s, fitted("elt", "t0"));
    EXPECT_EQ(p.elementwise.bandwidth_bytes_per_s, fitted("elt", "B"));
    simdjson::dom::object degrees;
    bool has_degrees = document[key]["ar"].get(degrees) == simdjson::SUCCESS;
    EXPECT_EQ(p.all_reduce.size(), has_degrees ? degrees.size() : 0);
    for (const auto& [degree, numbers] : p.all_reduce) {
      simdjson::dom::element found = degrees[std::to_string(degree)];
      EXPECT_EQ(numbers.launch_s, static_cast<double>(found["a"]));
      EXPECT_EQ(numbers.bandwidth_bytes_per_s, static_cast<double>(found["W"]));
    }
  }
}

TEST(profile, knows_memory_links_and_what_was_not_fitted) {
  EXPECT_EQ(load_profile("rtx-4090").memory, 25'250'627'584);
  EXPECT_THAT(load_profile("rtx-4090").not_fitted, IsEmpty());
  EXPECT_FALSE(load_profile("rtx-4090").peer_link.has_value());
  hardware_profile h100 = load_profile("h100-sxm");
  EXPECT_EQ(h100.memory, 80LL << 30);
  EXPECT_EQ(h100.host_link->theoretical_bytes_per_s, 63e9);
  EXPECT_EQ(h100.host_link->measured_bytes_per_s, 50e9);
  EXPECT_EQ(h100.peer_link->theoretical_bytes_per_s, 450e9);
  EXPECT_THAT(h100.not_fitted, ElementsAre("memory.activations", "prefill_attention.mixed_rows"));
  EXPECT_FALSE(load_profile("b200").peer_link->measured_bytes_per_s.has_value());
  EXPECT_FALSE(load_profile("a40").host_link.has_value());
  EXPECT_THAT(load_profile("a40").not_fitted,
              ElementsAre("memory.activations", "prefill_attention", "decode_attention"));
}

TEST(profile, names_the_nearest_gpu_for_an_unknown_one) {
  EXPECT_EQ(input_error_of([] { load_profile("h100-sxn"); }),
            "hardware.gpu: unknown hardware profile \"h100-sxn\"; did you mean \"h100-sxm\"?");
}

TEST(profile, reads_a_file_by_its_path) {
  temporary_file file{"my-4090.toml", rtx_4090_text()};
  hardware_profile profile = load_profile(file.path());
  EXPECT_EQ(profile.name, "my-4090");
  EXPECT_EQ(profile.gemm.launch_s, load_profile("rtx-4090").gemm.launch_s);
}

TEST(profile, takes_1240000000_bytes_of_activations_where_none_are_named) {
  std::string text = rtx_4090_text();
  std::size_t at = text.find("activations");
  text.erase(at, text.find('\n', at) - at);
  temporary_file file{"plain.toml", text};
  EXPECT_EQ(load_profile(file.path()).activations, 1'240'000'000);
}

TEST(profile, refuses_an_unknown_key_with_its_line_and_the_nearest_one) {
  EXPECT_THAT(error_of("[gemm]\nlaunch_s", "[gemm]\nlunch_s"),
              AllOf(HasSubstr("changed-profile.toml:"), HasSubstr("unknown key \"gemm.lunch_s\""),
                    HasSubstr("did you mean \"gemm.launch_s\"?")));
  EXPECT_THAT(error_of("[elementwise]", "[extra]\n[elementwise]"), HasSubstr("unknown key"));
  EXPECT_THAT(error_of("[elementwise]", "[all_reduce.2]\nlaunch = 1.0\n[elementwise]"),
              AllOf(HasSubstr("all_reduce.2.launch"), HasSubstr("did you mean \"launch_s\"?")));
}

TEST(profile, refuses_a_missing_key) {
  EXPECT_THAT(error_of("sweep_s_per_key", "# sweep_s_per_key"),
              HasSubstr("changed-profile.toml: prefill_attention.sweep_s_per_key: missing"));
  EXPECT_THAT(error_of("[elementwise]", "[all_reduce.2]\nlaunch_s = 1.0\n[elementwise]"),
              HasSubstr("all_reduce.2.bandwidth_bytes_per_s: missing"));
  EXPECT_THAT(error_of("theoretical_bytes_per_s", "# theoretical"),
              HasSubstr("host_link.theoretical_bytes_per_s: missing"));
}

TEST(profile, refuses_values_that_no_gpu_has) {
  EXPECT_THAT(error_of("rate_flop_per_s = 1", "rate_flop_per_s = -1"),
              AllOf(HasSubstr("changed-profile.toml:"),
                    HasSubstr("gemm.rate_flop_per_s: expected a number above 0")));
  EXPECT_THAT(error_of("launch_s = 5", "launch_s = -5"),
              HasSubstr("gemm.launch_s: expected a number of at least 0"));
  EXPECT_THAT(error_of("sharpness = 2", "sharpness = 0"),
              HasSubstr("gemm.sharpness: expected a number of at least 1"));
  EXPECT_THAT(error_of("sharpness = 2", "sharpness = nan #"),
              HasSubstr("gemm.sharpness: expected"));
  EXPECT_THAT(error_of("sharpness = 2", "sharpness = \"2\" #"), HasSubstr("sharpness: expected"));
  EXPECT_THAT(error_of("bytes = 2", "bytes = -2"), HasSubstr("memory.bytes: expected an integer"));
  EXPECT_THAT(error_of("\"1.24GB\"", "\"1.24\""), HasSubstr("memory.activations: "));
  EXPECT_THAT(error_of("not_fitted = []", "not_fitted = [\"gem\"]"),
              HasSubstr("not_fitted: unknown key \"gem\""));
  EXPECT_THAT(error_of("not_fitted = []", "not_fitted = [1]"),
              HasSubstr("not_fitted: expected an array of strings"));
  EXPECT_THAT(error_of("[elementwise]",
                       "[all_reduce.two]\nlaunch_s = 1.0\nbandwidth_bytes_per_s = 1.0\n"
                       "[elementwise]"),
              HasSubstr("all_reduce.two: expected a tensor-parallel degree of at least 2"));
}

}  // namespace
}  // namespace refrain
