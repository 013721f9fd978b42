#include "client/modules_change.h"

#include <gtest/gtest.h>

namespace sbump {
namespace {

void Add(google::protobuf::RepeatedPtrField<v1::Module>* modules, const std::string& path,
         const std::string& type) {
  v1::Module* module = modules->Add();
  module->set_path(path);
  module->set_type(type);
}

std::string TextOf(const v1::ModulesChange& change) { return ChangeText(change, Palette(false)); }

TEST(ModulesChangeTest, EachKind) {
  v1::ModulesChange change;
  EXPECT_EQ(TextOf(change), "");
  Add(change.mutable_appeared(), "top.d", "Linear");
  Add(change.mutable_vanished(), "top.a", "Linear");
  Add(change.mutable_changed(), "top.b", "Linear");
  Add(change.mutable_changed(), "top.c", "Identity");
  EXPECT_EQ(TextOf(change),
            "- top.a  Linear\n"
            "+ top.d  Linear\n"
            "~ top.b  Linear\n"
            "~ top.c  Identity\n");
}

TEST(ModulesChangeTest, WarningsComeLast) {
  v1::ModulesChange change;
  change.add_warnings("one\ntwo");
  Add(change.mutable_appeared(), "top.d", "Linear");
  EXPECT_EQ(TextOf(change),
            "+ top.d  Linear\n"
            "warning: one\\ntwo\n");
}

TEST(ModulesChangeTest, NamesCannotMakeLines) {
  v1::ModulesChange change;
  Add(change.mutable_appeared(), "top.a\nb", "\x1b[31m");
  const std::string text = TextOf(change);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace sbump
