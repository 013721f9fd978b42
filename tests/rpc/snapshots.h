// Snapshots as a session would make them.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "daemon/session/merge.h"
#include "daemon/stats/snapshot.h"

namespace sbump {

// Active, with `rows` rows of one pattern, each called `calls` times.
inline Snapshot SnapshotOf(size_t rows, uint64_t calls) {
  Snapshot snapshot;
  snapshot.state = SessionState::kActive;
  snapshot.process.pid = 4242;
  snapshot.patterns.push_back(
      {.pattern = "*/app.py:*", .status = PatternStatus::kMatched, .rows = rows});
  for (size_t i = 0; i < rows; ++i) {
    auto info = std::make_shared<RowInfo>();
    info->pattern = 0;
    info->filename = "/srv/app/site-packages/package/module/app.py";
    info->qualname = "Service.method_" + std::to_string(i) + ".<locals>.wrapper";
    info->qualname_source = "co_qualname";
    info->module_names = {"package.module.app"};
    snapshot.rows.push_back(std::move(info));
    snapshot.counters.push_back({.calls = calls, .code_objects = 1});
  }
  return snapshot;
}

inline Snapshot Ended(Snapshot snapshot, std::string reason) {
  snapshot.state = SessionState::kEnded;
  SessionEnd end;
  end.reason = std::move(reason);
  end.proof.verified = true;
  snapshot.end = std::make_shared<const SessionEnd>(std::move(end));
  return snapshot;
}

// A session of these processes.
inline SessionSnapshot SessionOf(const std::vector<Snapshot>& processes) {
  SessionSnapshot session;
  session.session_id = "s1";
  session.state = processes.front().state;
  session.progress = processes.front().progress;
  session.unix_ns = processes.front().unix_ns;
  for (const Snapshot& process : processes)
    session.processes.push_back(std::make_shared<const Snapshot>(process));
  MergeProcesses(session);
  const auto& end = processes.front().end;
  if (end != nullptr)
    session.end = std::make_shared<const SessionEnd>(MergeEnds(session.processes, end->reason));
  return session;
}
inline SessionSnapshot SessionOf(const Snapshot& process) {
  return SessionOf(std::vector{process});
}

}  // namespace sbump
