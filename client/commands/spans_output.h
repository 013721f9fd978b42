// Reads the spans of a session beside its updates, until both end.
#pragma once

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "client/channel.h"
#include "client/new_warnings.h"
#include "client/session_output.h"
#include "client/spans/span_tree.h"
#include "client/spans/span_writer.h"
#include "daemon/base/status.h"

namespace sbump {

enum class Warnings {
  kTell,   // each as it comes
  kLeave,  // to the caller, who finds them in the session's model
};

// What is given must outlive it.
class SpansOutput : public SessionOutput {
 public:
  // `most_forwards`: it detaches after so many, and leaves out what had begun before; 0: no limit.
  // It also detaches when the writer has enough.
  SpansOutput(ControlClient* client, SpanWriter* writer, uint64_t most_forwards, Warnings warnings)
      : client_(client), writer_(writer), most_forwards_(most_forwards), warnings_(warnings) {}
  ~SpansOutput() override { Join(); }

  void Show(const v1::SessionUpdate& update, const SessionModel& model) override;
  void Finish(const SessionModel& model) override;
  // Why they could not be read.
  const absl::Status& status() const { return status_; }
  uint64_t forwards() const { return forwards_; }

 private:
  void Join();
  std::string WhoseForwards() const;
  bool KnowsPaths();
  void Learn(const v1::SessionUpdate& update);
  bool IsForward(const SpanNode& tree);
  void Take(const SpanNode& tree);
  void TakeOrHold(SpanNode tree);
  void Detach();
  void Read();

  ControlClient* client_;
  SpanWriter* writer_;
  const uint64_t most_forwards_;
  const Warnings warnings_;
  NewWarnings new_warnings_;
  std::string session_id_;
  std::thread reading_;

  std::mutex mutex_;
  std::set<std::string, std::less<>>
      paths_;  // guarded by mutex_: of the modules that are looked at

  // The reading thread's, until it has ended.
  std::vector<SpanNode> held_;                   // until it is known which modules there are
  uint64_t forwards_ = 0;                        // trees that were written
  std::map<std::string, uint64_t> forwards_of_;  // where they are counted: by path
  bool has_enough_ = false;
  uint64_t lost_ = 0;
  uint64_t partial_ = 0;
  absl::Status status_;
  std::thread detaching_;
};

}  // namespace sbump
