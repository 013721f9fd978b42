#include "client/metric/json_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sbump {
namespace {

using testing::HasSubstr;

absl::StatusOr<double> At(std::string_view path, std::string_view document) {
  const auto parsed = ParseJsonPath(path);
  if (!parsed.ok()) return parsed.status();
  return NumberAt(*parsed, document);
}

TEST(JsonPathTest, Numbers) {
  constexpr std::string_view kDocument =
      R"({"stats": {"tokens": [{"total": 12}, {"total": -3.5}]}, "a.b": {"c]\"": 18446744073709551615},
          "x y": [[1, 2e3]]})";
  EXPECT_EQ(At("stats.tokens[0].total", kDocument).value(), 12);
  EXPECT_EQ(At("stats.tokens[1].total", kDocument).value(), -3.5);
  EXPECT_EQ(At(R"(["stats"]["tokens"][1]["total"])", kDocument).value(), -3.5);
  EXPECT_EQ(At(R"(["a.b"]["c]\""])", kDocument).value(), 18446744073709551615.0);
  EXPECT_EQ(At("x y[0][1]", kDocument).value(), 2000);
  EXPECT_EQ(At("[1]", "[1, 2]").value(), 2);
}

TEST(JsonPathTest, WhatIsNotThere) {
  const auto why = [](std::string_view path, std::string_view document) {
    const auto number = At(path, document);
    EXPECT_EQ(number.status().code(), absl::StatusCode::kNotFound) << path;
    return std::string(number.status().message());
  };
  EXPECT_THAT(why("a.c", R"({"a": {"b": 1, "d": 2}})"),
              HasSubstr(R"("c" in an object (keys: b, d))"));
  EXPECT_THAT(why("a.b.c", R"({"a": {"b": 1}})"), HasSubstr(R"("c" in a number)"));
  EXPECT_THAT(why("a[2]", R"({"a": [1, 2]})"), HasSubstr("[2] in an array of 2"));
  EXPECT_THAT(why("a[0]", R"({"a": {}})"), HasSubstr("(keys: none)"));
  EXPECT_THAT(why("a.b", R"({"a": null})"), HasSubstr("null"));
}

TEST(JsonPathTest, WhatIsNoNumber) {
  for (const std::string& value :
       std::vector<std::string>{"\"12\"", "true", "null", "[1]", "{\"b\": 1}"}) {
    const auto number = At("a", "{\"a\": " + value + "}");
    EXPECT_EQ(number.status().code(), absl::StatusCode::kDataLoss) << value;
    EXPECT_THAT(number.status().message(), HasSubstr("not a number")) << value;
  }
}

TEST(JsonPathTest, WhatIsNoFiniteNumber) {
  for (const char* value : {"1e400", "0e400"}) {
    const auto number = At("a", std::string("{\"a\": ") + value + "}");
    EXPECT_EQ(number.status().code(), absl::StatusCode::kDataLoss) << value;
  }
}

TEST(JsonPathTest, WhatIsNoJson) {
  for (const std::string& document :
       std::vector<std::string>{"", "<!DOCTYPE html>\x1b[2J", "{\"a\": 1} {", "{\"a\": NaN}",
                                std::string(100, '[') + std::string(100, ']')}) {
    const auto number = At("a", document);
    EXPECT_EQ(number.status().code(), absl::StatusCode::kDataLoss) << document;
    EXPECT_THAT(std::string(number.status().message()), testing::Not(HasSubstr("\x1b")));
  }
}

TEST(JsonPathTest, Mistakes) {
  for (const std::string& path : std::vector<std::string>{
           "", ".a", "a.", "a..b", "a[", "a[]", "a[-1]", "a[x]", "a[1", "a[\"b]", "a[\"b\"",
           "a[0]b", "a]", "a\"b", "a[99999999999999999999999]"}) {
    const auto parsed = ParseJsonPath(path);
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument) << path;
    EXPECT_THAT(parsed.status().message(), HasSubstr("stats.tokens[0].total")) << path;
  }
  std::string deep = "a";
  for (int i = 1; i < 32; ++i) deep += ".a";
  EXPECT_TRUE(ParseJsonPath(deep).ok());
  EXPECT_FALSE(ParseJsonPath(deep + ".a").ok());
}

}  // namespace
}  // namespace sbump
