#include "traces/input_file.hpp"

#include <sys/stat.h>

#include <vector>

#include "temp_files.hpp"
#include "traces/sha256.hpp"

namespace refrain {
namespace {

using input_file_of = temp_files;

std::vector<std::pair<std::uint64_t, std::string>> lines_of(const std::string& path) {
  std::vector<std::pair<std::uint64_t, std::string>> lines;
  input_file file{path};
  for (std::string_view line; file.next_line(line);) {
    lines.emplace_back(file.line(), line);
  }
  return lines;
}

/// Text that does not pack well, in lines.
std::string noise(std::size_t lines) {
  std::uint64_t x = 1;
  std::string text;
  for (std::size_t i = 0; i < lines; ++i) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    text += std::to_string(x) + "\n";
  }
  return text;
}

TEST_F(input_file_of, numbers_lines_and_counts_blank_ones_that_it_skips) {
  auto lines =
      lines_of(write("\xEF\xBB\xBF"
                     "a\r\n\r\n  \nb b\n\nlast"));
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0], std::pair(std::uint64_t{1}, std::string{"a"}));
  EXPECT_EQ(lines[1], std::pair(std::uint64_t{4}, std::string{"b b"}));
  EXPECT_EQ(lines[2], std::pair(std::uint64_t{6}, std::string{"last"}));
  EXPECT_TRUE(lines_of(write("")).empty());
}

TEST_F(input_file_of, delivers_lines_of_many_mebibytes) {
  std::string longest(9'000'000, 'x');
  auto lines = lines_of(write("short\n" + longest + "\nend\n"));
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[1].second, longest);
  EXPECT_EQ(lines[2], std::pair(std::uint64_t{3}, std::string{"end"}));
}

TEST_F(input_file_of, keeps_readable_bytes_behind_every_line) {
  std::string text(3 * 1024 * 1024, 'y');
  input_file file{write(text)};
  std::string_view line;
  ASSERT_TRUE(file.next_line(line));
  std::size_t sum = 0;
  for (std::size_t i = 0; i < line_padding; ++i) {
    sum += static_cast<unsigned char>(line.data()[line.size() + i]);
  }
  EXPECT_LT(sum, 256 * line_padding);
  EXPECT_EQ(line.size(), text.size());
}

