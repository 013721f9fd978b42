#include "daemon/rpc/modules_watch.h"

#include <utility>

#include "daemon/rpc/grpc_status.h"

namespace sbump {

std::shared_ptr<ModulesWatch> ModulesWatch::Make(ControlThread& control, BlockingWork& blocking,
                                                 std::string who) {
  std::shared_ptr<ModulesWatch> watch(new ModulesWatch(control, blocking, std::move(who)));
  watch->self_ = watch;
  return watch;
}

void ModulesWatch::PostStart(std::chrono::nanoseconds interval, Look look) {
  control_.Post([self = shared_from_this(), interval, look = std::move(look)] {
    if (self->end_) return;
    self->interval_ = interval;
    self->look_ = look;
    self->LookAgain();
  });
}

void ModulesWatch::PostEnd(absl::Status status) {
  control_.Post([self = shared_from_this(), status = std::move(status)] { self->End(status); });
}

void ModulesWatch::LookAgain() {
  if (end_) return;
  blocking_.Start(
      [self = shared_from_this(), look = look_]() -> BlockingWork::Reply {
        return [self, updates = look()]() mutable { self->PostUpdates(std::move(updates)); };
      },
      [self = shared_from_this()](const absl::Status& status) {
        self->PostEnd(Annotate(status, self->who_));
      });
}

void ModulesWatch::PostUpdates(Updates updates) {
  control_.Post([self = shared_from_this(), updates = std::move(updates)]() mutable {
    if (self->end_) return;
    if (!updates.ok()) return self->End(updates.status());
    self->updates_ = *std::move(updates);
    self->told_ = 0;
    self->TellNext();
  });
}

void ModulesWatch::TellNext() {
  if (told_ == updates_.size()) return WaitForNext();
  writing_ = true;
  StartWrite(&updates_[told_++]);
}

void ModulesWatch::WaitForNext() {
  updates_.clear();
  pause_.expires_after(interval_);
  pause_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    if (!error) self->LookAgain();
  });
}

void ModulesWatch::OnWriteDone(bool ok) {
  control_.Post([self = shared_from_this(), ok] {
    self->writing_ = false;
    if (!ok) self->End(absl::CancelledError("the client has gone"));
    if (self->end_) return self->FinishOnce();
    self->TellNext();
  });
}

void ModulesWatch::OnDone() {
  control_.Post([self = std::move(self_)] {});
}

void ModulesWatch::End(absl::Status status) {
  if (end_) return;
  end_ = std::move(status);
  look_ = nullptr;
  pause_.cancel();
  if (!writing_) FinishOnce();
}

void ModulesWatch::FinishOnce() {
  if (!std::exchange(finished_, true)) Finish(ToGrpc(*end_));
}

}  // namespace sbump
