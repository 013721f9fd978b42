// What a session counted, by what it is within.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "client/rank/called_item.h"
#include "google/protobuf/repeated_ptr_field.h"
#include "proto/sbump/v1/control.pb.h"

namespace sbump {

// `text` as a pattern that only matches itself.
std::string LiteralGlob(std::string_view text);

// What the patterns of a group select.
enum class Width {
  kAll,     // also what was not called (yet), or was not counted
  kCalled,  // the items that are in it, and no more
};

// Rows that were called; those of one function in several processes are one item. Packages and
// modules have the dotted names under which files were imported, and files without one their own.
std::vector<CalledItem> CodeItems(const google::protobuf::RepeatedPtrField<v1::TargetStats>& rows,
                                  Width width);

// Modules of a model that were called, by their paths: "top.layers.0.attn".
std::vector<CalledItem> ModuleItems(const google::protobuf::RepeatedPtrField<v1::TargetStats>& rows,
                                    Width width);

struct NamedGroup {
  std::string name;
  std::vector<std::string> patterns;
};

// Puts each item into the group with the pattern that it was found by (the first one's, where
// several take it), as its outermost step. Other
// steps that are in several groups, or are called as one is, say in which: "shop.orders of NAME".
// Returns the names of groups that no item is in.
std::vector<std::string> PutIntoGroups(const std::vector<NamedGroup>& groups,
                                       std::vector<CalledItem>& items);

}  // namespace sbump
