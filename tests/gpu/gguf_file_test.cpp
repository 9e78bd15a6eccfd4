// GGUF files as the format allows them, and every way to break one: each is refused as bad input
// that names the key or tensor.
#include "gpu/model_files/gguf_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "gguf_writer.hpp"
#include "support.hpp"

namespace refrain {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

gguf_writer small_file() {
  gguf_writer file;
  file.text("general.name", "small").u32("general.alignment", 32);
  file.tensor("first", {4, 2}, 0, std::string(32, 'a'));
  file.tensor("second", {32}, 8, std::string(34, 'b'));
  return file;
}

gguf_file opened(const gguf_writer& writer) {
  temporary_file file{"model.gguf", writer.bytes()};
  return gguf_file{file.path()};  // the mapping outlives the file
}

std::string error_of(const std::string& bytes) {
  temporary_file file{"model.gguf", bytes};
  return input_error_of([&] { gguf_file{file.path()}; });
}

std::string error_of(const gguf_writer& writer) {
  return error_of(writer.bytes());
}

TEST(gguf_file, hands_out_keys_and_tensors_of_versions_two_and_three) {
  for (std::uint32_t version : {2u, 3u}) {
    gguf_writer writer = small_file();
    writer.version = version;
    gguf_file file = opened(writer);
    EXPECT_EQ(file.version(), version);
    EXPECT_EQ(file.text("general.name"), "small");
    const gguf_tensor* first = file.find_tensor("first");
    ASSERT_NE(first, nullptr);
    EXPECT_EQ(first->columns(), 4);
    EXPECT_EQ(first->rows(), 2);
    EXPECT_EQ(first->bytes.size(), 32u);
    EXPECT_EQ(first->bytes.front(), std::byte{'a'});
    const gguf_tensor* second = file.find_tensor("second");
    ASSERT_NE(second, nullptr);
    EXPECT_EQ(second->bytes.back(), std::byte{'b'});
    EXPECT_EQ(file.find_tensor("third"), nullptr);
  }
}

TEST(gguf_file, every_type_of_value_is_read) {
  gguf_writer writer;
  writer.raw("u8", 0, bytes_of(std::uint8_t{200}))
      .raw("i8", 1, bytes_of(std::int8_t{-3}))
      .raw("u16", 2, bytes_of(std::uint16_t{60000}))
      .raw("i16", 3, bytes_of(std::int16_t{-30000}))
      .u32("u32", 4'000'000'000)
      .raw("i32", 5, bytes_of(std::int32_t{-5}))
      .f32("f32", 0.5F)
      .flag("yes", true)
      .flag("no", false)
      .text("text", "words")
      .raw("u64", 10, bytes_of(std::uint64_t{1} << 40))
      .raw("i64", 11, bytes_of(std::int64_t{-7}))
      .raw("f64", 12, bytes_of(0.25))
      .texts("texts", {"a", "", "bc"})
      .i32s("i32s", {1, -2})
      .f32s("f32s", {0.5F})
      .texts("none", {});
  gguf_file file = opened(writer);
  EXPECT_EQ(file.integer("u8"), 200);
  EXPECT_EQ(file.integer("i8"), -3);
  EXPECT_EQ(file.integer("u16"), 60000);
  EXPECT_EQ(file.integer("i16"), -30000);
  EXPECT_EQ(file.integer("u32"), 4'000'000'000);
  EXPECT_EQ(file.integer("i32"), -5);
  EXPECT_EQ(file.number("f32"), 0.5);
  EXPECT_EQ(file.flag("yes"), true);
  EXPECT_EQ(file.flag("no"), false);
  EXPECT_EQ(file.text("text"), "words");
  EXPECT_EQ(file.integer("u64"), std::int64_t{1} << 40);
  EXPECT_EQ(file.integer("i64"), -7);
  EXPECT_EQ(file.number("f64"), 0.25);
  EXPECT_EQ(file.number("i8"), -3.0);
  EXPECT_THAT(*file.texts("texts"), ElementsAre("a", "", "bc"));
  EXPECT_THAT(*file.integers("i32s"), ElementsAre(1, -2));
  EXPECT_THAT(*file.numbers("f32s"), ElementsAre(0.5));
  EXPECT_TRUE(file.texts("none")->empty());
  EXPECT_EQ(file.integer("absent"), std::nullopt);
  EXPECT_EQ(file.texts("absent"), std::nullopt);
}

TEST(gguf_file, a_value_of_another_type_is_refused_with_its_key) {
  gguf_writer writer;
  writer.text("name", "x").u32("number", 1).texts("list", {"a"}).i32s("numbers", {1});
  writer.raw("huge", 10, bytes_of(std::numeric_limits<std::uint64_t>::max()));
  writer.f32("wild", std::numeric_limits<float>::infinity());
  writer.f32s("wilds", {1, std::numeric_limits<float>::quiet_NaN()});
  gguf_file file = opened(writer);
  auto message = [](auto call) { return input_error_of(call); };
  EXPECT_THAT(message([&] { file.integer("name"); }),
              AllOf(HasSubstr("model.gguf: key \"name\""), HasSubstr("string")));
  EXPECT_THAT(message([&] { file.integer("huge"); }), HasSubstr("key \"huge\""));
  EXPECT_THAT(message([&] { file.number("wild"); }), HasSubstr("not a finite number"));
  EXPECT_THAT(message([&] { file.numbers("wilds"); }), HasSubstr("element 1"));
  EXPECT_THAT(message([&] { file.text("number"); }), HasSubstr("is u32, not string"));
  EXPECT_THAT(message([&] { file.flag("number"); }), HasSubstr("is u32, not bool"));
  EXPECT_THAT(message([&] { file.texts("numbers"); }), HasSubstr("is an array of i32"));
  EXPECT_THAT(message([&] { file.integers("list"); }), HasSubstr("element 0"));
  EXPECT_THAT(message([&] { file.integers("number"); }), HasSubstr("not an array"));
}

TEST(gguf_file, what_is_no_gguf_file_is_refused) {
  EXPECT_THAT(input_error_of([] { gguf_file{"nowhere/model.gguf"}; }),
              HasSubstr("cannot be opened"));
  EXPECT_THAT(input_error_of([] { gguf_file{testing::TempDir()}; }),
              HasSubstr("not a regular file"));
  EXPECT_THAT(error_of(""), HasSubstr("is empty"));
  EXPECT_THAT(error_of("GGML and more"), HasSubstr("does not begin with \"GGUF\""));
  EXPECT_THAT(error_of("GG"), HasSubstr("ends within its head"));
  gguf_writer old = small_file();
  old.version = 1;
  EXPECT_THAT(error_of(old), HasSubstr("version 1; versions 2 and 3"));
  gguf_writer big_endian = small_file();
  big_endian.version = 3u << 24;
  EXPECT_THAT(error_of(big_endian), HasSubstr("big-endian"));
}

TEST(gguf_file, counts_that_cannot_be_are_refused_before_anything_is_allocated) {
  constexpr std::uint64_t huge = std::uint64_t{1} << 62;
  gguf_writer keys = small_file();
  keys.values_added = huge;
  EXPECT_THAT(error_of(keys), HasSubstr("keys do not fit"));
  gguf_writer tensors = small_file();
  tensors.tensors_added = huge;
  EXPECT_THAT(error_of(tensors), HasSubstr("tensors do not fit"));
  for (std::uint64_t count : {huge, std::numeric_limits<std::uint64_t>::max()}) {
    EXPECT_THAT(error_of(small_file().array("list", 8, count, "")), HasSubstr("key \"list\""));
    EXPECT_THAT(error_of(small_file().array("list", 4, count, "")), HasSubstr("key \"list\""));
    EXPECT_THAT(error_of(small_file().raw("text", 8, bytes_of(count))),
                HasSubstr("key \"text\": the file ends within its text"));
  }
}

TEST(gguf_file, unknown_types_and_nested_arrays_are_refused_by_name) {
  EXPECT_THAT(error_of(small_file().raw("odd", 13, "")), HasSubstr("key \"odd\": unknown type 13"));
  EXPECT_THAT(error_of(small_file().array("odd", 77, 0, "")), HasSubstr("key \"odd\""));
  EXPECT_THAT(error_of(small_file().array("deep", 9, 1, "")),
              HasSubstr("key \"deep\": is an array of arrays"));
  gguf_writer writer = small_file();
  writer.at("first").type = 10;
  EXPECT_THAT(error_of(writer),
              AllOf(HasSubstr("tensor \"first\": is of type 10 (Q2_K)"), HasSubstr("Q4_K")));
  writer.at("first").type = 4;
  EXPECT_THAT(error_of(writer), HasSubstr("tensor \"first\": is of type 4;"));
}

TEST(gguf_file, names_that_stand_twice_are_refused) {
  EXPECT_THAT(error_of(small_file().twice("general.alignment")),
              HasSubstr("key \"general.alignment\": stands twice"));
  gguf_writer writer = small_file();
  writer.tensor("first", {1}, 0, "1234");
  EXPECT_THAT(error_of(writer), HasSubstr("tensor \"first\": stands twice"));
}

TEST(gguf_file, dims_that_overflow_or_break_blocks_are_refused) {
  auto with_dims = [](std::vector<std::uint64_t> dims) {
    gguf_writer writer = small_file();
    writer.at("second").dims = std::move(dims);
    return error_of(writer);
  };
  EXPECT_THAT(with_dims({}), HasSubstr("tensor \"second\": has 0 dims"));
  EXPECT_THAT(with_dims({32, 1, 1, 1, 1}), HasSubstr("has 5 dims"));
  EXPECT_THAT(with_dims({32, 0}), HasSubstr("dim 1 is 0"));
  EXPECT_THAT(with_dims({std::uint64_t{1} << 63}), HasSubstr("dim 0 is"));
  EXPECT_THAT(with_dims({std::uint64_t{1} << 62}), HasSubstr("bytes at offset 32 lie beyond"));
  EXPECT_THAT(with_dims({std::uint64_t{1} << 62, 4}), HasSubstr("need more than 2^63 bytes"));
  EXPECT_THAT(with_dims({std::uint64_t{1} << 32, std::uint64_t{1} << 32}),
              HasSubstr("need more than 2^63 bytes"));
  EXPECT_THAT(with_dims({33}), HasSubstr("rows of 33 weights are no whole blocks of 32 (Q8_0)"));
  EXPECT_THAT(with_dims({64}), HasSubstr("68 bytes at offset 32 lie beyond"));
}

TEST(gguf_file, offsets_outside_or_unaligned_are_refused) {
  gguf_writer writer = small_file();
  writer.at("second").offset_added = 8;
  EXPECT_THAT(error_of(writer), HasSubstr("tensor \"second\": its offset 40 is no multiple"));
  writer.at("second").offset_added = std::uint64_t{1} << 40;
  EXPECT_THAT(error_of(writer), HasSubstr("tensor \"second\": its 34 bytes at offset"));
  writer.at("second").offset_added = ~std::uint64_t{63};
  EXPECT_THAT(error_of(writer), HasSubstr("tensor \"second\""));
}

TEST(gguf_file, the_alignment_of_the_file_counts) {
  gguf_writer wide = small_file();
  wide.alignment = 128;
  wide.u32("general.alignment", 128);
  EXPECT_EQ(opened(wide).find_tensor("second")->bytes.back(), std::byte{'b'});
  for (std::uint32_t bad : {0u, 1u, 4u, 24u, 1u << 21}) {
    EXPECT_THAT(error_of(small_file().u32("general.alignment", bad)),
                HasSubstr("key \"general.alignment\": is " + std::to_string(bad)));
  }
  EXPECT_THAT(error_of(small_file().text("general.alignment", "32")),
              HasSubstr("key \"general.alignment\""));
}

TEST(gguf_file, cut_short_anywhere_it_is_refused) {
  std::string whole = small_file().bytes();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(error_of(whole.substr(0, size)), "") << size;
  }
  EXPECT_EQ(error_of(whole), "");
}

TEST(gguf_file, any_byte_changed_leaves_a_file_that_is_read_or_refused) {
  std::string whole = small_file().texts("list", {"a", "b"}).bytes();
  int refused = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    for (char c : {'\1', '\xff'}) {
      std::string changed = whole;
      changed[i] = c;
      refused += error_of(changed).empty() ? 0 : 1;
    }
  }
  EXPECT_GT(refused, 100);
}

TEST(gguf_file, names_in_messages_are_short_and_printable) {
  std::string long_name(500, 'x');
  EXPECT_THAT(error_of(small_file().raw(long_name, 99, "")), HasSubstr("xxx...\": unknown type"));
  EXPECT_EQ(quoted_name("a\nb"), "\"a?b\"");
}

}  // namespace
}  // namespace refrain
