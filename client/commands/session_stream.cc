#include "client/commands/session_stream.h"

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "client/update_merger.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

constexpr int kSignalsToDieAtOnce = 3;
// The daemon answers an attach with the session's id before it begins with it.
constexpr auto kPatienceWithId = std::chrono::seconds(1);

// What to do when the session shall end early. Called from the interrupt's thread and, when the
// output broke, from the reading one.
class Ender {
 public:
  Ender(ControlClient* client, OnInterrupt on_interrupt, SessionOutput* output)
      : client_(client), on_interrupt_(on_interrupt), output_(output) {}
  ~Ender() {
    // The stream is over; an answer that is still owed tells nothing new.
    if (!ending_in_.joinable()) return;
    client_->CancelAll();
    StopWaiting();
    ending_in_.join();
  }

  void SetSession(const std::string& session_id) {
    const std::lock_guard lock(mutex_);
    session_id_ = session_id;
    changed_.notify_all();
  }

  void OnSignal(int count) {
    if (count >= kSignalsToDieAtOnce) _exit(static_cast<int>(ExitCode::kError));
    {
      const std::lock_guard lock(mutex_);
      interrupts_ = count;
    }
    if (count == 1) return EndSession();
    client_->CancelAll();
    StopWaiting();
  }

  void EndSession() {
    const std::lock_guard lock(mutex_);
    if (std::exchange(ending_, true)) return;
    ending_in_ = std::thread([this] { EndWhenBegun(); });
  }

  int interrupts() const {
    const std::lock_guard lock(mutex_);
    return interrupts_;
  }

 private:
  void StopWaiting() {
    const std::lock_guard lock(mutex_);
    given_up_ = true;
    changed_.notify_all();
  }

  // Cancelled as it begins, a session would end all the same, and nobody would see its proof; or go
  // on, and nobody would know its id.
  void EndWhenBegun() {
    v1::DetachRequest request;
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, kPatienceWithId,
                        [this] { return given_up_ || !session_id_.empty(); });
      if (!given_up_) request.set_session_id(session_id_);
    }
    if (request.session_id().empty() || on_interrupt_ == OnInterrupt::kLeave)
      return client_->CancelAll();
    // It blocks where nobody reads it; the next signal is heard all the same.
    output_->Notice("detaching; Ctrl-C again gives up waiting for it");
    Detach(request);
  }

  void Detach(const v1::DetachRequest& request) {
    const absl::Status status = client_->Detach(request).status();
    // Gone already: its last update is on the way. Or the daemon is: the stream tells that itself.
    if (status.ok() || absl::IsNotFound(status) || absl::IsUnavailable(status) ||
        absl::IsCancelled(status)) {
      return;
    }
    output_->Notice(StrCat("cannot detach: ", status.message(), "; leaving instead"));
    client_->CancelAll();
  }

  ControlClient* client_;
  const OnInterrupt on_interrupt_;
  SessionOutput* output_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::string session_id_;
  bool ending_ = false;
  bool given_up_ = false;
  int interrupts_ = 0;
  std::thread ending_in_;
};

// Until the stream is over.
void ReadUpdates(UpdateStream* stream, Ender* ender, OutputFile* file, SessionOutput* output,
                 SessionModel* model) {
  UpdateMerger merger;
  v1::SessionUpdate piece;
  while (stream->Read(&piece)) {
    if (!piece.session_id().empty()) ender->SetSession(piece.session_id());
    const std::optional<v1::SessionUpdate> update = merger.Add(std::move(piece));
    if (!update) continue;
    model->Apply(*update);
    output->Show(*update, *model);
    // Nobody reads us any more (`| head`): end as if interrupted.
    if (file->failed()) ender->EndSession();
  }
}

}  // namespace

StreamEnd FollowSession(ControlClient* client, UpdateStream* stream, Interrupt* interrupt,
                        OnInterrupt on_interrupt, OutputFile* file, SessionOutput* output,
                        SessionModel* model) {
  Ender ender(client, on_interrupt, output);
  interrupt->Watch([&ender](int count) { ender.OnSignal(count); });
  ReadUpdates(stream, &ender, file, output, model);
  StreamEnd end;
  end.status = stream->Finish();
  if (!model->head().session_id().empty()) output->Finish(*model);
  interrupt->StopWatching();
  end.interrupts = ender.interrupts();
  end.leaves_running = on_interrupt == OnInterrupt::kLeave;
  return end;
}

std::unique_ptr<SessionOutput> ChooseOutput(const CommandContext& context, bool json,
                                            OnInterrupt on_interrupt, OutputFile* file) {
  if (json) return JsonSessionOutput(file);
  const Palette palette = PaletteFor(context, file->fd());
  if (CanRedraw(IsTerminal(file->fd()), context.environment)) {
    return LiveSessionOutput(file, palette,
                             on_interrupt == OnInterrupt::kDetach
                                 ? "Ctrl-C ends the session and proves it"
                                 : "Ctrl-C leaves; the session goes on");
  }
  return PlainSessionOutput(file, palette);
}

}  // namespace sbump
