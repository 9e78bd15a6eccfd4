#include "traces/quantity.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace refrain {
namespace {

TEST(quantity, reads_times_with_their_units) {
  EXPECT_EQ(parse_duration("3s").count(), 3'000'000'000);
  EXPECT_EQ(parse_duration("1.5 ms").count(), 1'500'000);
  EXPECT_EQ(parse_duration("5min").count(), 300'000'000'000);
  EXPECT_EQ(parse_duration("0").count(), 0);
}

TEST(quantity, tells_powers_of_1000_from_powers_of_1024) {
  EXPECT_EQ(parse_bytes("1GB"), 1'000'000'000);
  EXPECT_EQ(parse_bytes("1GiB"), 1'073'741'824);
  EXPECT_EQ(parse_bandwidth("50GB/s"), 50e9);
}

TEST(quantity, refuses_a_number_without_its_unit) {
  EXPECT_THROW(parse_duration("3"), std::invalid_argument);
  EXPECT_THROW(parse_bytes("3"), std::invalid_argument);
  EXPECT_THROW(parse_bandwidth("50GB"), std::invalid_argument);
  EXPECT_THROW(parse_duration("-3s"), std::invalid_argument);
  EXPECT_THROW(parse_duration("infs"), std::invalid_argument);
  EXPECT_THROW(parse_duration("fast"), std::invalid_argument);
}

TEST(quantity, reads_shares_as_percentages_or_fractions) {
  EXPECT_DOUBLE_EQ(parse_share("90%"), 0.9);
  EXPECT_DOUBLE_EQ(parse_share("0.25"), 0.25);
  EXPECT_THROW(parse_share("101%"), std::invalid_argument);
}

TEST(quantity, prints_for_people) {
  EXPECT_EQ(print_duration(0.00125), "1.25 ms");
  EXPECT_EQ(print_bytes(1536), "1.5 KiB");
  EXPECT_EQ(print_count(-1234567), "-1,234,567");
  EXPECT_EQ(print_count(123), "123");
}

}  // namespace
}  // namespace refrain
