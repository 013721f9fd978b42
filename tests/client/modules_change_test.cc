#include "client/modules_change.h"

#include <gtest/gtest.h>

namespace sbump {
namespace {

v1::Module* Add(v1::ListModulesReply& reply, const std::string& path, const std::string& type) {
  v1::Module* module = reply.add_modules();
  module->set_path(path);
  module->set_type(type);
  return module;
}

std::string TextOf(const v1::ListModulesReply& before, const v1::ListModulesReply& now) {
  return ChangeText(ChangeBetween(before, now), Palette(false));
}

TEST(ModulesChangeTest, NothingIsDifferent) {
  v1::ListModulesReply reply, other;
  Add(reply, "top", "Model");
  Add(reply, "top.fc", "Linear")->set_training(true);
  Add(other, "top", "Model");
  Add(other, "top.fc", "Linear")->set_training(true);
  other.set_read_ns(7);
  EXPECT_TRUE(IsEmpty(ChangeBetween(reply, other)));
}

TEST(ModulesChangeTest, EachKind) {
  v1::ListModulesReply before, now;
  Add(before, "top", "Model");
  Add(before, "top.a", "Linear");
  Add(before, "top.b", "Linear")->set_training(true);
  Add(before, "top.c", "ReLU");
  Add(now, "top", "Model");
  Add(now, "top.d", "Linear");
  Add(now, "top.b", "Linear")->set_training(false);
  Add(now, "top.c", "Identity");
  EXPECT_EQ(TextOf(before, now),
            "- top.a  Linear\n"
            "+ top.d  Linear\n"
            "~ top.b  Linear\n"
            "~ top.c  Identity\n");
  EXPECT_TRUE(ChangeBetween(before, now).vanished(0).path() == "top.a");
}

TEST(ModulesChangeTest, NamesCannotMakeLines) {
  v1::ListModulesReply before, now;
  Add(now, "top.a\nb", "\x1b[31m");
  const std::string text = TextOf(before, now);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace sbump
