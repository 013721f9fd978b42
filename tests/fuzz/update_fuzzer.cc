// Names come from the target and need not be text. Whatever they are, each piece of an update can
// be sent, and is read by the client: protobuf refuses a string that is not UTF-8.
#include <cstdint>
#include <memory>
#include <string>

#include "daemon/rpc/modules_to_proto.h"
#include "daemon/rpc/spans_to_proto.h"
#include "daemon/rpc/to_proto.h"
#include "daemon/session/merge.h"
#include "proto/sbump/v1/control.pb.h"
#include "tests/fuzz/require.h"

namespace sbump {
namespace {

std::shared_ptr<const SessionEnd> EndOf(const std::string& name) {
  SessionEnd end;
  end.reason = end.proof.detail = name;
  return std::make_shared<const SessionEnd>(std::move(end));
}

// Has `name` wherever there is a text that is not the daemon's own.
Snapshot Named(const std::string& name) {
  Snapshot snapshot;
  snapshot.state = SessionState::kEnded;
  snapshot.process = {.pid = 7, .exe = name, .interpreter = name};
  RowInfo row;
  row.pattern = 0;
  row.matches = {0};
  row.filename = row.qualname = name;
  row.module_names = {name, ""};
  row.native = NativeRowInfo{.instruction = "push %rbp"};
  snapshot.rows = {std::make_shared<const RowInfo>(std::move(row))};
  snapshot.counters = {{.calls = 1, .blocked = name}};
  snapshot.patterns = {{.pattern = name, .near_misses = {{name, name}}}};
  snapshot.skipped = {{name, 1}};
  snapshot.warnings = {name};
  snapshot.end = EndOf(name);
  return snapshot;
}

template <typename Message>
void CheckRoundTrip(const Message& message) {
  Message again;
  Require(again.ParseFromString(message.SerializeAsString()));
}

void CheckUpdates(const Snapshot& process) {
  SessionSnapshot session;
  session.session_id = "s1";
  session.state = SessionState::kEnded;
  session.processes = {std::make_shared<const Snapshot>(process)};
  MergeProcesses(session);
  session.end = process.end;
  SeenRows seen;
  const std::vector<v1::SessionUpdate> pieces = ToUpdates(session, seen);
  Require(!pieces.empty() && !pieces.back().more() && pieces.back().has_end());
  for (const v1::SessionUpdate& piece : pieces) CheckRoundTrip(piece);
}

void CheckModules(const std::string& name) {
  const Value text{.kind = Value::Kind::kStr, .text = name};
  Module module{.path = name, .type_name = name, .full_type = name, .type_module = name};
  module.parameters = module.buffers = {{.name = name}};
  module.static_params = module.attributes = {{name, text}};
  module.aliases = {name};
  module.note = name;
  ModulesResult result;
  result.forest.trees.push_back({{module}});
  result.warnings = {name};
  for (const v1::ListModulesReply& reply : ToReplies(result, {})) CheckRoundTrip(reply);
}

void CheckSpans(const std::string& name) {
  Span span{.module = std::make_shared<const SpanModule>(SpanModule{name, name, name})};
  span.inputs = span.outputs = {{.key = name}};
  CheckRoundTrip(ToBatch({.spans = {span}}));
}

}  // namespace
}  // namespace sbump

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string name(reinterpret_cast<const char*>(data), size);
  const sbump::Snapshot snapshot = sbump::Named(name);
  sbump::CheckUpdates(snapshot);
  for (const sbump::v1::MatchReply& piece : sbump::ToMatchReplies({.snapshot = snapshot}))
    sbump::CheckRoundTrip(piece);
  sbump::v1::InspectReply reply;
  sbump::ToProto({.findings = {{.topic = "kernel", .name = name, .value = name, .advice = name}},
                  .process = snapshot.process},
                 reply);
  sbump::CheckRoundTrip(reply);
  sbump::CheckModules(name);
  sbump::CheckSpans(name);
  return 0;
}
