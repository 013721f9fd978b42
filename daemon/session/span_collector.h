// Reads what the programs tell of the calls of one process's modules, on a thread of its own, and
// hands on spans.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "daemon/attach/programs.h"
#include "daemon/cpython/interpreter.h"
#include "daemon/cpython/sites.h"
#include "daemon/cpython/types.h"
#include "daemon/process/target_process.h"
#include "daemon/process/timed_reader.h"
#include "daemon/session/operator_probes.h"
#include "daemon/spans/assembler.h"
#include "daemon/spans/hub.h"
#include "daemon/stats/call_times.h"
#include "daemon/torch/read_modules.h"

namespace sbump {

// All that is given must outlive it.
class SpanCollector {
 public:
  using Modules = std::unordered_map<uint64_t, std::shared_ptr<const SpanModule>>;  // by address

  // `saved`: by the function in which calls begin and end. Begins; throws where there is no thread
  // to be had.
  SpanCollector(const TargetProcess& process, const MemoryReader& memory,
                const Interpreter& interpreter, Programs& programs, const SavedRegisters& saved,
                std::shared_ptr<SpanHub> hub);
  ~SpanCollector();  // as Stop()
  SpanCollector(const SpanCollector&) = delete;
  SpanCollector& operator=(const SpanCollector&) = delete;

  // Those whose calls are followed. To be told before the programs are.
  void SetModules(Modules modules);
  // Where the process's tensors have their shape.
  void SetTensors(const ModuleForest& forest);
  // By number: those whose calls are told, too. Not to change.
  void SetOperators(std::shared_ptr<const OperatorProbes::Names> names);
  // Of the calls of a path, as they were some ms ago, or at the end. From any thread.
  SpanFigures FiguresOf(const std::string& path) const;
  // Greenlets were switched within calls. From any thread.
  bool switched_within_calls() const { return switched_within_calls_; }
  // Takes what there is, and ends. The probes should be gone.
  void Stop();

 private:
  void IntroduceTypes();
  void Run();
  bool Consume();  // true: there may be more
  void Count();
  void Publish();
  void OnEvent(const sb_span_event& event);
  void OnOperator(const sb_span_event& event);
  // True: instances of it are tensors.
  bool Classify(RemoteAddr type);
  std::optional<sb_value_kind> KindOf(const TimedReader& memory, RemoteAddr type);
  void ForgetTypes();
  void CheckTypes();
  void LookForGreenlets();
  std::string NameOf(const sb_span_tensor& tensor);

  const TargetProcess& process_;
  const MemoryReader& memory_;
  const Interpreter& interpreter_;
  Programs& programs_;
  const std::shared_ptr<SpanHub> hub_;

  mutable std::mutex mutex_;
  std::shared_ptr<const Modules> modules_;                  // guarded by mutex_
  std::shared_ptr<const OperatorProbes::Names> operators_;  // guarded by mutex_
  std::unordered_map<std::string, SpanFigures> figures_;    // guarded by mutex_; by path

  // The thread's own.
  std::shared_ptr<const Modules> current_;
  std::shared_ptr<const OperatorProbes::Names> current_operators_;
  std::map<uint64_t, sb_value_kind> asked_types_;  // what the programs were told of each
  uint64_t next_type_ = 0;                         // of them, to be looked at again
  SpanAssembler assembler_;
  std::map<std::pair<uint64_t, uint32_t>, std::string> names_;  // of keywords: by address and hash
  std::unordered_map<std::string, CallTimes> times_;            // by path
  std::set<std::string> counted_;                               // since figures_ were made
  uint64_t next_publish_ns_ = 0;
  std::vector<Span> spans_;
  std::vector<OperatorCall> operations_;
  uint64_t lost_before_ = 0;
  uint64_t next_look_ns_ = 0;

  std::atomic<bool> switched_within_calls_ = false;
  std::atomic<bool> stops_ = false;
  std::thread thread_;
};

}  // namespace sbump
