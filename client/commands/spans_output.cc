#include "client/commands/spans_output.h"

#include <utility>

#include "client/human_units.h"
#include "client/module_path.h"
#include "client/printable.h"
#include "daemon/base/str_cat.h"

namespace sbump {

void SpansOutput::Show(const v1::SessionUpdate& update, const SessionModel& model) {
  Learn(update);
  if (warnings_ == Warnings::kTell) {
    for (const std::string& warning : new_warnings_.Take(model.head())) Notice(warning);
  }
  if (reading_.joinable() || model.head().session_id().empty()) return;
  session_id_ = model.head().session_id();
  reading_ = std::thread([this] { Read(); });
}

void SpansOutput::Finish(const SessionModel&) {
  Join();
  for (const SpanNode& tree : std::exchange(held_, {})) Take(tree);
  if (detaching_.joinable()) detaching_.join();
  writer_->Finish(lost_);
  if (warnings_ == Warnings::kTell && forwards_of_.size() > 1) Notice(WhoseForwards());
  if (lost_ != 0)
    Notice(StrCat("of ", HumanCount(lost_), lost_ == 1 ? " call" : " calls",
                  " no span could be told"));
  if (partial_ != 0 && warnings_ == Warnings::kTell)
    Notice(StrCat(HumanCount(partial_), partial_ == 1 ? " call" : " calls",
                  " had tensors that are not told: see docs/modules.md, Spans"));
}

// Of a model, and of its loss, say.
std::string SpansOutput::WhoseForwards() const {
  constexpr size_t kMostNames = 5;
  std::string text = "the calls that were counted are of several modules:";
  size_t named = 0;
  for (const auto& [path, forwards] : forwards_of_) {
    if (named++ == kMostNames) break;
    text += StrCat(named == 1 ? " " : ", ", Printable(path), " ", HumanCount(forwards));
  }
  return StrCat(text, named > kMostNames ? ", ..." : "",
                "; --module takes one with what is below it: --module top --module 'top.*'");
}

void SpansOutput::Join() {
  if (reading_.joinable()) reading_.join();
  if (detaching_.joinable()) detaching_.join();
}

void SpansOutput::Learn(const v1::SessionUpdate& update) {
  const std::lock_guard lock(mutex_);
  for (const v1::TargetStats& target : update.targets())
    if (target.has_spans()) paths_.insert(target.qualname());
}

bool SpansOutput::KnowsPaths() {
  const std::lock_guard lock(mutex_);
  return !paths_.empty();
}

// No module that is looked at holds it.
bool SpansOutput::IsForward(const SpanNode& tree) {
  const std::lock_guard lock(mutex_);
  for (auto path = PathAbove(tree.module.path()); path; path = PathAbove(*path))
    if (paths_.contains(*path)) return false;
  return tree.span.depth() == 0;
}

void SpansOutput::Take(const SpanNode& tree) {
  // Parts of one that had begun before: not counted, and not told.
  if (has_enough_ || (most_forwards_ != 0 && !IsForward(tree))) return;
  writer_->Write(tree);
  if (most_forwards_ != 0) ++forwards_of_[tree.module.path()];
  has_enough_ = ++forwards_ == most_forwards_ || writer_->HasEnough();
  if (has_enough_) detaching_ = std::thread([this] { Detach(); });
}

void SpansOutput::TakeOrHold(SpanNode tree) {
  constexpr size_t kMostHeld = 1'000;
  if (most_forwards_ != 0 && !KnowsPaths() && held_.size() < kMostHeld)
    return held_.push_back(std::move(tree));
  for (const SpanNode& one : std::exchange(held_, {})) Take(one);
  Take(tree);
}

void SpansOutput::Detach() {
  v1::DetachRequest request;
  request.set_session_id(session_id_);
  const absl::Status status = client_->Detach(request).status();
  if (!status.ok() && !absl::IsNotFound(status) && !absl::IsCancelled(status))
    Notice(StrCat("cannot detach: ", status.message()));
}

void SpansOutput::Read() {
  SpanTrees trees([this](SpanNode tree) { TakeOrHold(std::move(tree)); });
  v1::WatchSpansRequest request;
  request.set_session_id(session_id_);
  const std::unique_ptr<SpanReader> reader = client_->WatchSpans(request);
  v1::SpanBatch batch;
  while (reader->Read(&batch)) {
    for (v1::Operator& made : *batch.mutable_operators()) trees.Add(std::move(made));
    lost_ = batch.lost() + trees.lost_operators();
    for (v1::Span& span : *batch.mutable_spans()) {
      const int module = static_cast<int>(span.module());
      if (module < 0 || module >= batch.modules_size()) continue;
      partial_ += span.partial();
      trees.Add(std::move(span), batch.modules(module));
    }
  }
  trees.Finish();
  status_ = reader->Finish();
}

}  // namespace sbump
