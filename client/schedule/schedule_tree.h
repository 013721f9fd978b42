// A model's modules as slapo.schedule names them (awslabs/slapo at b80534a, create_schedule):
// modules that only hold others are no nodes ("layers.0" is a child of the model), and what is
// within a module of torch.nn itself is left out, unless that is the whole model.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "proto/sbump/v1/modules.pb.h"

namespace sbump {

struct ScheduleNode {
  std::string path;    // "top.layers.0.attn"
  std::string name;    // within its parent: "layers.0"; of a topmost one: its path
  std::string parent;  // its path; empty: it is a topmost one
  const v1::Module* module = nullptr;
};

// Parents before children. `within_leaves`: also what is within modules of torch.nn. `also`: paths
// of modules that are listed whatever they are. Points into `modules`.
std::vector<ScheduleNode> ScheduleNodes(const v1::ListModulesReply& modules, bool within_leaves,
                                        const std::set<std::string>& also = {});

}  // namespace sbump
