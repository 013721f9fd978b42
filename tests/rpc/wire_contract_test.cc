// What other people's programs rely on: no name, number or type that was ever in the contract may
// change or go. Additions are welcome, here and there.
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "daemon/base/str_cat.h"
#include "proto/sbump/v1/control.pb.h"
#include "proto/sbump/v1/experiments.pb.h"
#include "proto/sbump/v1/modules.pb.h"

namespace sbump {
namespace {

namespace pb = google::protobuf;

const pb::FileDescriptor* const kFiles[] = {v1::SessionUpdate::descriptor()->file(),
                                            v1::Module::descriptor()->file(),
                                            v1::Experiment::descriptor()->file()};

std::string TypeOf(const pb::FieldDescriptor& field) {
  const std::string repeated = field.is_repeated() ? "repeated " : "";
  if (field.message_type() != nullptr) return repeated + field.message_type()->name();
  if (field.enum_type() != nullptr) return repeated + field.enum_type()->name();
  return repeated + field.type_name();
}

// "SessionUpdate.session_id = 1 string", for every field of a message and those inside it.
void Describe(const pb::Descriptor& message, const std::string& scope, std::string& text) {
  const std::string name = scope + message.name();
  for (int i = 0; i < message.field_count(); ++i) {
    const pb::FieldDescriptor& field = *message.field(i);
    text += StrCat(name, ".", field.name(), " = ", field.number(), " ", TypeOf(field), "\n");
  }
  for (int i = 0; i < message.nested_type_count(); ++i)
    Describe(*message.nested_type(i), name + ".", text);
}

void DescribeFile(const pb::FileDescriptor& file, std::string& text) {
  for (int i = 0; i < file.message_type_count(); ++i) Describe(*file.message_type(i), "", text);
  for (int i = 0; i < file.enum_type_count(); ++i) {
    const pb::EnumDescriptor& type = *file.enum_type(i);
    for (int j = 0; j < type.value_count(); ++j) {
      text += StrCat(type.name(), " ", type.value(j)->name(), " = ", type.value(j)->number(), "\n");
    }
  }
  for (int i = 0; i < file.service_count(); ++i) {
    for (int j = 0; j < file.service(i)->method_count(); ++j) {
      const pb::MethodDescriptor& method = *file.service(i)->method(j);
      text +=
          StrCat("rpc ", method.name(), " ", method.input_type()->name(), " ",
                 method.server_streaming() ? "stream " : "", method.output_type()->name(), "\n");
    }
  }
}

std::string DescribeAll() {
  std::string text = "\n";
  for (const pb::FileDescriptor* file : kFiles) DescribeFile(*file, text);
  return text;
}

TEST(WireContractTest, WhatWasPromisedIsStillThere) {
  const std::string now = DescribeAll();
  std::ifstream promised("tests/rpc/wire_contract.txt");
  std::string line;
  int lines = 0;
  for (; std::getline(promised, line); ++lines) {
    EXPECT_NE(now.find("\n" + line + "\n"), std::string::npos) << line;
  }
  EXPECT_GE(lines, 150);
}

TEST(WireContractTest, EveryNumberSaysItsUnitOrIsACount) {
  for (const pb::FileDescriptor* file : kFiles) {
    for (int i = 0; i < file->message_type_count(); ++i) {
      const pb::Descriptor& message = *file->message_type(i);
      for (int j = 0; j < message.field_count(); ++j) {
        const std::string& name = message.field(j)->name();
        for (const char* vague : {"_us", "_ms", "_sec", "_seconds", "_time", "timestamp"})
          EXPECT_FALSE(std::string_view(name).ends_with(vague)) << message.name() << "." << name;
      }
    }
  }
}

}  // namespace
}  // namespace sbump
