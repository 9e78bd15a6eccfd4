// Files compiled into the program must be the files, byte for byte, whatever CMake thinks of their
// characters.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <span>
#include <string>

#include "traces/embedded.hpp"

namespace refrain {

std::span<const embedded_file> awkward_files();
std::span<const embedded_file> embedded_models();
std::span<const embedded_file> embedded_profiles();

namespace {

std::string read(const std::string& path) {
  std::ifstream stream{std::string{REFRAIN_SOURCE_DIR} + "/" + path, std::ios::binary};
  EXPECT_TRUE(stream) << path;
  return std::string{std::istreambuf_iterator<char>{stream}, {}};
}

TEST(embedding, keeps_quotes_semicolons_brackets_and_backslashes) {
  ASSERT_EQ(awkward_files().size(), 1u);
  EXPECT_EQ(awkward_files()[0].name, "awkward.v1");
  std::string text = read("tests/gpu/awkward.v1.txt");
  ASSERT_GT(text.size(), 100u);
  EXPECT_EQ(awkward_files()[0].text, text);
}

TEST(embedding, holds_every_model_and_profile_as_it_is_on_disk) {
  EXPECT_EQ(embedded_models().size(), 18u);
  for (const embedded_file& file : embedded_models()) {
    EXPECT_EQ(file.text, read("gpu/models/" + std::string{file.name} + ".toml"));
  }
  EXPECT_EQ(embedded_profiles().size(), 10u);
  for (const embedded_file& file : embedded_profiles()) {
    EXPECT_EQ(file.text, read("gpu/profiles/" + std::string{file.name} + ".toml"));
  }
}

}  // namespace
}  // namespace refrain
