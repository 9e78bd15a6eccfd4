#include "traces/toml_text.hpp"

#include <gtest/gtest.h>

namespace refrain {
namespace {

TEST(toml_text, may_be_foreign_in_comments_and_strings_of_one_line) {
  for (const char* text :
       {"", "a = 1\n",
        "\xEF\xBB\xBF"
        "a = 1",
        "# \xC4\xB3\na = \"\xC4\xB3\" # \xC4\xB3", "a = '\xC4\xB3' b = \"\\\"\xC4\xB3\"",
        "a = \"\"\nb = ''\nc = \"\"\"x\ny\"\"\"", "a = '\\'\nb = '\xC4\xB3'"}) {
    EXPECT_EQ(foreign_character_line(text), 0u) << text;
  }
}

TEST(toml_text, is_refused_by_line_where_it_is_foreign_elsewhere) {
  EXPECT_EQ(foreign_character_line("\xC4\xB3 = 1"), 1u);
  EXPECT_EQ(foreign_character_line("a = 1\nb = \xC4\xB3\n"), 2u);
  EXPECT_EQ(foreign_character_line("a = \"\"\"x\n\xC4\xB3\"\"\""), 2u);
  EXPECT_EQ(foreign_character_line("a = '''x\n\xC4\xB3"), 2u);
  EXPECT_EQ(foreign_character_line("a = \"\"\"x\"\"\"\n\n\xC4\xB3"), 3u);
  EXPECT_EQ(foreign_character_line("a = \"x\n\xC4\xB3"), 2u);
}

}  // namespace
}  // namespace refrain