TEST_F(input_file_of, tells_the_packing_by_the_first_bytes_and_not_by_the_name) {
  std::string text = noise(30'000);
  auto expected = lines_of(write(text));
  ASSERT_EQ(expected.size(), 30'000u);
  for (const char* kind : {"gzip", "xz", "zstd"}) {
    EXPECT_EQ(lines_of(write(pack(kind, text), "plain.txt")), expected) << kind;
    EXPECT_EQ(lines_of(write(pack(kind, ""), "empty")).size(), 0u) << kind;
  }
  EXPECT_EQ(
      error_of([&] { input_file{write("BZh91AY", "trace.gz")}; }),
      (folder_ / "trace.gz").string() + ": is packed with bzip2; expected plain, gzip, xz or zstd");
}

TEST_F(input_file_of, reads_files_of_several_members_whole) {
  for (const char* kind : {"gzip", "xz", "zstd"}) {
    auto path = write(pack(kind, "one\n") + pack(kind, "") + pack(kind, "two\n"));
    EXPECT_EQ(lines_of(path).size(), 2u) << kind;
  }
}

TEST_F(input_file_of, never_takes_a_truncated_file_for_an_ended_one) {
  for (const char* kind : {"gzip", "xz", "zstd"}) {
    std::string packed = pack(kind, noise(20));
    ASSERT_EQ(lines_of(write(packed)).size(), 20u);
    for (std::size_t size = 8; size < packed.size(); ++size) {
      auto path = write(packed.substr(0, size));
      auto message = error_of([&] { lines_of(path); });
      ASSERT_TRUE(message.starts_with(path + ": truncated or corrupt " + kind + " data after line"))
          << kind << " cut to " << size << " of " << packed.size() << ": " << message;
    }
  }
}

TEST_F(input_file_of, delivers_what_stands_before_the_cut_and_names_its_line) {
  for (const char* kind : {"gzip", "xz", "zstd"}) {
    std::string packed = pack(kind, noise(60'000));
    for (std::size_t size : {packed.size() / 2, packed.size() - 5}) {
      input_file file{write(packed.substr(0, size))};
      std::uint64_t lines = 0;
      auto message = error_of([&] {
        for (std::string_view line; file.next_line(line); ++lines) {
        }
      });
      auto before_the_cut = static_cast<std::uint64_t>(60'000.0 * static_cast<double>(size) /
                                                       static_cast<double>(packed.size()));
      EXPECT_GT(lines + 10'000, before_the_cut) << kind;
      EXPECT_LT(lines, before_the_cut + 10'000) << kind;
      EXPECT_TRUE(message.ends_with("after line " + std::to_string(lines))) << message;
    }
  }
}

TEST_F(input_file_of, finds_damage_inside_packed_data) {
  for (const char* kind : {"gzip", "xz"}) {
    std::string packed = pack(kind, noise(3000));
    packed[packed.size() / 2] = static_cast<char>(packed[packed.size() / 2] ^ 0x55);
    EXPECT_NE(error_of([&] { lines_of(write(packed)); }), "") << kind;
  }
}

TEST_F(input_file_of, refuses_a_few_bytes_that_ask_for_gibibytes) {
  // A Zstandard frame whose header announces a window of 2 GiB (found by the fuzzer).
  std::string frame = "\x28\xB5\x2F\xFD" + std::string{'\0', '\xA8', '\1', '\0', '\0'};
  EXPECT_TRUE(error_of([&] {
                lines_of(write(frame));
              }).ends_with(": needs more than 128 MiB to be unpacked; unpack it first"));
  frame[5] = '\x88';  // 128 MiB
  EXPECT_EQ(error_of([&] { lines_of(write(frame)); }), "");
}

TEST_F(input_file_of, says_why_a_file_cannot_be_opened) {
  std::string missing = (folder_ / "missing").string();
  EXPECT_EQ(error_of([&] { input_file{missing}; }),
            missing + ": cannot be opened: No such file or directory");
  EXPECT_EQ(error_of([&] { input_file{folder_.string()}; }),
            folder_.string() + ": is a directory; expected a trace file");
  std::string pipe = (folder_ / "pipe").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(error_of([&] { input_file{pipe}; }),
            pipe + ": is not a regular file; a trace is read more than once");
}

TEST_F(input_file_of, says_when_permission_is_missing) {
  std::string path = write("a\n");
  ASSERT_EQ(::chmod(path.c_str(), 0), 0);
  bool is_superuser = ::geteuid() == 0;
  if (is_superuser) {
    ASSERT_EQ(::seteuid(65534), 0) << "the superuser may read everything";
  }
  auto message = error_of([&] { input_file{path}; });
  if (is_superuser) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  EXPECT_EQ(message, path + ": cannot be opened: Permission denied");
}

TEST_F(input_file_of, reads_raw_bytes_through_every_packing) {
  std::string text = noise(20'000);
  for (const char* kind : {"gzip", "xz", "zstd"}) {
    input_file file{write(pack(kind, text))};
    std::string bytes(text.size() + 10, '?');
    EXPECT_EQ(file.read(bytes.data(), 7), 7u);
    EXPECT_EQ(file.read(bytes.data() + 7, text.size()), text.size() - 7);
    EXPECT_EQ(file.read(bytes.data(), 0), 0u);
    EXPECT_EQ(bytes.substr(0, text.size()), text) << kind;
  }
}

TEST_F(input_file_of, says_after_which_byte_raw_data_is_damaged) {
  std::string packed = pack("zstd", std::string(1'000'000, 'z'));
  input_file file{write(packed.substr(0, packed.size() - 3))};
  std::string bytes(1'000'000, '?');
  auto message = error_of([&] { file.read(bytes.data(), bytes.size()); });
  EXPECT_NE(message.find("truncated or corrupt zstd data after byte "), std::string::npos);
}

using sha256_of = temp_files;

TEST_F(sha256_of, a_file_is_that_of_its_stored_bytes) {
  EXPECT_EQ(sha256_of_file(write("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_of_file(write("")),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_NE(sha256_of_file(write(pack("gzip", "abc"))), sha256_of_file(write("abc", "b")));
}

TEST_F(sha256_of, a_directory_or_a_missing_file_is_an_error) {
  EXPECT_NE(error_of([&] { sha256_of_file(folder_.string()); }), "");
  EXPECT_NE(error_of([&] { sha256_of_file((folder_ / "no").string()); }), "");
}

}  // namespace
}  // namespace refrain
