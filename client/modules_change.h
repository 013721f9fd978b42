// What is different in a later tree of modules, for people.
#pragma once

#include <string>

#include "client/terminal.h"
#include "proto/sbump/v1/modules.pb.h"

namespace sbump {

// "- path Type", "+ path Type" and "~ path Type", a line each: vanished, appeared, changed. Then
// "warning: ..." of each that is new.
std::string ChangeText(const v1::ModulesChange& change, const Palette& palette);

}  // namespace sbump
