// What is different in a later tree of modules.
#pragma once

#include <string>

#include "client/terminal.h"
#include "proto/sbump/v1/modules.pb.h"

namespace sbump {

// By path. In the order of the trees.
v1::ModulesChange ChangeBetween(const v1::ListModulesReply& before,
                                const v1::ListModulesReply& now);

bool IsEmpty(const v1::ModulesChange& change);

// "- path Type", "+ path Type" and "~ path Type", a line each: vanished, appeared, changed.
std::string ChangeText(const v1::ModulesChange& change, const Palette& palette);

}  // namespace sbump
