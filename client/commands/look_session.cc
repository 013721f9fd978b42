#include "client/commands/look_session.h"

#include <memory>
#include <optional>
#include <utility>

#include "client/output_file.h"
#include "client/printable.h"
#include "client/update_merger.h"
#include "daemon/base/str_cat.h"

namespace sbump {

CallsSeen LookAtCalls(ControlClient& client, Stopper& stopper, const v1::AttachRequest& request) {
  const std::unique_ptr<UpdateStream> stream = client.Attach(request);
  stopper.OnStop([&client] { client.CancelAll(); });
  CallsSeen seen;
  UpdateMerger merger;
  v1::SessionUpdate piece;
  while (stream->Read(&piece)) {
    std::optional<v1::SessionUpdate> update = merger.Add(std::move(piece));
    if (update) seen.head = *std::move(update);  // the last one has all rows
  }
  stopper.OnStop(nullptr);
  const absl::Status status = stream->Finish();
  for (const std::string& warning : seen.head.warnings())
    Say(StrCat("warning: ", Printable(warning)));
  seen.outcome = AttachOutcome(seen.head, {.status = status});
  return seen;
}

}  // namespace sbump
