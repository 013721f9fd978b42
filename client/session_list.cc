#include "client/session_list.h"

#include <algorithm>

#include "client/human_units.h"
#include "client/printable.h"
#include "client/process_table.h"
#include "client/proof_text.h"
#include "daemon/base/str_cat.h"
#include "daemon/match/duration.h"

namespace sbump {
namespace {

std::string StateText(v1::SessionState state) {
  switch (state) {
    case v1::ATTACHING:
      return "ATTACHING";
    case v1::ACTIVE:
      return "ACTIVE";
    case v1::ENDED:
      return "ENDED";
    default:
      return "-";
  }
}

std::vector<Cell> Cells(const v1::SessionSummary& session) {
  return {{Printable(session.session_id()), Tone::kStrong},
          {session.processes() > 1 ? StrCat(session.process().pid(), "+", session.processes() - 1)
                                   : StrCat(session.process().pid())},
          {StateText(session.state())},
          {PythonText(session.process())},
          {FormatDuration(session.delay_ns()) + (session.mode() == v1::SLEEP ? " sleep" : "")},
          {HumanCount(session.targets())},
          {HumanCount(session.calls())},
          {HumanNs(session.injected_delay_ns())},
          {HumanTime(session.started_unix_ns())},
          {HumanTime(session.expires_unix_ns())},
          {Printable(session.client_name())}};
}

std::vector<Column> Columns() {
  return {{"SESSION"},
          {"PID", true},
          {"STATE"},
          {"PYTHON"},
          {"DELAY", true},
          {"TARGETS", true},
          {"CALLS", true},
          {"INJECTED", true},
          {"STARTED"},
          {"EXPIRES"},
          {"CLIENT", false, Clip::kTail}};
}

std::string Joined(const TextTable& table, const Palette& palette, size_t max_width) {
  std::string text;
  for (const std::string& line : table.Lines(palette, max_width)) text += line + "\n";
  return text;
}

}  // namespace

std::string SessionListText(const v1::ListSessionsReply& reply, const Palette& palette,
                            size_t max_width) {
  if (reply.sessions().empty()) return "no sessions\n";
  TextTable table(Columns());
  for (const v1::SessionSummary& session : reply.sessions()) table.AddRow(Cells(session));
  return Joined(table, palette, max_width);
}

std::string SessionListText(const std::vector<HostSessions>& hosts, const Palette& palette,
                            size_t max_width) {
  std::vector<Column> columns = Columns();
  columns.insert(columns.begin(), {"HOST"});
  TextTable table(std::move(columns));
  bool any = false;
  for (const HostSessions& host : hosts) {
    for (const v1::SessionSummary& session : host.reply.sessions()) {
      std::vector<Cell> cells = Cells(session);
      cells.insert(cells.begin(), {Printable(host.host)});
      table.AddRow(std::move(cells));
      any = true;
    }
  }
  return any ? Joined(table, palette, max_width) : "no sessions\n";
}

std::string DetachText(const v1::DetachReply& reply, const Palette& palette) {
  if (reply.sessions().empty()) return "no sessions\n";
  std::string text;
  for (const auto& session : reply.sessions()) {
    const v1::DetachProof& proof = session.detach_proof();
    const Tone tone = ProofIsClean(proof) ? Tone::kGood : Tone::kBad;
    text += StrCat("session ", Printable(session.session_id()), "  pid ", session.pid(), "  ",
                   palette.Paint(tone, ProofText(proof)), "\n");
  }
  return text;
}

bool AllProofsClean(const v1::DetachReply& reply) {
  return std::all_of(reply.sessions().begin(), reply.sessions().end(),
                     [](const auto& session) { return ProofIsClean(session.detach_proof()); });
}

}  // namespace sbump
