// A session that captures forwards of a model, for whoever needs the graph.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/commands/command.h"
#include "client/graph/graph.h"

namespace sbump {

struct CaptureFlags {
  int32_t pid = 0;
  std::string root;  // the class of the tree
  std::optional<std::string> prefix;
  CallableFlags callables;
  uint64_t forwards = 0;  // 0: the default
  std::string of;
  std::vector<std::string> leaves;
  bool no_leaf = false;
  std::vector<std::string> until;  // paths; from the model on, or whole
  std::optional<uint64_t> duration_ns;
  std::optional<uint64_t> ttl_ns;
  std::optional<uint64_t> max_stop_ns;  // while the tree is read
};

v1::ListModulesRequest TreeRequestOf(const CaptureFlags& flags);

// --forwards, --of, --leaf and --no-leaf. `of_what` stands before each text.
void AddCaptureFlags(CLI::App* app, CaptureFlags* flags, const std::string& of_what = "");
// Whether one of these is there.
bool HasCaptureFlags(const CaptureFlags& flags);

// Until there are enough forwards. Where it is not kOk, why has been said; a graph that is of fewer
// forwards is said, too. One without forwards is not to be shown.
ExitCode CaptureGraph(const CommandContext& context, const CaptureFlags& flags, Graph* graph);

}  // namespace sbump
