#include "client/commands/look_session.h"

#include <memory>
#include <optional>
#include <utility>

#include "client/output_file.h"
#include "client/printable.h"
#include "client/update_merger.h"
#include "daemon/base/str_cat.h"

namespace sbump {

Look LookAtCalls(ControlClient& client, Stopper& stopper, const v1::AttachRequest& request) {
  const std::unique_ptr<UpdateStream> stream = client.Attach(request);
  stopper.OnStop([&client] { client.CancelAll(); });
  Look look;
  UpdateMerger merger;
  v1::SessionUpdate piece;
  while (stream->Read(&piece)) {
    std::optional<v1::SessionUpdate> update = merger.Add(std::move(piece));
    if (update) look.head = *std::move(update);  // the last one has all rows
  }
  stopper.OnStop(nullptr);
  const absl::Status status = stream->Finish();
  for (const std::string& warning : look.head.warnings())
    Say(StrCat("warning: ", Printable(warning)));
  look.outcome = AttachOutcome(look.head, {.status = status});
  return look;
}

}  // namespace sbump
